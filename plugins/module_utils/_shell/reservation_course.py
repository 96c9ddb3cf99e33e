# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a pass does to nodes: takes and restores, tells and cordons, evicts, frees.

Runbook: Reservations and ReservationBindings, Operator's reconcile and Releasing capacity.
"""

from __future__ import annotations

from typing import Any

from .._adapters.api_resource import EVENTS
from .._adapters.observe_reservations import observe_placed_pods
from .._core.errors import ConflictError, ObservationError, PolicyBlocked
from .._core.reservation_claims import foreign_taint
from .._core.reservation_marks import drain_patch, free_patch, hold_patch, sets_no_execute
from .._core.reservation_notice import Notice, bindings_to_tell, event_of
from .._core.reservation_objects import ReservableNode
from .._core.reservation_steps import NodeStep, step_text
from .._core.tenant_pods import PlacedPods, tenant_pods
from .reservation_evictions import evict_pods
from .reservation_nodes import settle_node
from .reservation_state import PassState


def hold_nodes(state: PassState) -> None:
    """Take new nodes, and put back what was changed on held ones."""
    for step in state.of_kind("hold"):
        held = not step.new
        if step.new and step.title.reservation in state.blocked:
            continue
        with state.attempt(f"node {step.node.name}"):
            if step.new:
                state.secure(step.title.reservation)
            _, written = settle_node(
                state.client,
                step.node,
                lambda node, step=step: _hold(state, step, node),  # type: ignore[misc]
                check_mode=state.options.check_mode,
            )
            held = True
            if written:
                state.done += step_text(step)
        if held:
            state.record(step, "Reserved", len(step.waiting))


def _hold(state: PassState, step: NodeStep, node: ReservableNode) -> dict[str, Any] | None:
    """The patch for a node as it is now; another run may have taken it since it was judged."""
    if step.new and node.reserved_by not in ("", step.title.reservation):
        raise ConflictError(
            "node-taken",
            f"node {node.name} was taken for Reservation {node.reserved_by} meanwhile",
            next_action="run again: the claim is judged anew",
        )
    if step.new and foreign_taint(node, step.title.taint):
        raise ConflictError(
            "node-taken",
            f"a taint that is not ours came meanwhile: {foreign_taint(node, step.title.taint)}",
            next_action="run again: the claim is judged anew",
        )
    return _consented(state, node, hold_patch(node, step.title))


def _consented(state: PassState, node: ReservableNode, patch: dict[str, Any] | None) -> dict[str, Any] | None:
    if sets_no_execute(node, patch) and not state.options.consent.eviction:
        raise PolicyBlocked(
            "eviction-not-allowed",
            f"node {node.name} needs its taint with effect NoExecute back, which evicts every Pod that does "
            "not tolerate it",
            next_action="run with allow_eviction: true",
        )
    return patch


def drain_nodes(state: PassState) -> None:
    """Tell the tenant, cordon, evict where that is wanted, and free what nothing waits for."""
    steps = state.of_kind("drain")
    if not steps:
        return
    cordoned = {step.node.name: _tell_and_cordon(state, step) for step in steps}
    # A Pod may have come between the first look and the cordon: nothing is freed on the first look's word.
    placed = state.world.placed if state.options.check_mode else observe_placed_pods(state.client)
    for step in steps:
        waiting = tenant_pods(step.node, step.title.tenant, placed, state.world.tenancies)
        if step.evict and waiting:
            waiting = _evict(state, step, placed)
        freed = False
        node = cordoned[step.node.name]
        if not waiting and node is not None:
            with state.attempt(f"node {node.name}"):
                freed = _free(state, step, node)
        if not freed:
            state.record(step, "Draining", len(waiting))
    for step in state.of_kind("freeze"):
        state.record(step, "Draining", len(step.waiting))


def _tell_and_cordon(state: PassState, step: NodeStep) -> ReservableNode | None:
    """The node as it is then; None where the tenant could not be told, or the node not be cordoned."""
    cordoned: ReservableNode | None = None
    with state.attempt(f"node {step.node.name}"):
        if step.notice is not None:
            _tell(state, step.notice)
        cordoned, written = settle_node(
            state.client,
            step.node,
            lambda node: _consented(state, node, drain_patch(node, step.title, state.options.now)),
            check_mode=state.options.check_mode,
        )
        if written:
            state.done.append(f"cordon node {step.node.name}")
    return cordoned


def _tell(state: PassState, notice: Notice) -> None:
    """An Event about each of the tenant's bindings; when one cannot be made, nothing is cordoned."""
    state.notices.append(notice)
    notified = state.options.notified
    if notified is not None and notice.id not in notified:
        raise PolicyBlocked(
            "notice-not-given",
            f"node {notice.node} is not cordoned yet: notify_tasks have not told tenant {notice.tenant}",
            next_action="run again: the notice is given first",
        )
    if not state.options.check_mode:
        for binding in bindings_to_tell(state.world, notice.tenant):
            event = event_of(notice, binding, state.options.now)
            try:
                state.client.create(EVENTS.path(binding.metadata.namespace), event)
            except ConflictError as error:
                if error.code != "already-exists":
                    raise
    state.done.append(f"tell tenant {notice.tenant} that node {notice.node} is released")


def _evict(state: PassState, step: NodeStep, placed: PlacedPods) -> tuple[Any, ...]:
    """Evict the tenant's Pods; those that are still there afterwards, by a look at the API server."""
    waiting = tenant_pods(step.node, step.title.tenant, placed, state.world.tenancies)
    if state.options.check_mode:
        return waiting
    evicted, staying = evict_pods(state.client, waiting)
    if evicted:
        state.done.append(f"evict from node {step.node.name}: {', '.join(evicted)}")
    if staying:
        state.notices.append(
            Notice(
                kind="eviction",
                node=step.node.name,
                reservation=step.title.reservation,
                tenant=step.title.tenant,
                message=f"node {step.node.name} keeps Pods: {'; '.join(staying)}",
                next_action="see the disruption budgets that cover them",
            )
        )
    return waiting


def _free(state: PassState, step: NodeStep, node: ReservableNode) -> bool:
    title = step.title
    if state.options.check_mode:
        state.done += [text for text in step_text(step) if text.startswith("release ")]
        return True

    def patch(current: ReservableNode) -> dict[str, Any] | None:
        mine = current.reserved_by in ("", title.reservation)
        return free_patch(current, title) if mine else None

    try:
        settle_node(state.client, node, patch)
    except ObservationError as error:
        if error.code != "object-gone":  # what is gone carries nothing any more
            raise
    state.done.append(
        f"release node {node.name} of Reservation {title.reservation}: label, taint and cordon go"
    )
    return True
