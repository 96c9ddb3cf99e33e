# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""JMESPath for the policy's choice of alerts."""

from __future__ import annotations

from typing import Any

from .._core.errors import DependencyMissing, ObservationError

try:
    import jmespath
except ImportError as error:
    JMESPATH_IMPORT_ERROR: str | None = str(error)
else:
    JMESPATH_IMPORT_ERROR = None


def select(expression: str, entries: list[dict[str, Any]]) -> Any:
    """What an expression chooses from a list.

    Raises:
        ObservationError: ``policy-expression-invalid``: it is no JMESPath expression.
        DependencyMissing: jmespath is not installed.
    """
    if JMESPATH_IMPORT_ERROR is not None:
        raise DependencyMissing("jmespath", JMESPATH_IMPORT_ERROR)
    try:
        return jmespath.search(expression, entries)
    except jmespath.exceptions.JMESPathError as error:
        raise ObservationError(
            "policy-expression-invalid",
            f"policy.yaml: spec.alerts.select: {expression!r} cannot be evaluated: {error}",
            next_action="correct the expression by a reviewed change, then run again",
        ) from error
