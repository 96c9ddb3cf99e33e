# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Alerts that stop a proof ("Alerts"): which are chosen is the policy's expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from . import finding_ids as ids
from .errors import ObservationError
from .finding import Finding
from .redaction import mask_text
from .snapshot import AlertsObserved

Select = Callable[[str, list[dict[str, Any]]], Any]
"""Answers what a JMESPath expression chooses from a list."""

PREFIX: Final = "KubeDc"
_STATES: Final = frozenset({"pending", "firing"})


def _unknown(message: str, next_action: str) -> Finding:
    return Finding(
        id=ids.ACTIVE_ALERT,
        severity="error",
        object="alerts",
        message=message,
        expected="alerts and rules readable, rules loaded",
        observed="unknown",
        next_action=next_action,
        unknown=True,
    )


def _chosen(select: Select, expression: str, entries: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """What the expression chooses; None where it is none, or chooses no list of alerts."""
    try:
        found = select(expression, entries)
    except ObservationError:
        return None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        return None
    return found


def _rules(observed: AlertsObserved, select: Select, expression: str) -> Iterable[Finding]:
    """Rules have to be loaded, once."""
    pretended = [
        {"labels": {"alertname": name}, "annotations": {}, "state": "firing"} for name in observed.rules
    ]
    chosen = _chosen(select, expression, pretended) or []
    names = {name for name in observed.rules if name.startswith(PREFIX)}
    names |= {str(item.get("labels", {}).get("alertname", "")) for item in chosen}
    loaded = sorted(name for name in names if observed.rules.get(name))
    if not loaded:
        yield _unknown(
            "the alerting rules that the policy selects from are not loaded, so that silence says nothing",
            "load the platform's alerting rules (chart kube-dc, manager metrics), then run again",
        )
    twice = [name for name in loaded if observed.rules[name] > 1]
    if twice:
        yield Finding(
            id=ids.ALERT_RULES_TWICE,
            severity="warning",
            object="alerts",
            message=f"alerting rules are loaded more than once: {', '.join(twice)}",
            expected="each rule once",
            observed=", ".join(f"{name} {observed.rules[name]} times" for name in twice),
            next_action="remove the second copy of the rules from Prometheus",
            stops=False,
        )


def alert_findings(observed: AlertsObserved, select: Select, expression: str) -> tuple[Finding, ...]:
    """Alerts that are pending or firing, and whether silence can be trusted.

    Args:
        observed: what the alert source said.
        select: answers a JMESPath expression.
        expression: the policy's selection over the list of active alerts.
    """
    if not observed.readable:
        why = mask_text(observed.error) or "no reason given"
        return (
            _unknown(
                f"alerts cannot be read: {why}",
                "make Prometheus reachable (alerts_url or proxy), then run again",
            ),
        )
    entries = [alert.model_dump(mode="json", by_alias=True) for alert in observed.alerts]
    chosen = _chosen(select, expression, entries)
    if chosen is None:
        return (
            _unknown(
                f"the policy's alerts.select {expression!r} chooses no list of alerts",
                "correct alerts.select in policy.yaml by a reviewed change",
            ),
        )
    found = list(_rules(observed, select, expression))
    for alert in chosen:
        state = str(alert.get("state", ""))
        if state and state not in _STATES:
            continue
        name = mask_text(str(alert.get("labels", {}).get("alertname", "(unnamed)")))
        found.append(
            Finding(
                id=ids.ACTIVE_ALERT,
                severity="error",
                object=f"alert/{name}",
                message=f"alert {name} is {state or 'active'}",
                expected="no selected alert pending or firing",
                observed=state or "active",
                next_action=f"handle {name} by its runbook; run again once it has cleared",
            )
        )
    return tuple(found)
