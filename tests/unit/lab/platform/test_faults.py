# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults: what is a fault at all, what it hits, and that nothing unknown is ever set."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lab.platform import faults
from lab.platform.api import ApiError

README = Path(faults.__file__).with_name("README.md")


class FakeConfigMaps:
    """ConfigMaps of one namespace, with merge patches."""

    def __init__(self, data: dict[str, dict[str, str]] | None = None) -> None:
        self.data = data or {}
        self.writes: list[dict[str, Any]] = []

    def get(self, _kind: object, name: str, _namespace: str) -> dict[str, Any] | None:
        return {"data": self.data[name]} if name in self.data else None

    def patch(self, _kind: object, name: str, patch: dict[str, Any], _namespace: str) -> None:
        self.writes.append(patch)
        if name not in self.data:
            raise ApiError(404, "NotFound", name)
        merged = {**self.data[name], **patch["data"]}
        self.data[name] = {key: value for key, value in merged.items() if value is not None}

    def create(self, _kind: object, document: dict[str, Any]) -> None:
        self.data[document["metadata"]["name"]] = document["data"]


def test_every_fault_is_documented_and_every_documented_fault_exists() -> None:
    text = README.read_text().partition("## Faults and delays")[2].partition("### The proxy")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("|")]
    documented = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    known = faults.DELAYS | faults.PATTERNS | set(faults.WORDS) | faults.TEXTS
    assert documented == known


@pytest.mark.parametrize(
    "values",
    [
        {"no-such-fault": "1"},
        {"delay-hrq": "soon"},
        {"alerts-source": "broken"},
        {"proxy": "{}"},
        {"backend": "x"},
    ],
)
def test_what_means_nothing_is_refused_before_anything_is_written(values: dict[str, str]) -> None:
    api = FakeConfigMaps()
    with pytest.raises(faults.UnknownFault):
        faults.set_fault(api, wait=False, **values)  # type: ignore[arg-type]
    assert api.writes == []
    assert api.data == {}


def test_setting_keeps_what_is_set_and_clearing_takes_what_is_named() -> None:
    api: Any = FakeConfigMaps()
    faults.set_fault(api, wait=False, delay_hrq=2)
    faults.set_fault(api, wait=False, proxy=[{"match": "GET", "action": "reset"}], freeze_hrq="aurora,bor*")
    assert set(api.data[faults.NAME]) == {"delay-hrq", "proxy", "freeze-hrq"}
    assert json.loads(api.data[faults.NAME]["proxy"])[0]["action"] == "reset"
    faults.clear_faults(api, "proxy", wait=False)
    assert set(api.data[faults.NAME]) == {"delay-hrq", "freeze-hrq"}
    faults.clear_faults(api, wait=False)
    assert api.data[faults.NAME] == {}


def test_waiting_ends_only_when_the_very_faults_were_taken_in() -> None:
    api: Any = FakeConfigMaps({faults.NAME: {"delay-hrq": "1"}, faults.SEEN: {"digest": faults.digest({})}})
    with pytest.raises(TimeoutError):
        faults.wait_seen(api, timeout=0.1)
    api.data[faults.SEEN] = {"digest": faults.digest({"delay-hrq": "1"})}
    faults.wait_seen(api, timeout=0.1)


def test_patterns_hit_names() -> None:
    current = faults.Faults(
        {"freeze-hrq": "aurora, bor*", "device-lost": "gpu-0?=2,acc-01", "delay-hrq": "x"}
    )
    assert current.hits("freeze-hrq", "borealis")
    assert not current.hits("freeze-hrq", "cumulus")
    assert not current.hits("freeze-labels", "aurora")
    assert (current.lost_devices("gpu-03"), current.lost_devices("acc-01")) == (2, 1)
    assert current.lost_devices("train-01") == 0
    assert current.seconds("delay-hrq") == 0.0
