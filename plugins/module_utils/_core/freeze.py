# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A freeze of a pool's sales, and its end: thawed by two people, on a reference."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from .approval import two_approvers
from .document import model_problems
from .errors import InputError
from .fields import Text, Time, nothing_or
from .names import FREEZES, LEDGER_ROOT, require_cluster
from .redaction import refuse_value
from .ruled_model import Rule, RuledModel
from .strict_model import BeforeValidator, ValidationError
from .times import moment
from .yaml_text import to_yaml


class Thaw(RuledModel):
    RULES: ClassVar[tuple[Rule, ...]] = (Rule(("product", "sre"), two_approvers),)

    product: Text
    sre: Text
    reference: Text
    at: Time


def _thaw_after_freeze(at: str, since: str) -> str:
    return f"is before since ({since})" if moment(at) < moment(since) else ""


class Freeze(RuledModel):
    """A pool's sales are frozen while ``thawed`` is null; afterwards the document stays as history.

    Attributes:
        since: when the freeze began.
        audit: the audit that set it off.
        findings: the finding ids.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (Rule(("thawed.at", "since"), _thaw_after_freeze),)

    since: Time
    audit: Text
    findings: tuple[Text, ...]
    thawed: Annotated[Thaw | None, BeforeValidator(nothing_or)] = None

    @property
    def frozen(self) -> bool:
        """Whether it still stands."""
        return self.thawed is None

    def value(self) -> dict[str, Any]:
        """The document as a JSON value."""
        return self.model_dump(mode="json", by_alias=True)

    def to_yaml(self) -> str:
        """The document's text, as it is written to the fleet repository."""
        return to_yaml(self.value())


def freeze_path(cluster: str, profile: str) -> str:
    """Where a pool's freeze lies in the fleet repository.

    Raises:
        InputError: not a cluster's name.
    """
    return f"{LEDGER_ROOT}/{require_cluster(cluster)}/{FREEZES}/{profile}.yaml"


def thawed(freeze: Freeze, *, product: str, sre: str, reference: str, at: str) -> Freeze:
    """The freeze, ended by two people.

    Args:
        freeze: as it stands.
        product: the Product approver.
        sre: the SRE approver, another person.
        reference: what the decision rests on.
        at: the API server's time, RFC 3339.

    Raises:
        InputError: ``thaw-invalid``: one person twice, something empty, or a time before the freeze;
            ``identifier-in-document``.
    """
    thaw = {"product": product, "sre": sre, "reference": reference, "at": at}
    refuse_value(thaw, "thawed")
    value = freeze.value()
    try:
        return Freeze.model_validate({**value, "findings": tuple(value["findings"]), "thawed": thaw})
    except ValidationError as error:
        problems = [f"{field}: {message}" for field, message, _path in model_problems(error)]
        raise InputError(
            "thaw-invalid",
            f"the freeze cannot be ended: {'; '.join(problems)}",
            next_action="name two different approvers and a reference",
            details={"problems": problems},
        ) from error
