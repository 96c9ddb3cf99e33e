# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports: free, different, below what systems give to outgoing connections, and kept where possible."""

from __future__ import annotations

import socket

import pytest

from lab import ports
from lab.errors import LabError


def test_each_name_gets_a_port_of_its_own_that_can_be_listened_on() -> None:
    chosen = ports.choose({})
    assert set(chosen) == set(ports.NAMES)
    assert len(set(chosen.values())) == len(ports.NAMES)
    assert all(ports.is_free(port) for port in chosen.values())
    assert all(port < 32768 for port in chosen.values())


def test_ports_of_an_earlier_start_are_kept() -> None:
    first = ports.choose({})
    assert ports.choose(first) == first


def test_a_port_that_somebody_took_meanwhile_is_replaced_and_the_others_stay() -> None:
    first = ports.choose({})
    with socket.socket() as other:
        other.bind(("127.0.0.1", first["kwok"]))
        other.listen()
        second = ports.choose(first)
    assert second["kwok"] != first["kwok"]
    assert {name: port for name, port in second.items() if name != "kwok"} == {
        name: port for name, port in first.items() if name != "kwok"
    }


def test_two_names_that_kept_one_port_are_told_apart() -> None:
    chosen = ports.choose(dict.fromkeys(ports.NAMES, ports.choose({})["etcd"]))
    assert len(set(chosen.values())) == len(ports.NAMES)


def test_without_any_free_port_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda _port: False)
    with pytest.raises(LabError, match="no free port") as failure:
        ports.choose({})
    assert "lab-down" in failure.value.next_action
