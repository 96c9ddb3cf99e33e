# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports on 127.0.0.1 that nothing else uses."""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping

from .errors import LabError

NAMES = (
    "etcd",
    "etcd-peer",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
)

# Below the range from which systems give ports to outgoing connections: those
# would take a lab's port while the lab is stopped for a moment.
_FIRST, _LAST = 20000, 31999


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose(kept: Mapping[str, int]) -> dict[str, int]:
    """A port for each of NAMES: the kept one where it is still free, else one picked at random.

    Raises LabError when no free port is found in 200 tries.
    """
    chosen: dict[str, int] = {}
    for name in NAMES:
        port = kept.get(name)
        if port is None or port in chosen.values() or not is_free(port):
            port = _pick(set(chosen.values()) | set(kept.values()))
        chosen[name] = port
    return chosen


def _pick(taken: set[int]) -> int:
    for _ in range(200):
        port = random.randint(_FIRST, _LAST)
        if port not in taken and is_free(port):
            return port
    raise LabError(
        f"no free port found on 127.0.0.1 between {_FIRST} and {_LAST} in 200 tries",
        "stop other labs (make lab-down LAB=<their folder>) and start again",
    )
