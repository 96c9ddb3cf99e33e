# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dry-run Pod in each namespace: admission answers a while later than /readyz.

Right after a start, policies with parameters refuse Pods until their informers have synced, for up to
half a minute, although the API server already calls itself ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .api import Api, ApiError

_GROUP = "/apis/admissionregistration.k8s.io/v1"
_POLICIES = ("validatingadmissionpolicybindings", "mutatingadmissionpolicybindings")
_OURS = ("kube-system", "kube-public", "kube-node-lease")


def policies_installed(api: Api) -> bool:
    """Whether any admission policy is bound."""
    return any(api.get(f"{_GROUP}/{kind}?limit=1")["items"] for kind in _POLICIES)


def namespaces_to_try(namespaces: Iterable[dict[str, Any]]) -> list[str]:
    """Names of the namespaces that take new Pods and are not the control plane's own, sorted."""
    return sorted(
        namespace["metadata"]["name"]
        for namespace in namespaces
        if namespace["metadata"]["name"] not in _OURS and namespace["status"].get("phase") == "Active"
    )


def passed_admission(error: ApiError) -> bool:
    """Whether a refused canary got through every policy: quota is what comes after all of them."""
    text = str(error)
    return error.status == 403 and ("exceeded quota" in text or "failed quota" in text)


def admits(api: Api, namespaces: Sequence[str]) -> Callable[[], str | None]:
    """The condition that each namespace has admitted a canary once."""
    left = list(namespaces)

    def condition() -> str | None:
        while left:
            try:
                api.create(f"/api/v1/namespaces/{left[0]}/pods?dryRun=All", _pod())
            except ApiError as error:
                if not passed_admission(error):
                    return f"a dry-run Pod in namespace {left[0]}: {error.status} {error}"
            left.pop(0)
        return None

    return condition


def _pod() -> dict[str, Any]:
    amounts = {"cpu": "1m", "memory": "1Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "lab-canary-"},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": "canary",
                    "image": "registry.k8s.io/pause",
                    "resources": {"requests": amounts, "limits": amounts},
                }
            ],
        },
    }
