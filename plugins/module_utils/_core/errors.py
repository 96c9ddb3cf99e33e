# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one error hierarchy. Each error says what happened, with which facts, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class GpuopsError(Exception):
    """Base of every error that a module reports.

    Args:
        code: stable, documented identifier, lower case with hyphens (``lock-held``).
        message: the cause, with the facts, naming file, field or object.
        next_action: the exact next step for the operator.
        details: JSON-able facts for machines.
    """

    changed = False
    """Whether something had been written when the error was raised."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        next_action: str,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_action = next_action
        self.details: dict[str, Any] = dict(details or {})


class InputError(GpuopsError):
    """The request is wrong; nothing was read or changed."""


class ObservationError(GpuopsError):
    """Something could not be read, is stale, or is ambiguous; nothing was changed."""


class PolicyBlocked(GpuopsError):
    """All was read, and the answer is no; nothing was changed.

    Args:
        report: the whole report that the answer rests on, JSON-able: result keys that the module
            returns beside the failure (``checks``, ``equation`` and so on).
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        next_action: str,
        details: Mapping[str, Any] | None = None,
        report: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(code, message, next_action=next_action, details=details)
        self.report: dict[str, Any] = dict(report or {})


class ConflictError(GpuopsError):
    """Somebody else changed it meanwhile; after bounded retries nothing was changed."""


class PartialChange(GpuopsError):
    """Some of the change was made; says what was, what remains, and how to go on.

    Args:
        done: what has been written, in order.
        remaining: what has not.
        report: result keys that the module returns beside the failure.
    """

    changed = True

    def __init__(
        self,
        code: str,
        message: str,
        *,
        next_action: str,
        done: tuple[str, ...] = (),
        remaining: tuple[str, ...] = (),
        details: Mapping[str, Any] | None = None,
        report: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(code, message, next_action=next_action, details=details)
        self.done = done
        self.remaining = remaining
        self.report: dict[str, Any] = dict(report or {})


class DependencyMissing(GpuopsError):
    """A Python library is not installed where the module runs.

    Args:
        library: the distribution's name.
        traceback: text of the import's failure.
    """

    def __init__(self, library: str, traceback: str) -> None:
        super().__init__(
            "dependency-missing",
            f"the Python library {library} is not installed",
            next_action=f"install {library} for the Python that runs the module",
            details={"library": library},
        )
        self.library = library
        self.traceback = traceback
