# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_admission_info: whether Reservations can be installed, work, and can be removed."""

from __future__ import annotations

from .._adapters.observe_admission import (
    observe_installation,
    observe_namespaces,
    observe_reservation_names,
    observe_workloads,
)
from .._core.admission_installed import (
    definition_checks,
    mutation_check,
    mutation_version,
    namespace_checks,
    observed_check,
    policy_checks,
    refused_workloads,
    workload_check,
)
from .._core.checks import Check, passed, stopping
from .outcome import Outcome
from .reservation_gate import canary_checks, confirm
from .run import Invocation
from .sources import Reach

OURS = ("gpuops-system", "reservation-operator")
"""Namespaces that the role makes itself, so that nobody can be waiting to create them."""


def inspect_admission(invocation: Invocation) -> Outcome:
    """The module's work."""
    params, reach = invocation.params, Reach(invocation.params)
    confirm(reach)
    client = reach.client
    installation = observe_installation(client)
    names = observe_reservation_names(client)
    bound = policy_checks(installation)
    there = any(check.status == "pass" for check in bound)
    platform = tuple(params["platform_namespaces"] or ())
    refused = refused_workloads(observe_workloads(client), (*platform, *OURS))
    before = (
        *definition_checks(installation),
        mutation_check(installation),
        *namespace_checks((one for one in platform if one not in OURS), observe_namespaces(client)),
        workload_check(refused, accepted=params["accept_refused_workloads"], installed=there),
    )
    working = (*definition_checks(installation), *bound)
    if there:
        working += (observed_check(installation), *canary_checks(client))
    removal = (*definition_checks(installation), _removal_check(names))
    return Outcome(
        changed=False,
        msg="installed" if passed(working) and there else _told(working),
        checks=tuple(dict.fromkeys((*before, *working, *removal))),
        result={
            "installable": passed(before),
            "not_installable": _told(before),
            "working": there and passed(working),
            "not_working": _told(working),
            "removable": passed(removal),
            "not_removable": _told(removal),
            "mutation_version": mutation_version(installation.mutation_versions),
            "refused_workloads": list(refused),
            "reservations": list(names),
        },
    )


def _removal_check(names: tuple[str, ...]) -> Check:
    if not names:
        return Check(id="reservations-gone", status="pass", message="there is no Reservation")
    return Check(
        id="reservations-gone",
        status="fail",
        message=f"Reservations still hold nodes or wait for their release: {', '.join(names)}",
        next_action="delete them, and run playbooks/reservations.yml until they are gone; then remove the "
        "definitions",
    )


def _told(checks: tuple[Check, ...]) -> str:
    """What stands against a yes, with what to do; empty where nothing does."""
    stops = stopping(checks)
    texts = [check.message for check in stops]
    steps = list(dict.fromkeys(check.next_action for check in stops if check.next_action))
    return f"{'; '.join(texts)}. Next: {'; '.join(steps)}" if texts else ""
