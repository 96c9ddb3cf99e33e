# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate to PyYAML: without it every file still imports, and any use raises ``DependencyMissing``."""

from __future__ import annotations

import traceback
from typing import Any

from .errors import DependencyMissing

YAML_IMPORT_ERROR: str | None = None
_library: Any = None

try:
    import yaml as _library
except ImportError:
    YAML_IMPORT_ERROR = traceback.format_exc()


def library() -> Any:
    """PyYAML.

    Raises:
        DependencyMissing: it is not installed.
    """
    if _library is None:
        raise DependencyMissing("PyYAML", YAML_IMPORT_ERROR or "")
    return _library


def safe_loader() -> Any:
    """The safe loader's class, on libyaml where that is there.

    Raises:
        DependencyMissing: PyYAML is not installed.
    """
    return getattr(library(), "CSafeLoader", library().SafeLoader)


def safe_dumper() -> Any:
    """The safe dumper's class, on libyaml where that is there.

    Raises:
        DependencyMissing: PyYAML is not installed.
    """
    return getattr(library(), "CSafeDumper", library().SafeDumper)
