# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a module's work answers: the result before it is masked and handed to Ansible."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._core.checks import Check


@dataclass(frozen=True)
class Diff:
    """One document before and after, for ``--diff``."""

    header: str
    before: str
    after: str

    def result(self) -> dict[str, str]:
        """The entry of the result's ``diff`` list."""
        return {
            "before_header": self.header,
            "after_header": self.header,
            "before": self.before,
            "after": self.after,
        }


@dataclass(frozen=True)
class Outcome:
    """The result of a module that did its work.

    Attributes:
        changed: whether something was written, or would be in check mode.
        msg: one sentence for a person.
        checks: every answer the outcome rests on.
        plan: the ordered changes, one sentence each; None where the module plans nothing.
        result: the module's own result keys.
        diffs: documents before and after.
        warnings: sentences for the operator that stop nothing.
    """

    changed: bool
    msg: str
    checks: tuple[Check, ...] = ()
    plan: tuple[str, ...] | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    diffs: tuple[Diff, ...] = ()
    warnings: tuple[str, ...] = ()


def plan_digest(plan: tuple[str, ...]) -> str:
    """SHA-256 over the plan's canonical JSON: the same plan has the same digest."""
    canonical = json.dumps(plan, ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode("ascii")).hexdigest()
