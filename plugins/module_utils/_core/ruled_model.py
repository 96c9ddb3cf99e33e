# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules between the fields of a document, checked with the fields: every problem is reported at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from .identity import is_blank
from .strict_model import BaseModel, StrictModel, ValidationError, model_validator

Path = tuple[str | int, ...]


class _Missing:
    """The value of a field that is not there: None is a value."""


MISSING: Final = _Missing()


@dataclass(frozen=True)
class Rule:
    """One rule: the fields that it needs, dotted, and what it says of their values.

    Attributes:
        fields: dotted paths; the first is the one at fault.
        check: called with one value a field (empty text for null and only spaces); says what is wrong
            and what to do, or answers the empty text.
    """

    fields: tuple[str, ...]
    check: Callable[..., str]


class RuledModel(StrictModel):
    """A strict document with rules between its fields.

    A rule is left out only where one of its own fields is missing or at fault, so that a single reading
    names everything that is wrong.
    """

    RULES: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _fields_and_rules(cls, data: Any, handler: Callable[[Any], Any]) -> Any:
        if not cls.RULES:
            return handler(data)
        try:
            model = handler(data)
        except ValidationError as error:
            faults = error.errors(include_url=False)
            given = {**_defaults(cls), **data} if isinstance(data, Mapping) else data
            broken = _broken(cls.RULES, given, tuple(fault["loc"] for fault in faults))
            if not broken:
                raise
            raise _failure(cls.__name__, [*faults, *broken]) from error
        broken = _broken(cls.RULES, model, ())
        if broken:
            raise _failure(cls.__name__, broken)
        return model


def _failure(title: str, faults: list[Any]) -> ValidationError:
    return ValidationError.from_exception_data(
        title,
        [{key: fault[key] for key in ("type", "loc", "input", "ctx") if key in fault} for fault in faults],  # type: ignore[misc]
    )


def _broken(rules: tuple[Rule, ...], data: Any, faulty: tuple[Path, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for rule in rules:
        paths = [_path(field) for field in rule.fields]
        values = [_at(data, path) for path in paths]
        if MISSING in values or any(_touches(path, fault) for path in paths for fault in faulty):
            continue
        message = rule.check(*values)
        if message:
            error = {"error": ValueError(message)}
            found.append({"type": "value_error", "loc": paths[0], "input": values[0], "ctx": error})
    return found


@functools.cache
def _path(field: str) -> tuple[str, ...]:
    return tuple(field.split("."))


def _touches(path: Path, fault: Path) -> bool:
    shared = min(len(path), len(fault))
    return path[:shared] == fault[:shared]


def _at(data: Any, path: tuple[str, ...]) -> Any:
    value = data
    for part in path:
        if isinstance(value, BaseModel):
            value = _attribute(value, part)
        elif isinstance(value, Mapping):
            value = value.get(part, MISSING)
        else:
            return MISSING
    if value is None:
        return ""
    # A model's own texts were judged already; only raw ones may be blank.
    raw = isinstance(value, str) and not isinstance(data, BaseModel)
    return "" if raw and is_blank(value) else value


def _attribute(model: BaseModel, alias: str) -> Any:
    name = _names(type(model)).get(alias)
    return getattr(model, name) if name else MISSING


@functools.cache
def _names(model: type[BaseModel]) -> dict[str, str]:
    return {field.alias or name: name for name, field in model.model_fields.items()}


@functools.cache
def _defaults(model: type[BaseModel]) -> dict[str, Any]:
    return {
        field.alias or name: field.get_default(call_default_factory=False)
        for name, field in model.model_fields.items()
        if not field.is_required() and field.default_factory is None
    }
