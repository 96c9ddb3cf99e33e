# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A gate in all of its places: closed is the literal false in every one that exists."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import (
    ConfigMap,
    GateCopies,
    Meta,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.gate import GateState, gate_state
from ansible_collections.gpuops.reservations.plugins.module_utils._core.gate_use import GATE_KEYS

KEY = GATE_KEYS["vm"]
OTHER = GATE_KEYS["shared"]


def file(value: str | None) -> FleetFile:
    text = f"{OTHER}=true\n" + ("" if value is None else f"{KEY}={value}\n")
    return FleetFile.of("clusters/lab/cluster-config.env", text.encode())


def config(value: str | None) -> ConfigMap:
    data = {OTHER: "true"} if value is None else {OTHER: "true", KEY: value}
    return ConfigMap(metadata=Meta(name="cluster-config"), data=data)


def state(value: str | None = "false", live: str | None = "false", **copies: Any) -> GateState:
    return gate_state("vm", file(value), config(live), GateCopies.model_validate(copies))


CLOSED: dict[str, Any] = {
    "helmrelease": {KEY: "false"},
    "deployment": {KEY: "false"},
    "deployment_rolled_out": True,
}


def test_closed_in_every_place() -> None:
    found = state(**CLOSED)
    assert found.closed
    assert found.agree
    assert not found.opened
    assert found.copies() == dict.fromkeys(("file", "configmap", "helmrelease", "deployment"), "closed")
    assert found.check().status == "pass"


def test_copies_that_do_not_exist_do_not_matter() -> None:
    found = state()
    assert found.closed
    assert found.agree
    assert found.copies()["helmrelease"] == "absent"


@pytest.mark.parametrize(
    "value", [None, "", "true", "False", "FALSE", "0", "no", "off", " false", "false ", "falsee"]
)
@pytest.mark.parametrize("place", ["file", "configmap", "helmrelease", "deployment"])
def test_anything_but_the_literal_false_is_open(place: str, value: str | None) -> None:
    entry = {} if value is None else {KEY: value}
    found = state(
        value if place == "file" else "false",
        value if place == "configmap" else "false",
        helmrelease=entry if place == "helmrelease" else {KEY: "false"},
        deployment=entry if place == "deployment" else {KEY: "false"},
        deployment_rolled_out=True,
    )
    assert not found.closed
    assert found.copies()[place] == "open"
    check = found.check()
    assert check.status == "fail"
    assert KEY in check.message
    assert place in check.message
    assert check.next_action


@pytest.mark.parametrize("quoted", ['"false"', "'false'"])
def test_matching_quotes_are_taken_off(quoted: str) -> None:
    assert state(quoted, quoted, helmrelease={KEY: quoted}).closed


@pytest.mark.parametrize("rolled_out", [False, None])
def test_a_deployment_that_is_not_rolled_out_is_not_closed(rolled_out: bool | None) -> None:
    found = state(**{**CLOSED, "deployment_rolled_out": rolled_out})
    assert found.deployment == "unknown"
    assert not found.closed
    assert not found.agree
    assert found.check().status == "unknown"
    assert "rolled out" in found.check().message


@pytest.mark.parametrize(
    "unreadable",
    [None, FleetFile.of("x.env", b"\xff"), FleetFile.of("x.env", b"y.env", "120000")],
)
def test_an_unreadable_file_is_not_closed(unreadable: FleetFile | None) -> None:
    found = gate_state("vm", unreadable, config("false"), GateCopies())
    assert found.file == "unknown"
    assert not found.closed
    assert found.check().status == "unknown"


def test_an_absent_configmap_is_not_closed() -> None:
    found = gate_state("vm", file("false"), None, GateCopies())
    assert found.configmap == "unknown"
    assert not found.closed


def test_the_configmap_may_be_ahead_of_the_others() -> None:
    found = state(
        "false", "false", helmrelease={KEY: "true"}, deployment={KEY: "true"}, deployment_rolled_out=True
    )
    assert not found.closed
    assert not found.agree


def test_open_everywhere() -> None:
    found = state(
        "true", "true", helmrelease={KEY: "true"}, deployment={KEY: "true"}, deployment_rolled_out=True
    )
    assert found.opened
    assert found.agree
    assert found.open_before


@pytest.mark.parametrize(
    ("value", "before"),
    [("true", True), ('"true"', True), (None, False), ("", False), ("yes", False), ("false", False)],
)
def test_only_the_literal_true_is_put_back(value: str | None, before: bool) -> None:
    assert state(value).open_before is before


def test_the_two_gates_are_apart() -> None:
    assert not gate_state("shared", file("false"), config("false"), GateCopies()).closed


@pytest.mark.parametrize("values", list(product(["true", "false", None], repeat=3)))
def test_never_closed_unless_all_say_false(values: tuple[str | None, str | None, str | None]) -> None:
    in_file, live, release = values
    found = state(in_file, live, helmrelease={} if release is None else {KEY: release})
    assert found.closed is (values == ("false", "false", "false"))
    assert not (found.closed and found.opened)
