# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rehearsal's stage: a real fleet repository by the Git adapter, and the pure core's cluster beside it.

Every commit is audited, and held against books of plain numbers that know nothing of the core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import (
    BranchChange,
    FleetRepository,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.audit import audit_in
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_config import with_setting
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetTree
from ansible_collections.gpuops.reservations.plugins.module_utils._core.ledger import Ledger, load_ledger
from ansible_collections.gpuops.reservations.plugins.module_utils._core.ledger_view import view_of
from ansible_collections.gpuops.reservations.plugins.module_utils._core.lock import (
    LOCK_FILE,
    LockDocument,
    read_lock,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record import Record, record_path
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record_change import change_problems
from ansible_collections.gpuops.reservations.plugins.module_utils._core.snapshot import FORMAT, Snapshot
from ansible_collections.gpuops.reservations.plugins.module_utils._core.times import moment
from ansible_collections.gpuops.reservations.plugins.module_utils._core.world import World, world_of
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import import_commit
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    Fleet,
    lab,
    select,
)

LOCK = "gpu-lock/lab"
CONFIG = "clusters/lab/cluster-config.env"
GATE = "GPU_VM_CREATION_ENABLED"
POOL = "h100-vm"
ORDINARY = {"aurora": 4, "borealis": 2, "cumulus": 0}
CAPACITY, SPARE = 32, 1
IN_THE_MIDDLE = {"entitlement-converging", "gate-converging"}


@dataclass(frozen=True)
class Seen:
    """One observation, as a run makes it."""

    snapshot: Snapshot
    ledger: Ledger
    lock: LockDocument
    world: World
    main: FleetTree
    lock_tree: FleetTree

    @property
    def now(self) -> str:
        return self.snapshot.observed.server_time

    def record(self, ticket: str) -> Record | None:
        return self.ledger.records.get(f"gpu-res-{ticket}")


@dataclass
class Stage:
    """Cluster, fleet repository, and what is known of both.

    Attributes:
        bare: the repository.
        fleet: the adapter that a run uses.
        cluster: the cluster; its ledger is not used.
        used: devices in use by organization, as machines are started and stopped.
        drift: the findings that an audit has to have now; nothing else may be found.
        commits: how many commits were audited.
    """

    bare: Path
    fleet: FleetRepository
    cluster: Fleet = field(default_factory=lab)
    used: dict[str, int] = field(default_factory=lambda: {"aurora": 2, "borealis": 0, "cumulus": 0})
    drift: frozenset[tuple[str, str]] = frozenset()
    commits: int = 0
    known: dict[str, Record] = field(default_factory=dict)
    trees: dict[str, FleetTree] = field(default_factory=dict)
    seen: Seen | None = None

    def open(self) -> None:
        """The fixture's files as the first commit; the first audit passes."""
        files = {file.path: file.content.decode() for file in self.cluster.tree().files}
        import_commit(self.bare, "refs/heads/main", "", dict(files))
        self.require_sound()

    # The run's side

    def look(self) -> Seen:
        """Read the fleet by the adapter and the cluster as it is.

        The fleet is read again after a commit of this stage; who else commits is noticed at the next one.
        """
        if self.seen is not None:
            return self.seen
        if not self.trees:
            branches = {"main": ("gpu-reservations", "clusters/lab"), LOCK: (LOCK_FILE,)}
            self.trees = self.fleet.read_all(branches)
        main, lock = self.trees["main"], self.trees[LOCK]
        self._follow(main)
        snapshot = Snapshot.model_validate(
            {
                "format": FORMAT,
                "cluster": "lab",
                "observed": self.cluster.observed(),
                "fleet": main,
                "lock": lock,
                "alerts": self.cluster.alerts,
            }
        )
        ledger = load_ledger(main, "lab")
        world = world_of(snapshot, view_of(ledger, lock))
        self.seen = Seen(snapshot, ledger, read_lock(lock), world, main, lock)
        return self.seen

    def later(self) -> None:
        """A minute later: every heartbeat and status is new."""
        self.seen = None
        now = moment(self.cluster.server_time) + timedelta(minutes=1)
        self.cluster.server_time = text = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.cluster.leases.update(dict.fromkeys(self.cluster.leases, text))
        for owner in (*self.cluster.organizations.values(), *self.cluster.projects.values()):
            owner["status"]["quotaUsage"]["lastUpdated"] = text

    def commit(
        self,
        seen: Seen,
        document: LockDocument,
        message: str,
        *,
        record: Record | None = None,
        gate: str = "",
    ) -> None:
        """Fleet and lock in one push, upon what was observed; audited at once.

        Raises:
            ConflictError: somebody else committed since.
        """
        files: dict[str, bytes | None] = {}
        if record is not None:
            files[record_path("lab", record.id)] = record.to_yaml().encode()
        if gate:
            config = seen.main.file(CONFIG)
            assert config is not None
            files[CONFIG] = with_setting(config, GATE, gate).content
        changes = {LOCK: _change(seen.lock_tree, {LOCK_FILE: document.to_yaml().encode()}, always=True)}
        if files:
            changes["main"] = _change(seen.main, files)
        self.trees, self.seen = {}, None
        self.fleet.commit_together(changes, message)
        self.require_sound()

    # The platform's side

    def grant(self, organization: str, annotation: str, devices: int) -> None:
        """An add-on annotation that was written, and a platform that follows it, audited at each step."""
        self.cluster.annotate(organization, annotation)
        self.seen = None
        self.require_sound()
        self.cluster.quota(organization, ORDINARY[organization] + devices, self.used[organization])
        self.seen = None

    def use(self, organization: str, devices: int) -> None:
        """So many machines of an organization run beside those of the fixture."""
        base = 2 if organization == "aurora" else 0
        project = next(name for owner, name in self.cluster.projects if owner == organization)
        namespace = f"{organization}-{project}"
        prefix = f"virt-launcher-{organization}-"
        self.cluster.pods = [
            pod for pod in self.cluster.pods if not pod["metadata"]["name"].startswith(prefix)
        ]
        for number in range(devices):
            name = f"{prefix}{number}"
            owner = ("VirtualMachineInstance", f"{organization}-{number}")
            self.cluster.pod(namespace, name, node=f"gpu-0{number % 4 + 1}", owner=owner)
        self.used[organization] = base + devices
        hard = int(self.cluster.hrqs[organization]["spec"]["hard"][f"requests.{_device()}"])
        self.cluster.quota(organization, hard, self.used[organization])
        self.seen = None

    def _follow(self, main: FleetTree) -> None:
        config = main.file(CONFIG)
        assert config is not None
        lines = dict(line.split("=", 1) for line in config.content.decode().splitlines() if "=" in line)
        self.cluster.gates[GATE] = lines[GATE]
        for copy in ("helmrelease", "deployment"):
            self.cluster.gate_copies[copy][GATE] = lines[GATE]

    # The books

    def require_sound(self) -> None:
        """The audit finds the drift that was made and nothing else, and the books agree."""
        seen = self.look()
        self.commits += 1
        report = audit_in(seen.world, select=select, pools=(POOL,))
        errors = {(finding.id, finding.object) for finding in report.errors}
        assert errors == self.drift, [finding.message for finding in report.findings]
        warnings = {finding.id for finding in report.findings if finding.severity == "warning"}
        assert warnings <= IN_THE_MIDDLE
        self._require_history(seen)
        reserved = sum(record.spec.devices for record in seen.ledger.records.values() if record.holds)
        assert reserved + sum(ORDINARY.values()) + SPARE <= CAPACITY, "more is held than there is"
        headroom = report.proofs[POOL].equation.headroom
        if not self.drift:
            assert headroom == CAPACITY - reserved - sum(ORDINARY.values()) - SPARE
        for pool in seen.lock.pools.values():
            assert not seen.lock.gate.vm.closed_for or self.cluster.gates[GATE] == "false", pool

    def _require_history(self, seen: Seen) -> None:
        for identifier, record in seen.ledger.records.items():
            before = self.known.get(identifier)
            if before is None:
                assert record.state in ("pending", "active"), record
            elif before is not record:
                assert change_problems(identifier, before, record) == ()
        assert self.known.keys() <= seen.ledger.records.keys(), "a record is never deleted"
        self.known = dict(seen.ledger.records)


def _change(tree: FleetTree, files: Mapping[str, bytes | None], *, always: bool = False) -> BranchChange:
    return BranchChange(tree.revision, dict(files), always=always)


def _device() -> str:
    return "nvidia.com/GH100_H100_SXM5_80GB"
