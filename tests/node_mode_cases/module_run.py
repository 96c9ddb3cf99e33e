# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module as Ansible does, through its main(), in this process and on a clock of the case's own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import api_transport
from ansible_collections.gpuops.reservations.plugins.modules import gpu_node_mode
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import (
    NotUnderstood,
    Section,
    boolean,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_world import CaseWorld

SHORT_SECONDS = 90.0
_ENVIRONMENT_WORDS = "no KUBECONFIG, no K8S_AUTH_*; a default kubeconfig file exists"


@dataclass
class Outcome:
    """What the module answered, and what it waited for."""

    failed: bool
    result: dict[str, Any]
    pauses: list[float] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def msg(self) -> str:
        """The message."""
        return str(self.result.get("msg", ""))


class CaseClock:
    """Time passes only where the module pauses; during a wait the world goes on meanwhile."""

    def __init__(self, world: CaseWorld) -> None:
        self._world = world
        self._now = 1000.0
        self.waits: list[float] = []

    def now(self) -> float:
        """Seconds."""
        return self._now

    def pause(self, seconds: float) -> None:
        """Lets time pass at once."""
        self._now += seconds
        # The transport pauses too, between repeated reads; only a pause of the wait itself is a look later.
        if sys._getframe(1).f_code.co_name == "arrive":
            self.waits.append(seconds)
            self._world.record.events.append("pause")
            self._world.at("during_wait")


def run(world: CaseWorld, when: Mapping[str, Any], *, defaults: bool = False) -> Outcome:
    """Run the module once. ``defaults`` leaves its timeout and poll as they are by default."""
    section = Section("when", dict(when))
    arguments: dict[str, Any] = {
        "node": section.take("node", default=world.node.name),
        "from_mode": section.take("from"),
        "to_mode": section.take("to"),
        "resume_cordoned": boolean(section.take("resume_cordoned", default=False), "when"),
        "cluster": section.take("cluster", default=world.cluster),
        "fleet_repo": world.fleet_repo,
        "_ansible_check_mode": boolean(section.take("check", "check_mode", default=False), "when"),
        "_ansible_diff": boolean(section.take("diff", default=False), "when"),
    }
    timeout = section.take("timeout", default="short")
    poll = section.take("poll")
    if not defaults:
        arguments["timeout"] = SHORT_SECONDS if timeout == "short" else _seconds(timeout, "when.timeout")
        if poll is not None:
            arguments["poll"] = _seconds(poll, "when.poll")
    variables: dict[str, str] = {}
    if section.has("kubeconfig"):
        if section.take("kubeconfig") is not None:
            raise NotUnderstood("when.kubeconfig: only null is known, which leaves it out")
    else:
        arguments["kubeconfig"] = str(_kubeconfig(world))
    words = section.take("environment")
    if words is not None:
        if words != _ENVIRONMENT_WORDS:
            raise NotUnderstood(f"when.environment: only {_ENVIRONMENT_WORDS!r} is known")
        home = world.folder / "home"
        (home / ".kube").mkdir(parents=True)
        (home / ".kube" / "config").write_bytes(_kubeconfig(world).read_bytes())
        variables["HOME"] = str(home)
    section.take("note")
    section.done()
    return _main(world, {key: value for key, value in arguments.items() if value is not None}, variables)


def _seconds(value: Any, where: str) -> float:
    """A length of time: seconds, or a number with s or m. Raises NotUnderstood."""
    found = re.fullmatch(r"([0-9.]+) ?(s|m|min)?", str(value))
    if found is None:
        raise NotUnderstood(f"{where}: seconds, 10s or 15m, not {value!r}")
    return float(found[1]) * (1 if found[2] in (None, "s") else 60)


def _kubeconfig(world: CaseWorld) -> Any:
    path = world.folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cases", "cluster": {"server": world.servers.proxy.url}}],
        "users": [{"name": "cases", "user": {}}],
        "contexts": [{"name": "cases", "context": {"cluster": "cases", "user": "cases"}}],
        "current-context": "cases",
    }
    path.write_text(yaml.safe_dump(content))
    return path


def _main(world: CaseWorld, arguments: dict[str, Any], variables: dict[str, str]) -> Outcome:
    output = io.StringIO()
    clock = CaseClock(world)
    variables = {"XDG_CACHE_HOME": str(world.folder / "cache"), **world.environment(), **variables}
    code: int | str | None = None
    with (
        _environment(variables),
        _clock(clock),
        patch_module_args(arguments),
        contextlib.redirect_stdout(output),
    ):
        try:
            gpu_node_mode.main()
        except SystemExit as left:
            code = left.code
    assert code is not None, f"the module ended without leaving through Ansible: {output.getvalue()}"
    result: dict[str, Any] = json.loads(output.getvalue())
    return Outcome(bool(code) or bool(result.get("failed")), result, clock.waits, arguments)


@contextlib.contextmanager
def _clock(clock: CaseClock) -> Iterator[None]:
    before = api_transport.SystemClock
    api_transport.SystemClock = lambda: clock  # type: ignore[assignment,misc,return-value]
    try:
        yield
    finally:
        api_transport.SystemClock = before  # type: ignore[misc]


@contextlib.contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    for name in list(os.environ):
        if name == "KUBECONFIG" or name.startswith(("K8S_AUTH_", "GPUOPS_", "GIT_")):
            del os.environ[name]
    os.environ.update(added)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
