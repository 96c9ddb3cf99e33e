# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Alerts are chosen by the policy's expression, and silence counts only where rules are loaded."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.alert_check import alert_findings
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.snapshot import AlertsObserved
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import select

DEFAULT = "[?starts_with(labels.alertname, 'KubeDc')]"


def alerts(*names: str, rules: dict[str, int] | None = None, state: str = "firing") -> AlertsObserved:
    return AlertsObserved.model_validate(
        {
            "readable": True,
            "rules": {"KubeDcX": 1} if rules is None else rules,
            "alerts": [
                {"labels": {"alertname": name, "severity": "critical"}, "state": state} for name in names
            ],
        }
    )


def found(
    observed: AlertsObserved, expression: str = DEFAULT, choose: Any = select
) -> list[tuple[str, str, bool]]:
    return [(item.id, item.object, item.unknown) for item in alert_findings(observed, choose, expression)]


def test_case_matters() -> None:
    assert found(alerts("KubeDCOther", "kubedcx", "Watchdog")) == []


@pytest.mark.parametrize("state", ["pending", "firing", ""])
def test_pending_and_firing_stop(state: str) -> None:
    assert found(alerts("KubeDcX", state=state)) == [("active-alert", "alert/KubeDcX", False)]


def test_what_is_inactive_does_not() -> None:
    assert found(alerts("KubeDcX", state="inactive")) == []


def test_another_expression_chooses_others() -> None:
    expression = "[?labels.severity=='critical']"
    assert found(alerts("NodeDown"), expression) == [("active-alert", "alert/NodeDown", False)]


def test_rules_of_another_expression() -> None:
    expression = "[?starts_with(labels.alertname, 'Gpu')]"
    assert found(alerts(rules={"GpuX": 1}), expression) == []
    assert found(alerts(rules={"GpuX": 2}), expression) == [("alert-rules-loaded-twice", "alerts", False)]


@pytest.mark.parametrize("rules", [{}, {"NodeDown": 1}, {"KubeDcX": 0}])
def test_without_rules_silence_says_nothing(rules: dict[str, int]) -> None:
    assert found(alerts(rules=rules)) == [("active-alert", "alerts", True)]


def broken(_expression: str, _entries: list[Any]) -> Any:
    raise ObservationError("policy-expression-invalid", "no", next_action="correct it")


@pytest.mark.parametrize(
    ("expression", "choose"),
    [("length(@)", select), ("[].labels.alertname", select), ("[?", broken)],
    ids=["a number", "names", "no expression"],
)
def test_an_expression_that_chooses_no_alerts_is_unknown(expression: str, choose: Any) -> None:
    assert found(alerts("KubeDcX"), expression, choose)[0] == ("active-alert", "alerts", True)


def test_what_cannot_be_read_is_unknown_and_says_why() -> None:
    observed = AlertsObserved(readable=False, error="connection refused")
    (finding,) = alert_findings(observed, select, DEFAULT)
    assert finding.check().status == "unknown"
    assert "connection refused" in finding.message
