# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who owns device plugins on a node, exactly by name, namespace and kind."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Pod
from ansible_collections.gpuops.reservations.plugins.module_utils._core.modes import (
    NEVER_ALLOWED_OWNER,
    PLUGIN_OWNER,
    VM_PASSTHROUGH,
    owners_by_node,
    owners_on,
)

SANDBOX = PLUGIN_OWNER[VM_PASSTHROUGH]


def plugin(owner: str = SANDBOX, node: str = "n1", **changes: Any) -> Pod:
    kind = changes.get("kind", "DaemonSet")
    controller = changes.get("controller", True)
    return Pod.model_validate(
        {
            "metadata": {
                "name": "p",
                "namespace": changes.get("namespace", "gpu-operator"),
                "ownerReferences": [{"kind": kind, "name": owner, "controller": controller}],
                "deletionTimestamp": changes.get("deleted", ""),
            },
            "spec": {"nodeName": node},
            "status": {"phase": changes.get("phase", "Running")},
        }
    )


def test_the_right_owner_alone() -> None:
    owners = owners_on("n1", [plugin(), plugin(node="n2", owner="hami-device-plugin")])
    assert owners.sole(VM_PASSTHROUGH)
    assert not owners.sole("pod-hami")
    assert str(owners) == SANDBOX


@pytest.mark.parametrize(
    "pod",
    [
        plugin(namespace="default"),
        plugin(kind="ReplicaSet"),
        plugin(controller=False),
        plugin(phase="Succeeded"),
        plugin(phase="Failed"),
        plugin(owner="nvidia-sandbox-device-plugin-daemonset-2"),
        plugin(owner="nvidia-dcgm-exporter"),
        plugin(node=""),
    ],
    ids=["namespace", "kind", "no controller", "ended", "failed", "another name", "no plugin", "no node"],
)
def test_what_owns_no_plugin(pod: Pod) -> None:
    assert owners_by_node([pod]) == {}
    assert str(owners_on("n1", [pod])) == "none"


@pytest.mark.parametrize("namespace", ["gpu-operator", "hami-system"])
def test_both_namespaces_count(namespace: str) -> None:
    assert owners_on("n1", [plugin(namespace=namespace)]).sole(VM_PASSTHROUGH)


def test_a_terminating_pod_has_not_left_yet_and_is_not_present() -> None:
    leaving = owners_on("n1", [plugin(deleted="2026-11-10T11:00:00Z")])
    assert not leaving.sole(VM_PASSTHROUGH)
    assert leaving.leaving == {SANDBOX}
    assert "Terminating" in str(leaving)
    replaced = owners_on("n1", [plugin(deleted="2026-11-10T11:00:00Z"), plugin()])
    assert replaced.sole(VM_PASSTHROUGH)


@pytest.mark.parametrize(
    "other", ["hami-device-plugin", "hami-dra-driver-kubelet-plugin", NEVER_ALLOWED_OWNER]
)
@pytest.mark.parametrize("deleted", ["", "2026-11-10T11:00:00Z"], ids=["running", "leaving"])
def test_another_owner_is_a_conflict_until_it_is_gone(other: str, deleted: str) -> None:
    owners = owners_on("n1", [plugin(), plugin(owner=other, deleted=deleted)])
    assert not owners.sole(VM_PASSTHROUGH)
    assert owners.foreign(VM_PASSTHROUGH) == {other}
