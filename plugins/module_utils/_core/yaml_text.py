# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plain values as YAML text: key for key in the order given, the same bytes for the same value."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

from .strict_yaml import plain_value
from .yaml_library import library, safe_dumper

_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@+-]*(?: [A-Za-z0-9._/@+-]+)*")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_NO_FOLDING: Final = 10**9


def to_yaml(value: Mapping[str, Any]) -> str:
    """A document in block style, ending with a line's end.

    Text that any loader could read as something else (times, digits, yes, nothing) stands in double quotes.

    Raises:
        DependencyMissing: PyYAML is not installed.
    """
    text: str = library().dump(
        value,
        Dumper=_dumper(),
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=_NO_FOLDING,
    )
    return text


@functools.cache
def _dumper() -> Any:
    dumper: Any = type("PlainDumper", (safe_dumper(),), {"ignore_aliases": lambda _self, _data: True})
    dumper.add_representer(str, _text)
    return dumper


def _text(dumper: Any, value: str) -> Any:
    plain = _PLAIN.fullmatch(value) and not _DATE.match(value) and plain_value(value) is value
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')
