# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report: the runbook's equation with every term, on one screen, and the module's result keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.report import (
    equation_lines,
    report_result,
    summary_lines,
    verdict,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    LAB_1,
    LAB_2,
    lab,
)


def test_the_equation_before_and_after_in_the_runbooks_order() -> None:
    lines = equation_lines(lab().prove(order=LAB_1, purpose="assign"))
    assert [line.split() for line in lines] == [
        ["before", "after"],
        ["healthy", "schedulable", "devices", "32", "32"],
        [">=", "active", "reserved", "devices", "8", "8"],
        ["+", "pending", "reserved", "devices", "0", "8"],
        ["+", "releasing", "reserved", "devices", "0", "0"],
        ["+", "non-reserved", "organization", "hard", "quota", "6", "6"],
        ["+", "operator", "spare", "1", "1"],
        ["headroom", "17", "9"],
    ]
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize("order", [None, LAB_1, LAB_2], ids=["as it is", "LAB-1", "LAB-2"])
def test_the_summary_fits_a_screen(order: Any) -> None:
    fleet = lab()
    for number in range(400):
        fleet.organization(f"customer-{number:03}", {"gpu-h100-vm": 0}).quota(f"customer-{number:03}", 0)
        fleet.nodes["gpu-01"]["spec"]["unschedulable"] = True
    lines = summary_lines(fleet.prove(order=order, purpose="assign"))
    assert len(lines) <= 45
    assert not any("customer-" in line for line in lines), "who has nothing of the pool is left out"


def test_many_claims_are_cut_with_a_count() -> None:
    fleet = lab()
    fleet.pool()["nodes"]["gpu-01"] = 500
    fleet.devices("gpu-01", "500")
    for number in range(100):
        fleet.organization(f"c{number:03}", {"gpu-h100-vm": 1}).quota(f"c{number:03}", 1)
    lines = summary_lines(fleet.prove())
    assert "  and 83 more, see organizations" in lines


def test_verdicts() -> None:
    assert verdict(lab().prove()) == "pool h100-vm: yes, headroom 17"
    assert verdict(lab().prove("v100-vm")) == "pool v100-vm: not in service, nothing is sold from it"
    assert verdict(lab().prove(order=LAB_2, purpose="assign")) == "pool h100-vm: no, 1 devices are missing"
    assert verdict(lab().alert("KubeDcX").prove()) == "pool h100-vm: no, 1 findings stop it"


def test_what_stops_is_told_first_with_its_next_step() -> None:
    fleet = lab().alert("KubeDcX")
    fleet.nodes["gpu-01"]["spec"]["unschedulable"] = True
    lines = [line for line in summary_lines(fleet.prove()) if "KubeDcX" in line or "node-cordoned" in line]
    assert lines[0].startswith("  STOP  active-alert: alert KubeDcX is firing")
    assert lines[1].startswith("        next: handle KubeDcX")
    assert lines[2].startswith("  warning  node-cordoned")


def test_the_result_keys_are_json_with_unknowns_in_words() -> None:
    fleet = lab()
    fleet.hrqs["aurora"]["spec"]["hard"].clear()
    result = report_result(fleet.prove(order=LAB_1, purpose="assign"))
    json.dumps(result)
    assert {"equation", "equation_after", "organizations", "nodes", "remedies", "checks", "summary"} <= set(
        result
    )
    assert result["equation"]["non_reserved"] == "unlimited"
    assert result["equation"]["headroom"] == "unknown"
    assert result["equation"]["holds"] is False
    assert {check["status"] for check in result["checks"]} <= {"pass", "fail", "unknown", "not_applicable"}
    assert result["organizations"][0]["organization"] == "aurora"


def test_every_question_is_answered_once_where_nothing_is_wrong() -> None:
    checks = report_result(lab().prove())["checks"]
    ids = [check["id"] for check in checks]
    assert len(ids) == len(set(ids))
    assert {"capacity-equation", "status-disagreement", "active-alert", "plugin-conflict"} <= set(ids)
