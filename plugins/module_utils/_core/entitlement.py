# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an organization's annotations and the catalogue grant it of one profile ("Claims")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .addon_entries import AnnotationError, quantities
from .catalogue import PLANS_OBJECT, AddOn, Catalogue
from .cluster_objects import Organization

PLAN_ANNOTATION: Final = "billing.kube-dc.com/plan-id"
SUBSCRIPTION_ANNOTATION: Final = "billing.kube-dc.com/subscription"
ADD_ONS_ANNOTATION: Final = "billing.kube-dc.com/addons"
ANNOTATION: Final = "annotation"
CATALOGUE: Final = "catalogue"

_GOOD_STANDING: Final = frozenset({"", "active", "trialing", "canceling", "past_due"})
_SUSPENDED: Final = frozenset({"suspended", "canceled"})


@dataclass(frozen=True)
class EntitlementProblem:
    """Why part of an entitlement cannot be told.

    Attributes:
        message: the fact, naming object and field.
        odd: annotation or catalogue.
    """

    message: str
    odd: str


@dataclass(frozen=True)
class Entitlement:
    """Devices of one profile that an organization is granted; None where a part cannot be told.

    Attributes:
        plan: by its plan.
        ordinary_add_ons: by ordinary add-ons, by add-on id.
        granted: by reservation add-ons, by add-on id, counted whether or not one is disabled.
        quantities: of every add-on in the annotation, by id.
        withdrawn: of granted, what disabled add-ons no longer grant.
        subscription: the annotation's text.
        unknown_add_ons: ids with a quantity that the catalogue lacks.
        problems: what cannot be told, and why.
    """

    plan: int | None = 0
    ordinary_add_ons: Mapping[str, int | None] = field(default_factory=dict)
    granted: Mapping[str, int | None] = field(default_factory=dict)
    quantities: Mapping[str, int] = field(default_factory=dict)
    withdrawn: int = 0
    subscription: str = ""
    unknown_add_ons: tuple[str, ...] = ()
    problems: tuple[EntitlementProblem, ...] = ()

    @property
    def suspended(self) -> bool:
        """Whether the platform may grant less than plan and add-ons say."""
        return self.subscription in _SUSPENDED

    @property
    def ordinary(self) -> int | None:
        """Plan and ordinary add-ons, as if the subscription were in good standing."""
        return total((self.plan, *self.ordinary_add_ons.values()))

    @property
    def granted_total(self) -> int | None:
        """All reservation add-ons."""
        return total(self.granted.values())


def total(counts: Iterable[int | None]) -> int | None:
    """The sum, which is unknown as soon as one part is."""
    found = 0
    for count in counts:
        if count is None:
            return None
        found += count
    return found


def _plan(annotations: Mapping[str, str], profile_id: str, catalogue: Catalogue) -> tuple[int | None, str]:
    plan_id = annotations.get(PLAN_ANNOTATION, "")
    if not plan_id:
        return 0, ""
    if catalogue.plans_problem:
        return None, ""
    grant = catalogue.plans.get(plan_id)
    if grant is None:
        return None, f"plan {plan_id} is not in {PLANS_OBJECT}"
    if grant.problem:
        return None, f"plan {plan_id} in {PLANS_OBJECT} cannot be read: {grant.problem}"
    return grant.devices.get(profile_id, 0), ""


def _units(add_on: AddOn | None, profile_id: str) -> int | None:
    """Devices of one unit; None where the catalogue lacks the add-on or its entry cannot be read."""
    if add_on is None or add_on.grant.problem:
        return None
    return add_on.grant.devices.get(profile_id, 0)


def _add_ons(
    listed: Mapping[str, int], profile_id: str, catalogue: Catalogue, reservation: frozenset[str]
) -> Entitlement:
    ordinary: dict[str, int | None] = {}
    granted: dict[str, int | None] = {}
    problems, unknown, withdrawn = [], [], 0
    for name, count in listed.items():
        if not count:
            continue
        add_on = None if catalogue.plans_problem else catalogue.add_ons.get(name)
        unit = _units(add_on, profile_id)
        devices = None if unit is None else unit * count
        if add_on is None and not catalogue.plans_problem:
            unknown.append(name)
        elif add_on is not None and add_on.grant.problem:
            message = f"add-on {name} in {PLANS_OBJECT} cannot be read: {add_on.grant.problem}"
            problems.append(EntitlementProblem(message, CATALOGUE))
        disabled = add_on is not None and add_on.disabled
        if name in reservation:
            granted[name] = devices
            withdrawn += (devices or 0) if disabled else 0
        else:
            ordinary[name] = 0 if disabled and devices is not None else devices
    return Entitlement(
        ordinary_add_ons=ordinary,
        granted=granted,
        quantities=listed,
        withdrawn=withdrawn,
        unknown_add_ons=tuple(unknown),
        problems=tuple(problems),
    )


def entitlement_of(
    organization: Organization, profile_id: str, catalogue: Catalogue, reservation_add_ons: frozenset[str]
) -> Entitlement:
    """What the organization is granted of the profile.

    Args:
        organization: the object with its annotations.
        profile_id: the pool's profile.
        catalogue: both of the platform's documents.
        reservation_add_ons: the add-ons that the policy names for the pool.
    """
    annotations = organization.metadata.annotations
    subscription = annotations.get(SUBSCRIPTION_ANNOTATION, "")
    problems = []
    plan, plan_problem = _plan(annotations, profile_id, catalogue)
    if plan_problem:
        problems.append(EntitlementProblem(plan_problem, CATALOGUE))
    if subscription not in _GOOD_STANDING | _SUSPENDED:
        message = f"annotation {SUBSCRIPTION_ANNOTATION} is {subscription[:60]!r}, which is no known standing"
        problems.append(EntitlementProblem(message, ANNOTATION))
    try:
        listed = quantities(annotations.get(ADD_ONS_ANNOTATION))
    except AnnotationError as error:
        problems.append(EntitlementProblem(f"annotation {ADD_ONS_ANNOTATION}: {error}", ANNOTATION))
        unread: dict[str, int | None] = {"(unreadable annotation)": None}
        return Entitlement(plan, unread, unread, {}, 0, subscription, (), tuple(problems))
    add_ons = _add_ons(listed, profile_id, catalogue, reservation_add_ons)
    return Entitlement(
        plan=plan,
        ordinary_add_ons=add_ons.ordinary_add_ons,
        granted=add_ons.granted,
        quantities=listed,
        withdrawn=add_ons.withdrawn,
        subscription=subscription,
        unknown_add_ons=add_ons.unknown_add_ons,
        problems=(*problems, *add_ons.problems),
    )
