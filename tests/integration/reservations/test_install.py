# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installing, upgrading, removing; refusing over a vendor's own definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    RESERVATIONS,
    Stage,
    pods,
    refusal,
    until,
)
from lab.directory import CHECKOUT

Json = dict[str, Any]
FOO = "tenant-foo"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMES = ("reservations.scheduling.coreweave.cloud", "reservationbindings.scheduling.coreweave.cloud")
OURS = "gpuops-reservation"


def policies(stage: Stage) -> list[str]:
    kinds = ("mutatingadmissionpolicies", "validatingadmissionpolicies")
    found = [one["metadata"]["name"] for kind in kinds for one in stage.items(f"{POLICIES}/{kind}")]
    return sorted(name for name in found if name.startswith(OURS))


def install(stage: Stage, *arguments: str, check: bool = True) -> str:
    return stage.play("install", *arguments, identity="admin", check=check).stdout


@pytest.fixture
def installed(stage: Stage) -> Iterator[Stage]:
    yield stage
    install(stage)


def test_the_second_installation_changes_nothing(installed: Stage) -> None:
    install(installed)
    assert "changed=0" in install(installed)


def test_an_upgrade_puts_a_changed_policy_back(installed: Stage) -> None:
    path = f"{POLICIES}/validatingadmissionpolicies/gpuops-reservation-tolerations"
    before = installed.get(path)["spec"]
    installed.admin.patch(path, {"spec": {"failurePolicy": "Ignore"}})
    install(installed)
    assert installed.get(path)["spec"] == before


def test_removal_refuses_while_there_are_reservations(installed: Stage) -> None:
    installed.reserve("foo", FOO, ["train-01"])
    installed.reconcile()
    before = policies(installed)
    said = " ".join(install(installed, "-e", "platform_state=absent", check=False).split())
    assert "Reservations still hold nodes or wait for their release: foo" in said
    assert policies(installed) == before
    assert installed.exists(f"{RESERVATIONS}/foo")


def test_removal_leaves_nothing_and_stops_nobody_s_pods(installed: Stage) -> None:
    install(installed, "-e", "platform_state=absent")
    assert policies(installed) == []
    for name in NAMES:
        assert not installed.exists(f"{DEFINITIONS}/{name}")
    assert not installed.exists("/api/v1/namespaces/gpuops-reservation-canary")
    assert not installed.exists("/api/v1/namespaces/reservation-operator")
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    left = [
        one["metadata"]["name"]
        for kind in ("clusterroles", "clusterrolebindings")
        for one in installed.items(f"{rbac}/{kind}")
        if one["metadata"]["name"].startswith("gpuops-reservations")
    ]
    assert left == []
    thief = installed.pod("free", FOO, tolerations=[{"operator": "Exists"}])
    assert refusal(lambda: installed.tenants[FOO].create(pods(FOO), thief, dry_run=True)) == ""
    assert "changed=0" in install(installed, "-e", "platform_state=absent")
    found = installed.diagnose(namespace=FOO, pod="nobody")
    assert found["diagnosis"] == "not-found"
    said = refusal(installed.reconcile)
    assert "may not" in said or "not installed" in said


def test_installation_refuses_over_a_vendor_s_own(installed: Stage) -> None:
    install(installed, "-e", "platform_state=absent")
    vendor = vendor_definition()
    installed.admin.create(f"{DEFINITIONS}?fieldManager=vendor-operator", vendor)
    name = vendor["metadata"]["name"]
    try:
        until("it is there", lambda: installed.exists(f"{DEFINITIONS}/{name}"))
        before = installed.get(f"{DEFINITIONS}/{name}")["spec"]
        said = " ".join(install(installed, check=False).split())
        assert f"{name} is there and not ours" in said
        assert "vendor" in said
        assert installed.get(f"{DEFINITIONS}/{name}")["spec"] == before
        assert policies(installed) == []
        said = " ".join(install(installed, "-e", "platform_state=absent", check=False).split())
        assert "is there and not ours" in said
        assert installed.exists(f"{DEFINITIONS}/{name}")
    finally:
        installed.admin.delete(f"{DEFINITIONS}/{name}")
        until("it is gone", lambda: not installed.exists(f"{DEFINITIONS}/{name}"))


def vendor_definition() -> Json:
    path = CHECKOUT / "roles/platform/files/reservations/reservations.crd.yaml"
    content: Json = yaml.safe_load(path.read_text())
    content["metadata"].pop("labels")
    version = content["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return content


def test_a_workload_that_would_be_refused_stops_the_first_installation(installed: Stage) -> None:
    document = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "network", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "network"}},
            "template": {
                "metadata": {"labels": {"app": "network"}},
                "spec": {
                    "nodeSelector": {"no": "such"},
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "network", "image": "example.com/network"}],
                },
            },
        },
    }
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    install(installed, "-e", "platform_state=absent")
    installed.admin.create(path, document)
    try:
        said = " ".join(install(installed, check=False).split())
        assert "DaemonSet default/network (tolerates every taint)" in said
        assert policies(installed) == []
        install(installed, "-e", "platform_accept_refused_workloads=true")
        assert policies(installed)
        assert "network" in install(installed)
    finally:
        installed.admin.delete(f"{path}/network")


def test_a_platform_namespace_has_to_exist(installed: Stage) -> None:
    left_out = '{"platform_namespaces": ["kube-system", "kube-public", "kube-node-lease", "storage"]}'
    said = " ".join(install(installed, "-e", left_out, check=False).split())
    assert "platform_namespaces names storage, which does not exist" in said


def test_namespaces_of_tenants_are_labelled_and_their_quotas_the_operator_s(installed: Stage) -> None:
    tenants = '{"platform_tenants": {"tenant-foo": ["tenant-foo"], "tenant-baz": ["tenant-baz"]}}'
    install(installed, "-e", tenants)
    try:
        labels = installed.get("/api/v1/namespaces/tenant-baz")["metadata"]["labels"]
        assert labels["reserved.tenant"] == "tenant-baz"
        quotas = '[{"namespace": "tenant-baz", "hard": {"requests.nvidia.com/gpu": "32"}}]'
        installed.play("reservations", "-e", f'{{"tenant_quotas": {quotas}}}')
        quota = installed.get("/api/v1/namespaces/tenant-baz/resourcequotas/tenant-baz-quota")
        assert quota["spec"]["hard"] == {
            "count/reservationbindings.scheduling.coreweave.cloud": "20",
            "requests.nvidia.com/gpu": "32",
        }
        other = quotas.replace("tenant-baz", "tenant-bar")
        done = installed.play("reservations", "-e", f'{{"tenant_quotas": {other}}}', check=False)
        assert done.returncode != 0
        assert "resourcequotas" in done.stdout
    finally:
        installed.admin.delete("/api/v1/namespaces/tenant-baz")
