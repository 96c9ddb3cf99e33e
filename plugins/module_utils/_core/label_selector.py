# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Label selectors: whether labels match, and which requirement does not."""

from __future__ import annotations

from collections.abc import Mapping

from .strict_model import Field, ObservedModel


class LabelRequirement(ObservedModel):
    key: str
    operator: str
    values: tuple[str, ...] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet it; an operator that is not known is met by nothing."""
        present = self.key in labels
        listed = present and labels[self.key] in (self.values or ())
        if self.operator == "In":
            return listed
        if self.operator == "NotIn":
            return not listed
        if self.operator == "Exists":
            return present
        if self.operator == "DoesNotExist":
            return not present
        return self._compares(labels.get(self.key, ""))

    def _compares(self, value: str) -> bool:
        """Gt and Lt, which node selector terms have besides; what is no number is met by nothing."""
        try:
            there, bound = int(value), int((self.values or ("",))[0])
        except ValueError:
            return False
        return (self.operator == "Gt" and there > bound) or (self.operator == "Lt" and there < bound)

    @property
    def text(self) -> str:
        """The requirement as one would type it: ``tier In [a, b]``."""
        if self.operator in ("Exists", "DoesNotExist"):
            return f"{self.key} {self.operator}"
        return f"{self.key} {self.operator} [{', '.join(self.values or ())}]"


class LabelSelector(ObservedModel):
    """A selector as Kubernetes has it: all of its parts must match. An empty one matches everything."""

    match_labels: dict[str, str] = Field(default={}, alias="matchLabels")
    match_expressions: tuple[LabelRequirement, ...] = Field(default=(), alias="matchExpressions")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet every requirement."""
        return not self.mismatches(labels)

    def mismatches(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Each requirement that labels do not meet, with what is there instead."""
        requirements = (
            *(
                LabelRequirement(key=key, operator="In", values=(value,))
                for key, value in self.match_labels.items()
            ),
            *self.match_expressions,
        )
        return tuple(
            f"{one.text}, but {_found(one.key, labels)}" for one in requirements if not one.matches(labels)
        )

    @property
    def empty(self) -> bool:
        """Whether it has no requirement, and so matches everything."""
        return not self.match_labels and not self.match_expressions

    @property
    def text(self) -> str:
        """The selector as one would type it; ``every object`` where it is empty."""
        parts = [f"{key}={value}" for key, value in self.match_labels.items()]
        parts += [requirement.text for requirement in self.match_expressions]
        return ", ".join(parts) or "every object"


def _found(key: str, labels: Mapping[str, str]) -> str:
    return f"{key} is {labels[key] or 'empty'}" if key in labels else f"there is no label {key}"
