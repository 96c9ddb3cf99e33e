# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults and delays of the played product: what is set, and the calls by which tests set them.

They are keys of ConfigMap `lab/faults`; README.md beside this file says what each does. Values are text:
seconds for a delay, shell patterns separated by commas for what a fault hits (`*` is everything), or JSON.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .api import CONFIGMAPS, Api, ApiError
from .store import Store

NAMESPACE = "lab"
NAME = "faults"
SEEN = "faults-seen"

DELAYS = frozenset(
    {
        "delay-config",
        "delay-deployment",
        "delay-devices",
        "delay-helmrelease",
        "delay-hrq",
        "delay-hrq-status",
        "delay-labels",
        "delay-launcher",
        "delay-organization-status",
        "delay-project-status",
        "delay-projection",
        "delay-ready",
        "delay-rules",
        "delay-stop",
        "delay-vmi",
    }
)
PATTERNS = frozenset(
    {
        "alerts-firing",
        "alerts-pending",
        "device-stuck",
        "freeze-config",
        "freeze-deployment",
        "freeze-devices",
        "freeze-fleet",
        "freeze-helmrelease",
        "freeze-hrq",
        "freeze-hrq-status",
        "freeze-labels",
        "freeze-organization-status",
        "freeze-project-status",
        "freeze-projection",
        "freeze-vm",
        "guest-without-device",
        "node-not-ready",
        "node-unknown",
        "plugin-conflict",
        "plugin-dead",
        "stale-lease",
        "stale-organization-status",
    }
)
WORDS = {
    "alerts-source": frozenset({"", "unreachable", "no-rules", "rules-twice"}),
    "backend": frozenset({"", "unreachable", "error", "accepts-and-forgets"}),
}
TEXTS = frozenset({"device-lost", "proxy"})


class UnknownFault(Exception):
    """A key or value that means nothing; a test that sets it would test nothing."""


def check(values: Mapping[str, str]) -> None:
    """Raise UnknownFault, naming the key, unless every key and value means something."""
    for key, value in values.items():
        if key in DELAYS:
            try:
                float(value)
            except ValueError:
                raise UnknownFault(f"fault {key}: {value!r} is no number of seconds") from None
        elif key in WORDS:
            if value not in WORDS[key]:
                raise UnknownFault(f"fault {key}: {value!r} is none of {sorted(WORDS[key] - {''})}")
        elif key == "proxy":
            if not isinstance(json.loads(value), list):
                raise UnknownFault("fault proxy: a JSON list of rules is needed")
        elif key not in PATTERNS | TEXTS:
            raise UnknownFault(f"fault {key} is unknown; lab/platform/README.md lists what there is")


def digest(values: Mapping[str, str]) -> str:
    """What tells one set of faults from another."""
    return hashlib.sha256(json.dumps(dict(values), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Faults:
    """The faults that are set at this moment."""

    values: Mapping[str, str] = field(default_factory=dict)

    def seconds(self, key: str) -> float:
        """A delay, in seconds; 0 when it is not set or is no number."""
        try:
            return float(self.values.get(key, "0") or "0")
        except ValueError:
            return 0.0

    def text(self, key: str) -> str:
        """The value as it is, empty when it is not set."""
        return self.values.get(key, "")

    def names(self, key: str) -> list[str]:
        """The patterns of a key."""
        return [part.strip() for part in self.values.get(key, "").split(",") if part.strip()]

    def hits(self, key: str, *names: str) -> bool:
        """Whether a fault is set for one of these names."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.names(key) for name in names)

    def lost_devices(self, node: str) -> int:
        """How many devices have vanished from a node."""
        for part in self.names("device-lost"):
            name, _, count = part.partition("=")
            if fnmatch.fnmatchcase(node, name):
                return int(count or "1")
        return 0


def current(store: Store) -> Faults:
    """The faults as the platform sees them."""
    document = store.get(CONFIGMAPS, NAME, NAMESPACE)
    return Faults((document or {}).get("data") or {})


def set_fault(api: Api, /, wait: bool = True, **values: str | float | list[Any]) -> None:
    """Set faults beside those that are set; `_` in a name stands for `-`. Numbers and lists become text.

    Raises UnknownFault before anything is written. Returns once every controller works by them (unless
    `wait` is false).
    """
    given = {key.replace("_", "-"): _text(value) for key, value in values.items()}
    check(given)
    _write(api, given)
    if wait:
        wait_seen(api)


def clear_faults(api: Api, *keys: str, wait: bool = True) -> None:
    """Lift the named faults, or all."""
    present = _data(api, NAME)
    gone = {key: None for key in (keys or present) if key in present}
    if gone:
        _write(api, gone)
    if wait:
        wait_seen(api)


def wait_seen(api: Api, timeout: float = 20.0) -> None:
    """Return once every controller has made a whole pass under the faults that are set now.

    Raises TimeoutError after `timeout` seconds: the platform does not run, or hangs.
    """
    end = time.monotonic() + timeout
    while True:
        wanted = digest(_data(api, NAME))
        if _data(api, SEEN).get("digest") == wanted:
            return
        if time.monotonic() > end:
            raise TimeoutError(
                f"the lab's platform has not taken in the faults after {timeout:.0f} s; see its log"
            )
        time.sleep(0.05)


def _text(value: str | float | list[Any]) -> str:
    return json.dumps(value) if isinstance(value, list) else str(value)


def _data(api: Api, name: str) -> dict[str, str]:
    return (api.get(CONFIGMAPS, name, NAMESPACE) or {}).get("data") or {}


def _write(api: Api, data: Mapping[str, str | None]) -> None:
    write_configmap(api, NAMESPACE, NAME, data)


def write_configmap(api: Api, namespace: str, name: str, data: Mapping[str, str | None]) -> None:
    """Merge keys into a ConfigMap, which is made when it is missing; None removes a key."""
    try:
        api.patch(CONFIGMAPS, name, {"data": dict(data)}, namespace)
    except ApiError as err:
        if err.status != 404:
            raise
        api.create(
            CONFIGMAPS,
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": namespace},
                "data": {key: value for key, value in data.items() if value is not None},
            },
        )
