# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One document of ours from one file: text, identifiers, fields and rules, with every problem that it has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from . import redaction
from .errors import ObservationError
from .fleet_files import FleetFile
from .strict_model import StrictModel, ValidationError
from .strict_yaml import AmbiguousScalar, YamlDocument, YamlError, decode, line_and_column, load

API_VERSION: Final = "operations.kube-dc.com/v1alpha1"
ApiVersion = Literal["operations.kube-dc.com/v1alpha1"]

INVALID: Final = "ledger-invalid"
DUPLICATE: Final = "duplicate-reservation-id"

Model = TypeVar("Model", bound=StrictModel)


@dataclass(frozen=True)
class Problem:
    """What is wrong with a file of the fleet repository; identifiers are masked.

    Attributes:
        file: path in the repository.
        message: cause, and what to do.
        field: dotted path of the field; empty for a fault of the text or of the file itself.
        line: from 1; 0 where there is no place.
        column: from 1; 0 where there is no place.
        id: the audit's finding id.
    """

    file: str
    message: str
    field: str = ""
    line: int = 0
    column: int = 0
    id: str = INVALID

    def __str__(self) -> str:
        place = f":{self.line}:{self.column}" if self.line else ""
        return f"{self.file}{place}: {self.field + ': ' if self.field else ''}{self.message}"

    def result(self) -> dict[str, Any]:
        """The problem as a JSON value."""
        return {
            "file": self.file,
            "field": self.field,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "id": self.id,
        }


def problem(
    file: str,
    message: str,
    *,
    field: str = "",
    place: tuple[int, int] = (0, 0),
    id: str = INVALID,  # noqa: A002
) -> Problem:
    """A problem with every identifier in its texts masked."""
    mask = redaction.mask_text
    return Problem(mask(file), mask(message), mask(field), place[0], place[1], id)


@dataclass(frozen=True)
class Reading(Generic[Model]):
    """A document, or the problems that forbid one."""

    document: Model | None
    problems: tuple[Problem, ...] = ()


def read(model: type[Model], file: FleetFile) -> Reading[Model]:
    """A document from a file of the fleet repository.

    The raw text is scanned for identifiers, comments among it: what must not be put into a document
    makes it invalid on reading too.
    """
    if file.mode not in ("100644", "100755"):
        return Reading(None, (problem(file.path, "a symbolic link or submodule: put the file itself there"),))
    try:
        text = decode(file.content) if file.text is None else file.text.removeprefix("\ufeff")
        found = [_identifier(file.path, text, hit) for hit in redaction.find(text)]
        loaded = load(text)
    except YamlError as error:
        return Reading(
            None,
            tuple(
                problem(file.path, fault.message, place=(fault.line, fault.column)) for fault in error.faults
            ),
        )
    try:
        document = model.model_validate(loaded.value)
    except ValidationError as error:
        found.extend(_field_problems(file.path, loaded, error))
        return Reading(None, tuple(found))
    return Reading(None if found else document, tuple(found))


def require(model: type[Model], file: FleetFile) -> Model:
    """A document that has to be valid.

    Raises:
        ObservationError: code ``ledger-invalid``, with every problem in its details.
    """
    reading = read(model, file)
    if reading.document is None:
        raise invalid(reading.problems)
    return reading.document


def invalid(problems: Sequence[Problem]) -> ObservationError:
    """The error that stops everything which reads an invalid ledger; names each file and field.

    Its code is ``duplicate-reservation-id`` where duplicate ids are all that is wrong.
    """
    only_duplicates = all(one.id == DUPLICATE for one in problems)
    lines = "; ".join(str(one) for one in problems)
    return ObservationError(
        DUPLICATE if only_duplicates else INVALID,
        f"the capacity ledger is invalid: {lines}",
        next_action="correct the named files in the fleet repository by a reviewed change, then run again",
        details={"problems": [one.result() for one in problems]},
    )


def model_problems(error: ValidationError) -> Iterable[tuple[str, str, tuple[str | int, ...]]]:
    """Each problem of a value that is no document: dotted field, message, and the path itself."""
    for fault in error.errors(include_url=False):
        path = tuple(part for part in fault["loc"] if part != "[key]")
        yield ".".join(str(part) for part in path), _message(fault), path


def _identifier(path: str, text: str, hit: redaction.Hit) -> Problem:
    kind = redaction.KINDS[hit.kind]
    message = f"holds {kind}, which belongs in restricted evidence only: remove it, in comments too"
    return problem(path, message, place=line_and_column(text, hit.start))


def _field_problems(path: str, loaded: YamlDocument, error: ValidationError) -> Iterable[Problem]:
    if loaded.root is None:
        yield problem(path, "the document is empty", place=(1, 1))
        return
    for field, message, loc in model_problems(error):
        yield problem(path, message, field=field, place=loaded.position(loc))


def _message(fault: Any) -> str:
    own = fault.get("ctx", {}).get("error")
    if isinstance(own, ValueError):
        return str(own)
    kind: str = fault["type"]
    given = fault["input"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is an unknown key: remove it"
    if kind == "literal_error":
        shown = given.source if isinstance(given, AmbiguousScalar) else given
        return f"must be {fault['ctx']['expected']}, not {str(shown)[:60]!r}"
    return _TYPE_MESSAGES.get(kind) or str(fault["msg"])


_TYPE_MESSAGES: Final = {
    "model_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
    "dict_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "string_type": "must be text: put the value in quotes",
}
