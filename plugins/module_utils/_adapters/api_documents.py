# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documents that the API server answers, validated from their bytes."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast

from .._core.errors import ObservationError
from .._core.strict_model import Field, ObservedModel, TypeAdapter, ValidationError

Model = TypeVar("Model")


class Version(ObservedModel):
    """What /version answers."""

    git_version: str = Field(alias="gitVersion")


class Group(ObservedModel):
    """One API group of /apis."""

    name: str


class Groups(ObservedModel):
    """What /apis answers."""

    groups: tuple[Group, ...]


class _ReviewStatus(ObservedModel):
    allowed: bool


class Review(ObservedModel):
    """An answered access review."""

    status: _ReviewStatus


def from_bytes(path: str, model: type[Model], body: bytes) -> Model:
    """The document.

    Raises:
        ObservationError: body-unreadable; cut off, or not of this shape.
    """
    try:
        value: Model = _adapter(cast("Any", model)).validate_json(body)
    except ValidationError as error:
        raise body_unreadable(path, error) from error
    return value


def body_unreadable(path: str, error: ValidationError) -> ObservationError:
    """The error for a body that is cut off, or is not what this path answers; it quotes no value."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the document"
    return ObservationError(
        "body-unreadable",
        f"the answer for {path} is cut off or is not as expected: {where}: {first['msg']}",
        next_action="check that host or kubeconfig names an API server, then run again",
        details={"path": path, "field": where},
    )


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)
