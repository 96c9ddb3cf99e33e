# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the order's organization, project and add-on are fit for a hold ("1. Qualify the order")."""

from __future__ import annotations

from collections.abc import Iterable

from . import finding_ids as ids
from .addon_fit import add_on_problems
from .finding import Finding
from .order import Order
from .policy import Pool
from .world import World


def _refused(finding_id: str, where: str, message: str, expected: str, next_action: str) -> Finding:
    return Finding(
        id=finding_id,
        severity="error",
        object=where,
        message=message,
        expected=expected,
        observed=message,
        next_action=next_action,
    )


def _organization(order: Order, world: World) -> Iterable[Finding]:
    name, project = order.spec.organization, order.spec.project
    organization = world.tenancy.organizations.get(name)
    where = f"organization/{name}"
    if organization is None:
        message = f"organization {name} of order {order.ticket} does not exist"
        yield _refused(
            ids.ORDER_ORGANIZATION, where, message, "an organization that exists", "correct the order"
        )
        return
    if not organization.status.ready:
        message = f"organization {name} of order {order.ticket} is not ready"
        action = f"wait until {name} is ready, or find out why it is not"
        yield _refused(ids.ORDER_ORGANIZATION, where, message, "status.ready is true", action)
    if not project:
        return
    found = world.tenancy.project(name, project)
    where = f"project/{name}/{project}"
    if found is None:
        message = f"project {project} of order {order.ticket} is none of organization {name}"
        yield _refused(
            ids.ORDER_PROJECT, where, message, f"a project of {name}", "correct the order's project"
        )
    elif not found.status.namespace or not found.status.ready:
        message = f"project {project} of organization {name} is not ready"
        yield _refused(
            ids.ORDER_PROJECT, where, message, "a ready project with its namespace", f"wait for {project}"
        )


def _add_on(order: Order, pool: Pool, world: World) -> Iterable[Finding]:
    name, profile_id = order.spec.addon_id, order.spec.profile_id
    if not world.catalogue.plans_problem:
        for problem in add_on_problems(name, profile_id, world.catalogue, order.spec.devices):
            finding_id = ids.UNKNOWN_ADD_ON if problem.code == ids.UNKNOWN_ADD_ON else ids.ADD_ON_UNFIT
            yield _refused(finding_id, f"add-on/{name}", problem.message, problem.code, problem.next_action)
    if name not in pool.reservation_addons:
        message = f"add-on {name} is not among the reservationAddons of pool {profile_id}"
        action = f"order one of {', '.join(pool.reservation_addons) or '(none)'}, or name it in policy.yaml"
        yield _refused(ids.ADD_ON_UNFIT, f"add-on/{name}", message, "an add-on that the policy names", action)


def order_findings(order: Order, profile_id: str, pool: Pool, world: World) -> tuple[Finding, ...]:
    """Everything about the order itself that refuses it.

    Args:
        order: complete and valid as a document.
        profile_id: the pool that is being proved.
        pool: the policy's pool.
        world: the observation.
    """
    found = list(_organization(order, world))
    if order.spec.profile_id != profile_id:
        message = f"order {order.ticket} is for {order.spec.profile_id}, not for {profile_id}"
        found.append(
            _refused(ids.PROFILE_UNFIT, f"profile/{profile_id}", message, profile_id, "name the order's pool")
        )
    else:
        found.extend(_add_on(order, pool, world))
    record = (world.ledger.records or {}).get(f"gpu-res-{order.ticket}")
    if record is not None and record.state in ("releasing", "released", "canceled"):
        message = f"record {record.id} is {record.state}: a record never goes back"
        found.append(
            _refused(
                ids.ORDER_RECORD,
                f"record/{record.id}",
                message,
                "no record, or pending",
                "order by a new ticket",
            )
        )
    elif record is not None and _differs(order, record.spec):
        differing = ", ".join(_differs(order, record.spec))
        message = f"record {record.id} says something else than order {order.ticket}: {differing}"
        found.append(
            _refused(
                ids.ORDER_RECORD, f"record/{record.id}", message, "the order's values", "correct the order"
            )
        )
    return tuple(found)


def _differs(order: Order, spec: object) -> list[str]:
    keys = ("organization", "project", "profile_id", "devices", "addon_id")
    return [key for key in keys if getattr(order.spec, key) != getattr(spec, key)]
