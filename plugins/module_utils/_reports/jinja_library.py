# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate to Jinja2: without it every file still imports, and any use raises ``DependencyMissing``."""

from __future__ import annotations

import traceback
from typing import Any

from .._core.errors import DependencyMissing

JINJA_IMPORT_ERROR: str | None = None
_library: Any = None

try:
    import jinja2 as _library
except ImportError:
    JINJA_IMPORT_ERROR = traceback.format_exc()


def environment() -> Any:
    """An environment that escapes everything and fails on a name that is not there.

    Raises:
        DependencyMissing: Jinja2 is not installed.
    """
    if _library is None:
        raise DependencyMissing("Jinja2", JINJA_IMPORT_ERROR or "")
    return _library.Environment(
        autoescape=True, undefined=_library.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
