# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one pass of the reconcile works on, and what it has done so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from .._adapters.kube import KubeClient
from .._core.errors import GpuopsError
from .._core.reservation_claims import Claim, Consent
from .._core.reservation_notice import Notice
from .._core.reservation_objects import ReservedNode
from .._core.reservation_steps import NodeStep
from .._core.reservation_world import ReservationWorld


@dataclass(frozen=True)
class PassOptions:
    """How a pass goes about it.

    Attributes:
        now: the API server's time, RFC 3339.
        consent: what the operator allows.
        check_mode: nothing is written.
        only: one Reservation; all where it is empty.
        notified: ids of the release notices whose hook has run; None where there is no hook to wait for.
    """

    now: str
    consent: Consent
    check_mode: bool = False
    only: str = ""
    notified: Collection[str] | None = None


@dataclass
class PassState:
    """One pass: what it goes by, and what came of it.

    Attributes:
        client: the API server.
        world: the observation.
        claims: how every Reservation was judged.
        steps: what is to become of each node.
        options: how to go about it.
        secure: called with a Reservation's name before a node is taken for it; raises where it may not be.
        done: what was written, one sentence each, in order.
        notices: what somebody should know.
        failures: what could not be written, with the error.
        nodes: each Reservation's nodes as they are afterwards.
        blocked: Reservations whose acceptance could not be put on record: they take no new nodes.
        gone: Reservations that were being deleted and have let go of everything.
    """

    client: KubeClient
    world: ReservationWorld
    claims: Mapping[str, Claim]
    steps: tuple[NodeStep, ...]
    options: PassOptions
    secure: Callable[[str], None]
    done: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    failures: list[tuple[str, GpuopsError]] = field(default_factory=list)
    nodes: dict[str, list[ReservedNode]] = field(default_factory=dict)
    blocked: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)

    @property
    def chosen(self) -> dict[str, Claim]:
        """The Reservations that this pass is about."""
        return {name: claim for name, claim in self.claims.items() if self.options.only in ("", name)}

    def of_kind(self, kind: str) -> tuple[NodeStep, ...]:
        """The steps of one kind."""
        return tuple(step for step in self.steps if step.kind == kind)

    def record(self, step: NodeStep, phase: str, pods: int) -> None:
        """Take note of a node as it is after the pass."""
        entry = ReservedNode(name=step.node.name, phase=phase, tenant_pods=pods)
        self.nodes.setdefault(step.title.reservation, []).append(entry)

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Whatever cannot be written is collected, and the others go on."""
        try:
            yield
        except GpuopsError as error:
            self.failures.append((what, error))
