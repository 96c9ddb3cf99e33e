# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_plan_info: observe once, find out what is done, and answer phases, equation and every refusal."""

from __future__ import annotations

from collections.abc import Callable

from .._adapters.identity import new_run_id
from .._core.errors import InputError
from .assign_facts import plan_assignment
from .cancel_facts import plan_a_cancellation
from .entitlement_facts import plan_a_change
from .observation import save_snapshot
from .outcome import Outcome
from .planned import Planned
from .release_facts import plan_a_release
from .run import Invocation
from .sources import Reach

ACTIONS: dict[str, Callable[[Invocation, Reach], Planned]] = {
    "assign": plan_assignment,
    "release": plan_a_release,
    "cancel": plan_a_cancellation,
    "entitlement": plan_a_change,
}


def plan_ticket(invocation: Invocation) -> Outcome:
    """The module's work."""
    params = invocation.params
    action = ACTIONS.get(params["action"])
    if action is None:
        raise InputError(
            "action-unknown",
            f"action {params['action']} cannot be planned",
            next_action=f"name one of {', '.join(sorted(ACTIONS))}",
        )
    planned = action(invocation, Reach(params))
    if params["save_snapshot"]:
        save_snapshot(planned.seen, params["save_snapshot"])
    return Outcome(
        changed=False,
        msg=planned.msg,
        checks=planned.plan.checks,
        plan=planned.plan.changes,
        result={**planned.result(), "run_id": new_run_id()},
    )
