# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate to pydantic: the only place that imports it.

Where pydantic is absent the names below are stand-ins. They let classes be defined, so that every
file imports, and raise :class:`DependencyMissing` on any use: a stand-in that accepted anything
would wave unchecked documents through.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from .errors import DependencyMissing

PYDANTIC_IMPORT_ERROR: str | None = None

if TYPE_CHECKING:
    from pydantic import (
        BaseModel,
        BeforeValidator,
        ConfigDict,
        Field,
        TypeAdapter,
        ValidationError,
        field_validator,
        model_validator,
    )
else:
    try:
        from pydantic import (
            BaseModel,
            BeforeValidator,
            ConfigDict,
            Field,
            TypeAdapter,
            ValidationError,
            field_validator,
            model_validator,
        )
    except ImportError:
        PYDANTIC_IMPORT_ERROR = traceback.format_exc()

        def _refuse(*_args: Any, **_kwargs: Any) -> Any:
            raise DependencyMissing("pydantic", PYDANTIC_IMPORT_ERROR or "")

        class _RefusingType(type):
            def __getattr__(cls, name: str) -> Any:
                if name.startswith("model_"):
                    return _refuse
                raise AttributeError(name)

        class BaseModel(metaclass=_RefusingType):
            def __init__(self, **kwargs: Any) -> None:
                """A default of a field is made when a file is imported: without data, and then unreadable."""
                if kwargs:
                    _refuse()

            def __getattr__(self, _name: str) -> Any:
                return _refuse()

        class TypeAdapter:
            def __init__(self, *_args: Any, **_kwargs: Any) -> None:
                """Adapters are made when a file is imported, so making one has to pass."""

            def __class_getitem__(cls, _item: Any) -> Any:
                return cls

            def __getattr__(self, _name: str) -> Any:
                return _refuse

        class ValidationError(ValueError):
            pass

        def BeforeValidator(function: Any) -> Any:
            return function

        def ConfigDict(**settings: Any) -> dict[str, Any]:
            return settings

        def Field(*_args: Any, **_kwargs: Any) -> Any:
            return None

        def field_validator(*_fields: str, **_kwargs: Any) -> Any:
            return lambda function: function

        def model_validator(**_kwargs: Any) -> Any:
            return lambda function: function


class StrictModel(BaseModel):
    """A document of ours: frozen, strictly typed, unknown keys refused."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class ObservedModel(BaseModel):
    """The fields that we use of somebody else's object: frozen, unknown keys ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


__all__ = [
    "PYDANTIC_IMPORT_ERROR",
    "BaseModel",
    "BeforeValidator",
    "ConfigDict",
    "Field",
    "ObservedModel",
    "StrictModel",
    "TypeAdapter",
    "ValidationError",
    "field_validator",
    "model_validator",
]
