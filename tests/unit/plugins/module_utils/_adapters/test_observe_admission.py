# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which version of MutatingAdmissionPolicy is read and installed, by what the API server serves."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.observe_admission import (
    observe_installation,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.admission_installed import (
    MUTATING,
    mutation_check,
    mutation_version,
    policy_checks,
)

GROUP = "admissionregistration.k8s.io"
Json = dict[str, Any]


class Server:
    """An API server with our policies installed, as far as an observation asks."""

    def __init__(self, **versions: list[str]) -> None:
        """Args: versions: the resources that each version of the group has."""
        self.versions = versions
        self.asked: list[str] = []

    def get_bytes(self, path: str) -> bytes:
        self.asked.append(path)
        if path == "/apis":
            versions = [{"version": one} for one in self.versions]
            return json.dumps({"groups": [{"name": GROUP, "versions": versions}]}).encode()
        resources = self.versions[path.rpartition("/")[2]]
        return json.dumps({"resources": [{"name": one} for one in resources]}).encode()

    def get(self, path: str, _model: type) -> None:
        self.asked.append(path)

    def list(self, path: str, model: Any) -> tuple[Any, ...]:
        self.asked.append(path)
        if "mutating" not in path:
            return ()
        specs: dict[str, Json] = {name: {"policyName": name} for name in MUTATING}
        return tuple(
            model.model_validate({"metadata": {"name": name}, "spec": spec}) for name, spec in specs.items()
        )


BOTH = ["validatingadmissionpolicies", "mutatingadmissionpolicies"]
WEBHOOKS = ["validatingadmissionpolicies", "mutatingwebhookconfigurations"]


@pytest.mark.parametrize(
    ("server", "wanted"),
    [
        (Server(v1=BOTH), "v1"),
        (Server(v1=BOTH, v1beta1=BOTH), "v1"),
        (Server(v1=WEBHOOKS, v1beta1=BOTH), "v1beta1"),
        (Server(v1=WEBHOOKS), ""),
        (Server(v1=WEBHOOKS, v1alpha1=BOTH), ""),
        (Server(v1=WEBHOOKS, v1beta1=["validatingadmissionpolicies"]), ""),
    ],
    ids=["1.36", "1.36 with v1beta1", "1.35 enabled", "1.35 as it comes", "1.32 alpha", "gate off"],
)
def test_the_version_is_what_is_served(server: Server, wanted: str) -> None:
    found = observe_installation(cast("Any", server))
    assert mutation_version(found.mutation_versions) == wanted
    assert (mutation_check(found).status == "pass") is bool(wanted)
    lists = [path for path in server.asked if path.startswith(f"/apis/{GROUP}/") and "mutating" in path]
    assert {path.split("/")[3] for path in lists} == ({wanted} if wanted else set())
    missing = {check.object for check in policy_checks(found) if "is missing" in check.message}
    assert {f"mutatingadmissionpolicy/{name}" in missing for name in MUTATING} == {not wanted}
