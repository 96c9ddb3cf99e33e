# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The node table: which devices count, which rows stop, and which row wins."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    H100,
    HAMI,
    SANDBOX,
    Fleet,
    lab,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.proof_table import (
    Case,
    examine,
    named,
    table,
    untouched,
)

NODE = "node/gpu-03"
ACTIVE = "kube-dc.com/gpu.workload-mode"
EXPECTED = "kube-dc.com/gpu.expected-workload-mode"
CONFIG = "nvidia.com/gpu.workload.config"
DRA = "hami-dra-driver-kubelet-plugin"
NEVER = "nvidia-device-plugin-daemonset"
RULES = "file/clusters/lab/gpu-node-modes/nodefeaturerule.yaml"
OLD = "2026-11-10T11:58:59Z"


def gone(fleet: Fleet) -> None:
    del fleet.nodes["gpu-03"]


def no_lease(fleet: Fleet) -> None:
    del fleet.leases["gpu-03"]


def lease(renewed: str, earlier: tuple[str, str] | None = None) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.leases["gpu-03"] = renewed
        if earlier:
            fleet.earlier = (earlier[1], {"gpu-03": earlier[0]})

    return bend


def cordon(fleet: Fleet) -> None:
    fleet.nodes["gpu-03"]["spec"] = {
        "unschedulable": True,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    }


def taint(key: str, effect: str) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.nodes["gpu-03"]["spec"] = {"taints": [{"key": key, "value": "x", "effect": effect}]}

    return bend


def maintenance(begins: str = "2026-11-10T12:00:00Z", ends: str = "2026-11-10T12:00:01Z") -> Any:
    def bend(fleet: Fleet) -> None:
        assert fleet.policy is not None
        window = {"nodes": ["gpu-03"], "from": begins, "to": ends, "reference": "CHG-7"}
        fleet.policy["spec"]["maintenance"] = [window]

    return bend


def quarantine(fleet: Fleet) -> None:
    fleet.pool()["quarantinedNodes"] = ["gpu-03"]


def shared(mode: str = "pod-hami", plugin: str = HAMI) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.modes["gpu-03"] = mode
        fleet.label("gpu-03", ACTIVE, mode).label("gpu-03", EXPECTED, mode).label(
            "gpu-03", CONFIG, "container"
        )
        fleet.plugin("gpu-03", plugin).devices("gpu-03", None)

    return bend


def rule_says(mode: str) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.modes["gpu-03"] = mode

    return bend


def no_rule(fleet: Fleet) -> None:
    del fleet.modes["gpu-03"]


def both(*bends: Any) -> Any:
    def bend(fleet: Fleet) -> None:
        for one in bends:
            one(fleet)

    return bend


def stop(*ids: str) -> list[tuple[str, str]]:
    return [(finding_id, NODE) for finding_id in ids]


@table(
    Case("untouched", untouched),
    Case("cordoned", cordon, remarks=stop("node-cordoned"), healthy=24, headroom=9, says=("cordoned",)),
    Case(
        "taint NoSchedule",
        taint("reserved", "NoSchedule"),
        remarks=stop("node-tainted"),
        healthy=24,
        headroom=9,
        says=("reserved:NoSchedule",),
    ),
    Case("taint NoExecute", taint("x", "NoExecute"), remarks=stop("node-tainted"), healthy=24, headroom=9),
    Case(
        "usual GPU taint",
        taint("nvidia.com/gpu", "NoSchedule"),
        remarks=stop("node-tainted"),
        healthy=24,
        headroom=9,
    ),
    Case("taint PreferNoSchedule", taint("x", "PreferNoSchedule")),
    Case(
        "announced maintenance",
        maintenance(),
        remarks=stop("node-in-maintenance"),
        healthy=24,
        headroom=9,
        says=("CHG-7",),
    ),
    Case("maintenance over", maintenance("2026-11-10T11:00:00Z", "2026-11-10T12:00:00Z")),
    Case("maintenance to come", maintenance("2026-11-10T12:00:01Z", "2026-11-10T13:00:00Z")),
    Case("quarantined", quarantine, remarks=stop("node-quarantined"), healthy=24, headroom=9),
    Case("wholly Shared", shared(), remarks=stop("node-in-shared-mode"), healthy=24, headroom=9),
    Case(
        "wholly Shared by DRA",
        shared("pod-hami-dra", DRA),
        remarks=stop("node-in-shared-mode"),
        healthy=24,
        headroom=9,
    ),
)
def test_rows_that_do_not_stop(case: Case) -> None:
    examine(case)


@table(
    Case("missing", gone, stop("degraded-capacity"), ("does not exist",), healthy=24, headroom=9),
    Case(
        "not Ready",
        lambda f: f.ready("gpu-03", "False"),
        stop("degraded-capacity"),
        ("not Ready",),
        healthy=24,
        headroom=9,
    ),
    Case(
        "Ready unknown",
        both(lambda f: f.ready("gpu-03", "Unknown"), lease(OLD)),
        stop("degraded-capacity", "stale-capacity"),
        ("Ready is Unknown",),
        healthy=24,
        headroom=9,
    ),
    Case("stale lease", lease(OLD), stop("stale-capacity"), ("limit 60 s", OLD), healthy=24, headroom=9),
    Case("no lease", no_lease, stop("stale-capacity"), ("there is no lease",), healthy=24, headroom=9),
    Case("lease ahead", lease("2026-11-10T12:00:01Z"), stop("stale-capacity"), healthy=24, headroom=9),
    Case("lease unreadable", lease("yesterday"), stop("stale-capacity"), healthy=24, headroom=9),
    Case(
        "lease old and not moved",
        lease(OLD, (OLD, "2026-11-10T11:59:50Z")),
        stop("stale-capacity"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "lease moved too long ago",
        lease(OLD, ("2026-11-10T11:50:00Z", "2026-11-10T11:50:10Z")),
        stop("stale-capacity"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "vanished device",
        lambda f: f.devices("gpu-03", "7"),
        stop("degraded-capacity"),
        ("allocatable 7",),
        healthy=31,
        headroom=16,
    ),
    Case(
        "allocatable below capacity",
        lambda f: f.devices("gpu-03", "6", "8"),
        stop("degraded-capacity"),
        healthy=30,
        headroom=15,
    ),
    Case(
        "capacity below allocatable",
        lambda f: f.devices("gpu-03", "8", "5"),
        stop("degraded-capacity"),
        healthy=29,
        headroom=14,
    ),
    Case(
        "more than declared",
        lambda f: f.devices("gpu-03", "9"),
        stop("degraded-capacity"),
        healthy=32,
        headroom=17,
    ),
    Case(
        "resource gone",
        lambda f: f.devices("gpu-03", None),
        stop("degraded-capacity"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "quantity that is none",
        lambda f: f.devices("gpu-03", "0x8"),
        stop("degraded-capacity"),
        ("no whole number",),
        healthy=None,
        headroom=None,
        unknown=True,
    ),
    Case(
        "half a device",
        lambda f: f.devices("gpu-03", "7500m"),
        stop("degraded-capacity"),
        healthy=None,
        headroom=None,
        unknown=True,
    ),
    Case(
        "active label",
        lambda f: f.label("gpu-03", ACTIVE, "pod-hami"),
        stop("profile-mode-mismatch"),
        (ACTIVE, "pod-hami"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "expected label",
        lambda f: f.label("gpu-03", EXPECTED, "pod-hami"),
        stop("profile-mode-mismatch"),
        (EXPECTED,),
        healthy=24,
        headroom=9,
    ),
    Case(
        "label missing",
        lambda f: f.label("gpu-03", ACTIVE, None),
        stop("profile-mode-mismatch"),
        ("is missing",),
        healthy=24,
        headroom=9,
    ),
    Case(
        "config label",
        lambda f: f.label("gpu-03", CONFIG, "container"),
        stop("profile-mode-mismatch"),
        (CONFIG,),
        healthy=24,
        headroom=9,
    ),
    Case(
        "fleet rule",
        rule_says("pod-hami"),
        stop("profile-mode-mismatch"),
        ("the fleet's rule says pod-hami",),
        healthy=24,
        headroom=9,
    ),
    Case(
        "no fleet rule",
        no_rule,
        stop("profile-mode-mismatch"),
        ("no rule for node gpu-03",),
        healthy=24,
        headroom=9,
    ),
    Case(
        "both plugins",
        lambda f: f.plugin("gpu-03", SANDBOX, HAMI),
        stop("plugin-conflict"),
        (SANDBOX, HAMI),
        healthy=24,
        headroom=9,
    ),
    Case(
        "never allowed",
        lambda f: f.plugin("gpu-03", NEVER),
        stop("plugin-conflict"),
        (NEVER,),
        healthy=24,
        headroom=9,
    ),
    Case(
        "never allowed beside",
        lambda f: f.plugin("gpu-03", SANDBOX, NEVER),
        stop("plugin-conflict"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "no plugin",
        lambda f: f.plugin("gpu-03"),
        stop("plugin-conflict"),
        ("owners none",),
        healthy=24,
        headroom=9,
    ),
    Case(
        "plugin leaving",
        lambda f: f.plugin("gpu-03", leaving=(SANDBOX,)),
        stop("plugin-conflict"),
        ("Terminating",),
        healthy=24,
        headroom=9,
    ),
    Case(
        "other plugin not left",
        lambda f: f.plugin("gpu-03", SANDBOX, leaving=(HAMI,)),
        stop("plugin-conflict"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "wrong plugin alone",
        lambda f: f.plugin("gpu-03", HAMI),
        stop("plugin-conflict"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "two faults are two findings",
        both(lease(OLD), lambda f: f.plugin("gpu-03", SANDBOX, HAMI)),
        stop("stale-capacity", "plugin-conflict"),
        healthy=24,
        headroom=9,
    ),
)
def test_rows_that_stop(case: Case) -> None:
    proof = examine(case)
    row = next(node for node in proof.nodes if node.node == "gpu-03")
    assert row.reason in {finding_id for finding_id, _object in case.stops}


@table(
    Case(
        "a skewed clock that moves",
        lease("2026-11-10T11:40:10Z", ("2026-11-10T11:40:00Z", "2026-11-10T11:59:50Z")),
    ),
    Case(
        "a clock ahead that moves",
        lease("2026-11-10T12:20:10Z", ("2026-11-10T12:20:00Z", "2026-11-10T11:59:50Z")),
    ),
    Case("at the limit", lease("2026-11-10T11:59:00Z")),
)
def test_clocks_of_kubelets_skew(case: Case) -> None:
    examine(case)


@table(
    Case(
        "quarantine before everything",
        both(quarantine, gone),
        remarks=stop("node-quarantined"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "Shared before maintenance and health",
        both(shared(), maintenance(), lambda f: f.ready("gpu-03", "False"), lease(OLD)),
        remarks=stop("node-in-shared-mode"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "maintenance excuses not Ready and a stale lease",
        both(maintenance(), lambda f: f.ready("gpu-03", "Unknown"), lease(OLD), cordon),
        remarks=stop("node-in-maintenance"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "maintenance does not excuse drift",
        both(maintenance(), lambda f: f.label("gpu-03", ACTIVE, "pod-hami")),
        stop("profile-mode-mismatch"),
        remarks=stop("node-in-maintenance"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "maintenance does not excuse a plugin conflict",
        both(maintenance(), lambda f: f.plugin("gpu-03", SANDBOX, HAMI)),
        stop("plugin-conflict"),
        remarks=stop("node-in-maintenance"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "what stops before cordon and taints",
        both(cordon, lambda f: f.devices("gpu-03", "7")),
        stop("degraded-capacity"),
        healthy=24,
        headroom=9,
    ),
    Case(
        "a Shared node with a VM plugin left is not wholly Shared",
        both(shared(), lambda f: f.plugin("gpu-03", HAMI, leaving=(SANDBOX,)).devices("gpu-03", "8")),
        stop("profile-mode-mismatch", "plugin-conflict"),
        healthy=24,
        headroom=9,
    ),
)
def test_which_row_wins(case: Case) -> None:
    examine(case)


def undeclared(fleet: Fleet) -> None:
    fleet.node("gpu-09", resources={H100: "8"})


@table(
    Case(
        "has the resource",
        undeclared,
        remarks=[("undeclared-node", "node/gpu-09")],
        says=("gpu-09", "counts 0"),
    ),
    Case("has none left", lambda f: f.node("gpu-09", resources={H100: "0"})),
    Case("drift without the resource", lambda f: f.node("gpu-09").label("gpu-09", ACTIVE, "pod-hami")),
    Case("plugin conflict without the resource", lambda f: f.node("gpu-09").plugin("gpu-09", SANDBOX, HAMI)),
)
def test_undeclared_nodes_count_nothing(case: Case) -> None:
    examine(case)


@pytest.mark.parametrize(
    "text", ["", "kind: [", "kind: NodeFeatureRule\n"], ids=["missing", "no YAML", "no rules"]
)
def test_an_unfit_rule_file_is_one_finding_and_counts_no_node(text: str) -> None:
    fleet = lab()
    fleet.rule_text = text
    proof = fleet.prove()
    assert named(proof.findings, stops=True) == [
        ("hard-quota-above-equation", "pool/h100-vm"),
        ("profile-mode-mismatch", RULES),
    ]
    assert proof.equation.healthy == 0


def operator(fleet: Fleet) -> None:
    assert fleet.policy is not None
    fleet.policy["spec"]["operatorNamespaces"] = ["gpuops-tools"]
    fleet.pod("gpuops-tools", "bench", 3, node="gpu-02")


@table(
    Case("on a counted node", operator, healthy=29, headroom=14),
    Case(
        "on a node that counts nothing",
        both(operator, lambda f: f.pod("gpuops-tools", "more", 2, node="gpu-03"), cordon),
        remarks=stop("node-cordoned"),
        healthy=21,
        headroom=6,
    ),
)
def test_operator_holders_are_taken_off(case: Case) -> None:
    examine(case)


def test_a_whole_report_names_every_node_with_its_reason() -> None:
    fleet = lab()
    cordon(fleet)
    rows = {row.node: (row.declared, row.counts, row.reason) for row in fleet.prove().nodes}
    assert rows == {
        "gpu-01": (8, 8, "allocatable"),
        "gpu-02": (8, 8, "allocatable"),
        "gpu-03": (8, 0, "cordoned"),
        "gpu-04": (8, 8, "allocatable"),
    }


def test_an_unreadable_server_time_makes_everything_stale() -> None:
    fleet = lab()
    fleet.server_time = ""
    proof = fleet.prove()
    assert {finding.id for finding in proof.stops} == {"stale-capacity", "hard-quota-above-equation"}
    assert proof.equation.healthy == 0
    assert not proof.allowed
