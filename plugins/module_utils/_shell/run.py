# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a module's work under Ansible: arguments in, outcome or error out, identifiers masked."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from .._core.errors import DependencyMissing, GpuopsError, PartialChange, PolicyBlocked
from .._core.redaction import mask
from .argument_spec import ArgumentSpec
from .outcome import Outcome, plan_digest

LIBRARIES: dict[str, str] = {
    "pydantic": "pydantic",
    "yaml": "PyYAML",
    "jmespath": "jmespath",
    "kubernetes": "kubernetes",
}
"""Import name of each library that modules need, and the distribution that brings it."""


@dataclass(frozen=True)
class Invocation:
    """One call of a module.

    Attributes:
        params: the validated options.
        check_mode: whether nothing may be written.
        warn: shows the operator a sentence at once-per-result level.
    """

    params: Mapping[str, Any]
    check_mode: bool
    warn: Callable[[str], None]


Work = Callable[[Invocation], Outcome]


def run_module(spec: ArgumentSpec, work: Work, libraries: tuple[str, ...] = tuple(LIBRARIES)) -> None:
    """Run a module's work and leave through exit_json or fail_json, never otherwise."""
    module = AnsibleModule(**spec.arguments(), supports_check_mode=True)
    try:
        _require(libraries)
        outcome = work(Invocation(module.params, module.check_mode, module.warn))
    except DependencyMissing as error:
        module.fail_json(
            msg=missing_required_lib(error.library), exception=error.traceback, **_described(error)
        )
    except GpuopsError as error:
        module.fail_json(**_masked(module, failure(error)))
    else:
        for warning in outcome.warnings:
            module.warn(mask(warning)[0])
        module.exit_json(**_masked(module, success(outcome)))


def _require(libraries: tuple[str, ...]) -> None:
    for name in libraries:
        if importlib.util.find_spec(name) is None:
            raise DependencyMissing(
                LIBRARIES[name], f"no module named {name!r} on the Python path of this module"
            )


def success(outcome: Outcome) -> dict[str, Any]:
    """The result keys of work that was done."""
    result: dict[str, Any] = {
        "changed": outcome.changed,
        "msg": outcome.msg,
        "checks": [check.result() for check in outcome.checks],
        **outcome.result,
    }
    if outcome.plan is not None:
        result["plan"] = list(outcome.plan)
        result["plan_digest"] = plan_digest(outcome.plan)
    if outcome.diffs:
        result["diff"] = [diff.result() for diff in outcome.diffs]
    return result


def _described(error: GpuopsError) -> dict[str, Any]:
    return {
        "changed": error.changed,
        "error": {
            "class": type(error).__name__,
            "code": error.code,
            "message": error.message,
            "next_action": error.next_action,
            "details": error.details,
        },
    }


def failure(error: GpuopsError) -> dict[str, Any]:
    """The result keys of an error: cause and facts first, then the next step."""
    result = _described(error)
    result["checks"] = []
    result["msg"] = f"{error.message} [{error.code}] Next: {error.next_action}"
    if isinstance(error, PartialChange):
        result["done"], result["remaining"] = list(error.done), list(error.remaining)
    if isinstance(error, (PartialChange, PolicyBlocked)):
        result.update(error.report)
        result["changed"] = error.changed
    return result


def _masked(module: AnsibleModule, result: dict[str, Any]) -> dict[str, Any]:
    clean, hits = mask(result)
    if hits:
        kinds = ", ".join(sorted({hit.kind for hit in hits}))
        module.warn(f"the result held identifiers that may not leave restricted evidence; masked: {kinds}")
    masked: dict[str, Any] = clean
    return masked


__all__ = ["LIBRARIES", "Invocation", "Work", "failure", "run_module", "success"]
