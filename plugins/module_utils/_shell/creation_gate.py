# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_creation_gate: close, let go of, open and show a creation gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._core.checks import Check
from .._core.cluster_config import config_path, with_setting
from .._core.errors import ConflictError, ObservationError, PartialChange, PolicyBlocked
from .._core.gate import CLOSED, OPEN, GateState, gate_state
from .._core.gate_use import GATE_KEYS, Gate, close_for, let_go, use_of, why_not_open
from .._core.lock import LockDocument, require_run
from .._core.names import normalise_holder
from .guarded_commit import commit_guarded
from .lock import ATTEMPTS, is_recorded, lines_of
from .observation import Observation, observe_parts
from .outcome import Diff, Outcome
from .recovery_check import why_not_recovered
from .run import Invocation
from .sources import Reach
from .waiting import wait_until

PARTS = ("cluster_config", "gate_copies")


@dataclass(frozen=True)
class GateChange:
    """What is to be done with a gate.

    Attributes:
        value: the fleet file's new value; empty where it stays.
        document: the lock document afterwards.
        steps: the plan.
        note: why the gate stays as it is, where that needs saying.
    """

    value: str
    document: LockDocument
    steps: tuple[str, ...]
    note: str = ""


def change_gate(invocation: Invocation) -> Outcome:
    """The module's work."""
    if invocation.params["ticket"]:
        normalise_holder(invocation.params["ticket"])  # one that is none is refused before anything is read
    reach = Reach(invocation.params)
    gate: Gate = invocation.params["gate"]
    for attempt in range(ATTEMPTS):
        seen = observe_parts(reach, PARTS)
        change = _decide(invocation, reach, gate, seen)
        try:
            if not invocation.check_mode:
                _commit(invocation, reach, gate, seen, change)
        except ConflictError as conflict:
            if conflict.code != "fleet-moved" or attempt == ATTEMPTS - 1:
                raise
            continue
        return _settled(invocation, reach, gate, seen, change)
    raise AssertionError("unreachable: the last attempt returns or raises")


def gate_of(gate: Gate, seen: Observation) -> GateState:
    """The state of a gate in everything that was observed."""
    observed = seen.snapshot.observed
    file = seen.snapshot.fleet.file(config_path(seen.snapshot.cluster))
    return gate_state(gate, file, observed.cluster_config, observed.gate_copies)


def _decide(invocation: Invocation, reach: Reach, gate: Gate, seen: Observation) -> GateChange:
    params = invocation.params
    state = params["state"]
    if state == "info":
        return GateChange("", seen.lock, ())
    if params["run_id"] and params["profile_id"]:
        require_run(seen.lock, (params["profile_id"],), normalise_holder(params["ticket"]), params["run_id"])
    if state == "closed":
        return _close(normalise_holder(params["ticket"]), gate, seen)
    if state == "open":
        return _open(gate, seen)
    ticket = normalise_holder(params["ticket"])
    if params["unless_recorded"] and is_recorded(reach, ticket):
        return GateChange(
            "", seen.lock, (), f"{ticket} has a record that holds devices: the gate stays closed"
        )
    return _let_go(ticket, gate, seen, reopen=params["reopen"], hindrance=_hindrance(invocation, reach))


def _close(ticket: str, gate: Gate, seen: Observation) -> GateChange:
    state = gate_of(gate, seen)
    document = close_for(seen.lock, gate, ticket, open_now=state.open_before)
    steps = () if document == seen.lock else (f"note that {ticket} needs gate {gate} closed",)
    if state.file == "closed":
        return GateChange("", document, steps)
    path = config_path(seen.snapshot.cluster)
    return GateChange(CLOSED, document, (*steps, f"set {GATE_KEYS[gate]}={CLOSED} in {path}"))


def _hindrance(invocation: Invocation, reach: Reach) -> Callable[[], str]:
    """What else keeps the gate closed: with option recovered, a service that has not recovered."""
    params = invocation.params
    if not params["recovered"]:
        return lambda: ""
    pool, ticket = params["profile_id"], normalise_holder(params["ticket"])
    return lambda: why_not_recovered(invocation, reach, pool, ticket)


def _let_go(
    ticket: str, gate: Gate, seen: Observation, *, reopen: bool, hindrance: Callable[[], str]
) -> GateChange:
    if ticket not in use_of(seen.lock, gate).closed_for:
        return GateChange("", seen.lock, (), f"gate {gate} was not closed for {ticket}")
    document = let_go(seen.lock, gate, ticket)
    steps = (f"note that {ticket} no longer needs gate {gate} closed",)
    note = why_not_open(seen.lock, gate, ticket, frozen=seen.ledger.any_frozen, reopen=reopen)
    note = note or hindrance()
    if note:
        how = f"; to open it: playbooks/creation_gate.yml -e state=open -e gate={gate}"
        return GateChange("", document, steps, note + how)
    path = config_path(seen.snapshot.cluster)
    return GateChange(OPEN, document, (*steps, f"set {GATE_KEYS[gate]}={OPEN} in {path}"))


def _open(gate: Gate, seen: Observation) -> GateChange:
    users = use_of(seen.lock, gate).closed_for
    frozen = sorted(profile for profile, freeze in seen.ledger.freezes.items() if freeze.frozen)
    if users or frozen:
        why = [f"it is closed for {', '.join(users)}"] if users else []
        why += [f"sales of {', '.join(frozen)} are frozen"] if frozen else []
        raise PolicyBlocked(
            "gate-needed-closed",
            f"gate {gate} may not open: {'; '.join(why)}",
            next_action="let those tickets end (run them again), or thaw the pool, then open the gate",
            details={"closed_for": list(users), "frozen": frozen},
        )
    if gate_of(gate, seen).said.get("file") == OPEN:
        return GateChange("", seen.lock, ())
    path = config_path(seen.snapshot.cluster)
    return GateChange(OPEN, seen.lock, (f"set {GATE_KEYS[gate]}={OPEN} in {path}",))


def _commit(invocation: Invocation, reach: Reach, gate: Gate, seen: Observation, change: GateChange) -> None:
    if not change.steps:
        return
    files = {}
    if change.value:
        path = config_path(seen.snapshot.cluster)
        files[path] = _edited(seen, gate, change.value)
    who = invocation.params["ticket"] or "an operator"
    verb = {CLOSED: "Close", OPEN: "Open"}.get(change.value, "Note")
    commit_guarded(reach, seen, files, change.document, f"{verb} gate {gate} for {who}")


def _edited(seen: Observation, gate: Gate, value: str) -> bytes:
    path = config_path(seen.snapshot.cluster)
    file = seen.snapshot.fleet.file(path)
    if file is None:
        raise ObservationError(
            "cluster-config-missing",
            f"the fleet repository has no {path}, so the gate's state is not known",
            next_action="restore the file in the fleet repository, or name the right cluster",
        )
    return with_setting(file, GATE_KEYS[gate], value).content


def _settled(
    invocation: Invocation, reach: Reach, gate: Gate, seen: Observation, change: GateChange
) -> Outcome:
    params = invocation.params
    wanted = _wanted(params["state"], change)
    before, after = gate_of(gate, seen), gate_of(gate, seen)
    if wanted and not invocation.check_mode:
        what = f"every copy of gate {gate} to say {wanted}"
        waited = wait_until(
            what,
            lambda: gate_of(gate, observe_parts(reach, PARTS)),
            lambda state: "" if _is(state, wanted) else _told(state),
            timeout=params["wait_timeout"],
            interval=params["poll_interval"],
        )
        after = waited.seen
        if not waited.met:
            raise PartialChange(
                "gate-not-converged",
                f"gate {gate} does not say {wanted} everywhere after {waited.seconds:.0f} s: {waited.last}",
                next_action="see why Flux, Helm or the rollout does not follow the fleet, then run again",
                done=change.steps,
                remaining=(what,),
            )
    return _outcome(gate, seen, change, before, after)


def _wanted(state: str, change: GateChange) -> str:
    if state == "closed":
        return CLOSED
    return OPEN if state == "open" or change.value == OPEN else ""


def _is(state: GateState, wanted: str) -> bool:
    return state.closed if wanted == CLOSED else state.opened


def _told(state: GateState) -> str:
    return ", ".join(f"{place} {said}" for place, said in state.copies().items())


def _diffs(gate: Gate, seen: Observation, change: GateChange) -> tuple[Diff, ...]:
    diffs = []
    if change.value:
        path = config_path(seen.snapshot.cluster)
        file = seen.snapshot.fleet.file(path)
        text = file.content.decode("utf-8", "replace") if file else ""
        diffs.append(Diff(path, text, _edited(seen, gate, change.value).decode("utf-8", "replace")))
    if change.document != seen.lock:
        diffs.append(Diff("lock.yaml", seen.lock.to_yaml(), change.document.to_yaml()))
    return tuple(diffs)


def _outcome(
    gate: Gate, seen: Observation, change: GateChange, before: GateState, after: GateState
) -> Outcome:
    users = list(use_of(change.document, gate).closed_for)
    said = f"gate {gate}: {_told(after)}"
    lines = [said, *lines_of(change.document)]
    lines += [change.note] if change.note else []
    state_check = Check(
        id="gate-copies-agree",
        status="pass" if after.agree else "unknown",
        message=said,
        next_action="" if after.agree else "wait until every copy says the same, or see why it does not",
        object=GATE_KEYS[gate],
    )
    return Outcome(
        changed=bool(change.steps),
        msg=change.note or said,
        checks=(state_check,),
        plan=change.steps,
        result={
            "before": {
                "open": not before.closed,
                "closed_for": list(use_of(seen.lock, gate).closed_for),
            },
            "after": {
                "open": change.value == OPEN if change.value else not after.closed,
                "closed_for": users,
            },
            "copies": {place: after.said.get(place) for place in after.copies()},
            "summary": lines,
        },
        diffs=_diffs(gate, seen, change),
    )
