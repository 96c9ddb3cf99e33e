# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""How far one run of a transition came: for its result, and for what it says when it has to stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from .._core.checks import Check
from .._core.errors import GpuopsError, PartialChange
from .._core.hook_event import HookEvent
from .._core.node_holders import node_holders
from .._core.node_mode_facts import ModeRequest, NodeState
from .._core.node_mode_smoke import SmokePlace
from .._core.unread import Unread
from .node_mode_lock import PoolLocks
from .node_mode_world import NodeModeWorld

CORDON_UNKNOWN: Final = "cordon-unknown"


@dataclass
class Course:
    """One run on its way.

    Attributes:
        world: the outside.
        request: what was asked for.
        locks: the locks of the node's pools.
        timeout: seconds to wait for the node to arrive.
        poll: seconds between two looks.
        run: this run's id.
        plan: its steps.
        position: how many of them are done.
        revision: the commit that was pushed; empty before that.
        mark: our annotation's text on the cordon that this run made or adopted; empty where it has none.
        state: the node as it was seen last.
        checks: the answers that the last decision rests on.
        smoke: where a smoke cycle is to follow, as far as one was asked for.
    """

    world: NodeModeWorld
    request: ModeRequest
    locks: PoolLocks
    timeout: float
    poll: float
    run: str
    plan: tuple[str, ...] = ()
    position: int = 0
    revision: str = ""
    mark: str = ""
    state: NodeState | None = None
    checks: tuple[Check, ...] = field(default=())
    smoke: SmokePlace = field(default_factory=SmokePlace)

    def advance(self, steps: int = 1) -> None:
        """Notes that steps of the plan are done."""
        self.position += steps

    def report(self) -> dict[str, Any]:
        """The result keys of this run, as far as it came."""
        state = self.state
        holders = (
            ()
            if state is None or isinstance(state.pods, Unread)
            else node_holders(self.request.node, state.pods)
        )
        return {
            "revision": self.revision,
            "cordoned": state.cordoned if state is not None else None,
            "holders": [holder.result() for holder in holders],
            "pools": list(self.locks.pools),
            "smoke": self.smoke.result(),
        }

    def stopped(self, code: str, cause: str, remedy: str) -> PartialChange:
        """The error of a run that stops after the cordon: the node stays as it is, nothing is undone.

        Args:
            code: stable identifier.
            cause: what went wrong, with the facts.
            remedy: what to put right before going on.
        """
        node = self.request.node
        state = self.state
        left = f"node {node} is left cordoned"
        if state is not None and state.cordoned is False:
            left = f"node {node}, which was cordoned, is schedulable now: somebody uncordoned it"
        elif code == CORDON_UNKNOWN:
            left = f"whether node {node} took the cordon is not known"
        done, remaining = self.plan[: self.position], self.plan[self.position :]
        pushed = f" (commit {self.revision[:12]} stays)" if self.revision else ""
        message = (
            f"the transition of node {node} from {self.request.from_mode} to {self.request.to_mode} stopped, "
            f"and {left}: {cause}. Done: {'; '.join(done) or 'nothing'}{pushed}. "
            f"Remaining: {'; '.join(remaining)}"
        )
        modes = f"-e from_mode={self.request.from_mode} -e to_mode={self.request.to_mode}"
        next_action = (
            f"{remedy}; then go on with resume_cordoned: true "
            f"(playbooks/transition.yml -e node={node} {modes} -e resume_cordoned=true)"
        )
        report = {
            **self.report(),
            "checks": [check.result() for check in self.checks],
            "plan": list(self.plan),
            "event": self._event(message, next_action).result(),
        }
        return PartialChange(
            code, message, next_action=next_action, done=done, remaining=remaining, report=report
        )

    def stopped_by(self, error: GpuopsError) -> PartialChange:
        """The same, because of an error."""
        return self.stopped(error.code, error.message, error.next_action)

    def _event(self, message: str, next_action: str) -> HookEvent:
        """What page hooks are told."""
        return HookEvent(
            kind="transition-stopped",
            severity="error",
            ticket=self.request.lock_holder,
            organization="",
            profile=", ".join(self.locks.pools),
            message=message,
            owners=(),
            next_action=next_action,
        )
