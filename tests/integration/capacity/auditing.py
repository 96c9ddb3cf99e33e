# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules on the lab in this process: as Ansible runs them, without its seconds of start-up."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
from dataclasses import dataclass
from typing import Any
from unittest import mock

from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import CapacityLab
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    Ran,
    handed_over,
)

MODULES = "ansible_collections.gpuops.reservations.plugins.modules"


@dataclass(frozen=True)
class LiveModules:
    """The modules, with the lab's defaults."""

    lab: CapacityLab
    identity: str = "gpuops"

    def run(self, module: str, *, check: bool = False, **arguments: Any) -> Ran:
        wired = importlib.import_module(f"{MODULES}.{module}")
        usual = {
            "kubeconfig": str(self.lab.lab.kubeconfig(self.identity)),
            "health_interval": 0.2,
            "poll_interval": 0.2,
            "wait_timeout": 120,
        }
        given = {name: value for name, value in usual.items() if name in wired.SPEC.options}
        output = io.StringIO()
        options = {"_ansible_check_mode": check, "_ansible_diff": True, **given, **arguments}
        with (
            mock.patch.dict(os.environ, self.lab.environment(), clear=True),
            handed_over(options),
            contextlib.redirect_stdout(output),
        ):
            try:
                wired.main()
            except SystemExit as left:
                result = json.loads(output.getvalue())
                return Ran(bool(left.code) or bool(result.get("failed")), result)
        raise AssertionError(f"{module} ended without leaving through Ansible: {output.getvalue()}")

    def audit(self, **arguments: Any) -> dict[str, Any]:
        """An audit's result, failing or not; one that could not observe fails the test."""
        ran = self.run("gpu_audit", fail_on_error=False, **arguments)
        assert not ran.failed, ran.msg
        return ran.result


def found(result: dict[str, Any], severity: str = "error") -> set[tuple[str, str]]:
    """Ids and objects of an audit's findings of one severity."""
    return {(item["id"], item["object"]) for item in result["findings"] if item["severity"] == severity}
