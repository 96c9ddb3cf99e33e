# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Alerts: the rules that are loaded, the metrics behind them, and the stand-in's answers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from lab.platform import alerts
from lab.platform.faults import Faults


@pytest.fixture
def stand_in() -> Iterator[tuple[alerts.StandIn, str]]:
    port = alerts.free_port()
    server = alerts.StandIn(port, lambda: {"KubeDcOrganizationQuotaConfigInvalid": False})
    yield server, f"http://127.0.0.1:{port}/api/v1/"
    server.stop()


def get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=5) as answer:
        document: dict[str, Any] = json.load(answer)
    assert document["status"] == "success"
    return document["data"]  # type: ignore[no-any-return]


def test_firing_and_pending_alerts_are_listed_and_a_quiet_source_lists_none(
    stand_in: tuple[alerts.StandIn, str],
) -> None:
    server, url = stand_in
    server.follow(Faults())
    assert get(url + "alerts") == {"alerts": []}
    server.follow(Faults({"alerts-firing": "KubeDcGPUXidError", "alerts-pending": "KubeDcOther"}))
    states = {item["labels"]["alertname"]: item["state"] for item in get(url + "alerts")["alerts"]}
    assert states == {"KubeDcGPUXidError": "firing", "KubeDcOther": "pending"}
    rules = {rule["name"]: rule["state"] for group in get(url + "rules")["groups"] for rule in group["rules"]}
    assert rules["KubeDcGPUXidError"] == "firing"
    assert rules["KubeDcOrganizationQuotaConfigInvalid"] == "inactive"


def test_source_faults(stand_in: tuple[alerts.StandIn, str]) -> None:
    server, url = stand_in
    server.follow(Faults({"alerts-source": "no-rules"}))
    assert get(url + "rules") == {"groups": []}
    server.follow(Faults({"alerts-source": "rules-twice"}))
    names = [rule["name"] for group in get(url + "rules")["groups"] for rule in group["rules"]]
    assert all(names.count(name) == 2 for name in names)
    server.follow(Faults({"alerts-source": "unreachable"}))
    with pytest.raises(urllib.error.URLError):
        get(url + "alerts")
    server.follow(Faults())
    assert get(url + "alerts") == {"alerts": []}


def test_metrics_switch_the_alerts_known_by_name() -> None:
    text = alerts.metrics(Faults({"alerts-firing": "KubeDcGPUXidError"}), catalogue_valid=False)
    assert "kube_dc_organization_quota_config_valid 0\n" in text
    assert 'lab_alert_active{name="KubeDcGPUXidError"} 1\n' in text


def test_a_pending_alert_waits_and_the_others_do_not() -> None:
    waits = {
        rule["alert"]: rule["for"] for rule in alerts.rules(Faults({"alerts-pending": "KubeDcGPUXidError"}))
    }
    assert waits.pop("KubeDcGPUXidError") == "3600s"
    assert set(waits.values()) == {"0s"}
