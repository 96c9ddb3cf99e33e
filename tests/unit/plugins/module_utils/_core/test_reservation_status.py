# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The status of a Reservation: phases, reasons, and times that change only with a status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_claims import Claim
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_objects import (
    ReservationStatus,
    ReservedNode,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_status import (
    LONGEST,
    condition,
    needs_write,
    reservation_status,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.tenant_nodes import (
    NOW,
    reservation,
)

ROOT = Path(__file__).resolve().parents[5]
DEFINITIONS = ROOT / "roles" / "platform" / "files" / "reservations"
LATER = "2026-11-30T13:00:00Z"


def claim(*, accepted: bool = True, hold: Any = ("n1",), missing: Any = ()) -> Claim:
    return Claim(
        reservation(nodes=["n1"], generation=3),
        accepted=accepted,
        reason="Accepted" if accepted else "Overlap",
        message="m",
        next_action="" if accepted else "do this",
        hold=frozenset(hold),
        missing=frozenset(missing),
    )


def entry(name: str, phase: str = "Reserved", pods: int = 0) -> ReservedNode:
    return ReservedNode(name=name, phase=phase, tenant_pods=pods)


def reasons(status: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["type"], one["status"], one["reason"]) for one in status["conditions"]]


@pytest.mark.parametrize(
    ("given", "nodes", "ready"),
    [
        (claim(), [entry("n1")], ("True", "AllReserved")),
        (claim(), [], ("False", "NodesPending")),
        (claim(hold=()), [], ("False", "NoNodes")),
        (claim(hold=(), missing=("n9",)), [entry("n9", "Missing")], ("False", "NodesMissing")),
        (claim(), [entry("n1"), entry("n2", "Draining")], ("False", "NodesDraining")),
        (claim(accepted=False), [entry("n1")], ("False", "NotAccepted")),
    ],
)
def test_ready_is_every_node_reserved(
    given: Claim, nodes: list[ReservedNode], ready: tuple[str, str]
) -> None:
    status = reservation_status(given, nodes, NOW)
    assert reasons(status)[1] == ("Ready", *ready)
    assert status["observedGeneration"] == 3


def test_reserved_counts_that_phase_and_nodes_are_in_order() -> None:
    nodes = [entry("n2", "Draining", 2), entry("n1"), entry("n3", "Missing")]
    status = reservation_status(claim(), nodes, NOW)
    assert status["reserved"] == 1
    assert status["nodes"][1] == {"name": "n2", "phase": "Draining", "tenantPods": 2}
    assert [one["name"] for one in status["nodes"]] == ["n1", "n2", "n3"]


def test_a_rejection_says_what_to_do() -> None:
    status = reservation_status(claim(accepted=False), [], NOW)
    assert reasons(status)[0] == ("Accepted", "False", "Overlap")
    assert status["conditions"][0]["message"] == "m; do this"


def test_a_time_changes_with_the_status_only() -> None:
    first = condition((), "Ready", status=True, reason="A", message="m", generation=1, now=NOW)
    stored = ReservationStatus.model_validate({"conditions": [first]}).conditions
    same = condition(stored, "Ready", status=True, reason="B", message="n", generation=2, now=LATER)
    other = condition(stored, "Ready", status=False, reason="B", message="n", generation=2, now=LATER)
    assert same["lastTransitionTime"] == NOW
    assert other["lastTransitionTime"] == LATER


def test_what_is_stored_already_is_not_written_again() -> None:
    status = reservation_status(claim(), [entry("n1", pods=1)], NOW)
    stored = ReservationStatus.model_validate(status)
    assert not needs_write(stored, reservation_status(claim(), [entry("n1", pods=1)], LATER))
    assert needs_write(stored, reservation_status(claim(), [entry("n1", pods=2)], NOW))
    assert needs_write(stored, reservation_status(claim(accepted=False), [entry("n1", pods=1)], NOW))
    assert needs_write(ReservationStatus(), status)


def test_a_message_fits_what_the_definition_allows() -> None:
    """A claim on a thousand held nodes names each of them; a status that is refused would say nothing."""
    one = "node-{:04d} is held by Reservation foo of tenant tenant-foo"
    held = ", ".join(one.format(number) for number in range(1000))
    accepted = condition((), "Accepted", status=False, reason="Overlap", message=held, generation=1, now=NOW)
    for kind in ("reservations", "reservationbindings"):
        definition = yaml.safe_load((DEFINITIONS / f"{kind}.crd.yaml").read_text())
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
        fields = schema["properties"]["conditions"]["items"]["properties"]
        assert len(accepted["message"]) == fields["message"]["maxLength"] == LONGEST
    assert accepted["message"].startswith(held[:1000])
    assert accepted["message"].endswith(f"and {len(held)} characters in all: a reconcile shows the rest")
