# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node-mode transition is asked to do, and what it saw when it looked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .cluster_objects import ConfigMap, GateCopies, Node, Pod
from .errors import InputError
from .fleet_files import FleetTree
from .modes import ACTIVE_LABEL, EXPECTED_LABEL, MODES, SHARED_MODES, VM_PASSTHROUGH
from .names import node_name_problem, require_cluster
from .node_mode_smoke import SmokeFacts
from .node_rule import NodeRules, read_rules, rule_path
from .unread import Unread

DEFAULT_TIMEOUT_SECONDS: Final = 900
DEFAULT_POLL_SECONDS: Final = 5.0


@dataclass(frozen=True)
class ModeRequest:
    """One transition, as it was asked for.

    Attributes:
        cluster: the cluster's name.
        node: the node.
        from_mode: the mode that it is in.
        to_mode: the mode that it is to be in.
        resume_cordoned: consent to go on with a cordoned node, whoever cordoned it.
        gates_closed_first: a preview whose gates something else will have closed by then.
        smoke: organization and project of a smoke cycle that is to follow.
    """

    cluster: str
    node: str
    from_mode: str
    to_mode: str
    resume_cordoned: bool = False
    gates_closed_first: bool = False
    smoke: tuple[str, str] | None = None

    @property
    def lock_holder(self) -> str:
        """In whose name the locks of the node's pools are held."""
        return f"transition:{self.node}"

    @property
    def leaves_dedicated(self) -> bool:
        """Whether the node goes from whole-device VMs back to a Shared mode."""
        return self.from_mode == VM_PASSTHROUGH and self.to_mode in SHARED_MODES

    def validate(self) -> None:
        """Checks what can be checked before anything is read.

        Raises:
            InputError: mode-unsupported, mode-pair-pointless, node-invalid, timing-invalid or
                cluster-invalid.
        """
        known = ", ".join(MODES)
        unknown = [
            f"{option} {mode!r}"
            for option, mode in (("from_mode", self.from_mode), ("to_mode", self.to_mode))
            if mode not in MODES
        ]
        if unknown:
            raise InputError(
                "mode-unsupported",
                f"node {self.node}: {' and '.join(unknown)} cannot be a side of a transition",
                next_action=f"use two of {known}",
            )
        if self.from_mode == self.to_mode:
            raise InputError(
                "mode-pair-pointless",
                f"node {self.node}: from_mode and to_mode are both {self.to_mode}",
                next_action=f"name two different modes of {known}",
            )
        problem = node_name_problem(self.node)
        if problem:
            raise InputError("node-invalid", f"node: {problem}", next_action="name the Node object")
        require_cluster(self.cluster)


def validate_timing(timeout: float, poll: float) -> None:
    """Checks the wait's limits, in seconds.

    Raises:
        InputError: timing-invalid; a wait of no length, or a pause that would make it a busy loop.
    """
    if timeout <= 0 or poll <= 0:
        raise InputError(
            "timing-invalid",
            f"timeout is {timeout:g} s and poll {poll:g} s; both have to be more than zero",
            next_action="leave them out for 900 s and 5 s",
        )


@dataclass(frozen=True)
class NodeState:
    """A node with the Pods that are bound to it, in any phase, as one look found them."""

    node: Node | Unread | None
    pods: tuple[Pod, ...] | Unread

    @property
    def active(self) -> str:
        """The label of the mode that the node is in; empty where there is none."""
        return self._label(ACTIVE_LABEL)

    @property
    def expected(self) -> str:
        """The label of the mode that the node should be in; empty where there is none."""
        return self._label(EXPECTED_LABEL)

    @property
    def cordoned(self) -> bool | None:
        """Whether the node is unschedulable; None where that is not known."""
        return self.node.spec.unschedulable if isinstance(self.node, Node) else None

    @property
    def ready(self) -> bool:
        """Whether the node's condition Ready is True."""
        if not isinstance(self.node, Node):
            return False
        return any(c.type == "Ready" and c.status == "True" for c in self.node.status.conditions)

    def _label(self, key: str) -> str:
        return self.node.metadata.labels.get(key, "") if isinstance(self.node, Node) else ""


@dataclass(frozen=True)
class HeldPool:
    """Who holds the lock of a pool.

    Attributes:
        ticket: a ticket, transition:<node> or reservation:<name>.
        run: the run's id.
        since: RFC 3339 time.
        step: what that run was doing.
    """

    ticket: str
    run: str
    since: str
    step: str


@dataclass(frozen=True)
class LiveRecord:
    """A reservation that is pending, active or releasing."""

    id: str
    profile_id: str
    organization: str
    state: str


@dataclass(frozen=True)
class LedgerFacts:
    """What the fleet's documents say about pools.

    Attributes:
        pools: the nodes of each pool, by profile.
        locks: who holds which pool's lock.
        live: the live reservations of this cluster.
    """

    pools: Mapping[str, frozenset[str]] | Unread
    locks: Mapping[str, HeldPool] | Unread
    live: tuple[LiveRecord, ...] | Unread

    def pools_of(self, node: str) -> tuple[str, ...]:
        """The pools whose policy names the node; none where they are unknown."""
        if isinstance(self.pools, Unread):
            return ()
        return tuple(sorted(pool for pool, nodes in self.pools.items() if node in nodes))


@dataclass(frozen=True)
class ModeFacts:
    """One whole look at fleet and cluster.

    Attributes:
        fleet: the fleet branch: clusters/<cluster>/ and gpu-reservations/.
        ledger: what its policy, records and lock document say.
        push: why a push would not be tried; None where it would.
        config: ConfigMap flux-system/cluster-config, None where there is none.
        copies: the gates' copies further down.
        state: the node and its Pods.
        smoke: where a smoke cycle is to follow; None where none is.
    """

    fleet: FleetTree
    ledger: LedgerFacts
    push: Unread | None
    config: ConfigMap | Unread | None
    copies: GateCopies | Unread
    state: NodeState
    smoke: SmokeFacts | Unread | None = None

    def rules(self, cluster: str) -> NodeRules:
        """The cluster's rule file."""
        return read_rules(self.fleet.file(rule_path(cluster)), cluster)
