# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fence that is down while somebody needs it is an error; one that stands for nobody is a warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.audit import AuditReport, audit
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fence_objects import FENCE_POLICIES
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    H100,
    NOW,
    V100,
    Fleet,
    fence_policy,
    lab,
    select,
)

LONG_AGO = "2026-11-10T11:58:59Z"
DOWN = [("error", "fence-down", "fence/h100-vm")]
IDS = {"fence-down", "fence-missing", "fence-converging", "fence-not-lowered"}
SMOKE = "borealis-ml/gpu-smoke-lab-1"


def fenced(*pools: str, may_start: str = "-", control: str = "both") -> Fleet:
    """The fixture with fences installed, which stand for these pools."""
    fleet = lab().with_fences(control)
    resources = {"h100-vm": H100, "v100-vm": V100}
    assert fleet.fence is not None
    for pool in pools:
        fleet.fence[f"creation.{pool}"] = f"{resources[pool]} {may_start}"
        fleet.fence[f"entitlement.{pool}"] = f"gpu-{pool.partition('-')[0]}-reserved"
    return fleet


def held(fleet: Fleet, ticket: str = "lab-1", since: str = LONG_AGO) -> Fleet:
    fleet.held_by(ticket)
    assert fleet.lock is not None
    fleet.lock["pools"]["h100-vm"]["since"] = since
    return fleet


def frozen(fleet: Fleet) -> Fleet:
    fleet.freeze()
    closed = {"GPU_VM_CREATION_ENABLED": "false", "GPU_SHARED_CREATION_ENABLED": "true"}
    fleet.gates.update(closed)
    for copy in ("helmrelease", "deployment"):
        fleet.gate_copies[copy].update(closed)
    return fleet


def run(fleet: Fleet, **more: Any) -> AuditReport:
    return audit(fleet.snapshot(), fleet.reading(), select=select, **more)


def found(report: AuditReport) -> list[tuple[str, str, str]]:
    return [(item.severity, item.id, item.object) for item in report.findings if item.id in IDS]


@pytest.mark.parametrize(
    "fleet",
    [
        fenced(),
        held(fenced("h100-vm")),
        held(fenced("h100-vm", may_start=SMOKE)),
        frozen(fenced("h100-vm")),
        frozen(held(fenced("h100-vm"))),
        held(fenced(), "reservation:rack-a"),
        held(fenced("h100-vm"), "reservation:rack-a"),
        held(fenced("h100-vm"), "transition:gpu-04"),
        held(fenced(control="gate")),
        held(fenced("h100-vm", control="fence")),
    ],
    ids=[
        "nobody needs it",
        "locked",
        "locked, its smoke VM may start",
        "frozen",
        "both",
        "nodes are taken from the pool",
        "nodes are taken, and another run raised it",
        "a transition",
        "the policy uses no fences",
        "the fence alone",
    ],
)
def test_what_is_as_it_should_be(fleet: Fleet) -> None:
    report = run(fleet)
    assert found(report) == []
    assert report.passed


def without(key: str) -> Callable[[Fleet], None]:
    def bend(fleet: Fleet) -> None:
        assert fleet.fence is not None
        del fleet.fence[key]

    return bend


def parameter(key: str, value: str) -> Callable[[Fleet], None]:
    def bend(fleet: Fleet) -> None:
        assert fleet.fence is not None
        fleet.fence[key] = value

    return bend


def installed(name: str, **changes: Any) -> Callable[[Fleet], None]:
    def bend(fleet: Fleet) -> None:
        others = [fence_policy(other) for other in FENCE_POLICIES if other != name]
        fleet.fence_policies["policies"] = [*others, fence_policy(name, **changes)]

    return bend


CREATION, ENTITLEMENT = FENCE_POLICIES
FAULTS: dict[str, tuple[Callable[[Fleet], None], str]] = {
    "creation fence": (without("creation.h100-vm"), "creation.h100-vm is not in configmap"),
    "entitlement fence": (without("entitlement.h100-vm"), "entitlement.h100-vm is not in configmap"),
    "another VM may start": (
        parameter("creation.h100-vm", f"{H100} aurora-vision/inference-3"),
        "aurora-vision/inference-3",
    ),
    "another device": (parameter("creation.h100-vm", f"{V100} -"), V100),
    "no add-on": (parameter("entitlement.h100-vm", ""), "entitlement.h100-vm is ''"),
    "no ConfigMap": (lambda f: setattr(f, "fence", None), "capacity-fence does not exist"),
    "no policy": (lambda f: f.fence_policies.update(policies=[fence_policy(CREATION)]), "does not exist"),
    "not bound": (installed(CREATION, bound_to=None), "gpuops-creation-fence is not bound"),
    "only warns": (installed(ENTITLEMENT, actions=["Warn"]), "does not deny"),
    "narrowed": (installed(ENTITLEMENT, narrowed=True), "leaves objects out"),
    "follows something else": (installed(CREATION, parameters="default/x"), "does not follow configmap"),
    "open without parameters": (installed(CREATION, without_parameters="Allow"), "does not follow"),
    "ignores failures": (installed(CREATION, failure_policy="Ignore"), "lets pass what it cannot judge"),
    "unreadable": (lambda f: f.fence_policies.update(readable=False), "is unknown"),
}


@pytest.mark.parametrize("need", [held, frozen])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fence_that_is_down_fails_the_audit(name: str, need: Callable[[Fleet], Fleet]) -> None:
    bend, said = FAULTS[name]
    fleet = need(fenced("h100-vm"))
    bend(fleet)
    report = run(fleet)
    assert found(report) == DOWN
    (finding,) = report.errors
    assert said in finding.message
    assert ("lock of lab-1" in finding.message) is (need is held)
    assert finding.profile == "h100-vm"
    install = name not in list(FAULTS)[:5]
    raising = "run lab-1 again from its beginning" if need is held else "audit.yml with enforce=true"
    assert ("install.yml" if install else raising) in finding.next_action
    assert finding.unknown is (name == "unreadable")


def test_one_finding_tells_of_both_fences() -> None:
    report = run(held(fenced()))
    assert found(report) == DOWN
    assert sorted(report.errors[0].values) == ["creation fence", "entitlement fence"]


def test_a_lock_that_was_just_taken_has_its_fences_on_their_way() -> None:
    report = run(held(fenced(), since=NOW))
    assert found(report) == [("warning", "fence-converging", "fence/h100-vm")]
    assert report.passed
    assert found(run(frozen(held(fenced(), since=NOW)))) == DOWN, "a freeze is written after its fences"


def test_a_lock_from_the_future_is_not_just_taken() -> None:
    assert found(run(held(fenced(), since="2026-11-10T13:00:00Z"))) == DOWN


def test_a_fence_that_stands_for_nobody_is_a_warning() -> None:
    report = run(fenced("h100-vm"))
    assert found(report) == [("warning", "fence-not-lowered", "fence/h100-vm")]
    assert report.passed


@pytest.mark.parametrize("name", ["no ConfigMap", "no policy", "not bound", "only warns", "unreadable"])
def test_fences_that_could_not_be_raised_are_told_before_they_are_needed(name: str) -> None:
    fleet = fenced()
    FAULTS[name][0](fleet)
    report = run(fleet)
    assert found(report) == [("warning", "fence-missing", "fence")]
    assert report.passed


def test_only_the_audited_pools_are_looked_at() -> None:
    assert found(run(held(fenced()), pools=["v100-vm"])) == []


@pytest.mark.parametrize("document", ["lock", "freeze", "policy"])
def test_nothing_is_said_where_the_need_is_unknown(document: str) -> None:
    fleet = held(fenced())
    if document == "lock":
        fleet.lock = {"pools": 1}
    elif document == "freeze":
        fleet.freezes["h100-vm"] = {"since": "x"}
    else:
        assert fleet.policy is not None
        fleet.policy["spec"]["x"] = 1
    assert found(run(fleet)) == []
    assert "ledger-invalid" in {item.id for item in run(fleet).errors}
