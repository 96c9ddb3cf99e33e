# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hundred tickets through the pure core and the Git adapter, audited at every commit of their history.

Orders that fit and that do not, releases that find machines running, cancellations at every stage, runs that
are killed after any write and taken over, a lock in somebody's hands, commits that somebody else was faster
with, a node that fails in the middle.
"""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import import_commit
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    order_of,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.rehearsal.runs import (
    Refused,
    Steps,
    assign,
    cancel,
    release,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.rehearsal.stage import (
    CAPACITY,
    ORDINARY,
    SPARE,
    Stage,
)

DEGRADED = frozenset({("degraded-capacity", "node/gpu-04")})
OVERSOLD = frozenset({("hard-quota-above-equation", "pool/h100-vm")})


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    bare = tmp_path / "fleet.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    stage = Stage(bare, FleetRepository(str(bare), cache_dir=tmp_path / "cache"))
    stage.open()
    return stage


@dataclass
class Operator:
    """Somebody who works tickets off, at random, and is interrupted."""

    stage: Stage
    chance: random.Random
    done: Counter[str] = field(default_factory=Counter)
    active: list[str] = field(default_factory=list)
    held: str = ""
    runs: int = 0

    def run(self) -> str:
        self.runs += 1
        self.stage.later()
        return f"01RUN{self.runs:05d}"

    def carried_out(self, ticket: str, what: str, steps: Steps) -> bool:
        """A run to its end, or killed after one of its writes, or overtaken by somebody's commit."""
        kill_after = self.chance.randrange(1, 7) if self.chance.random() < 0.2 else 0
        try:
            for number, step in enumerate(steps, 1):
                if number == kill_after:
                    self.done["killed"] += 1
                    self.done[f"killed after {step}"] += 1
                    self.held = ticket if self.stage.look().lock.held_by(ticket) else ""
                    return False
                if self.chance.random() < 0.02:
                    self.somebody_else()
        except Refused:
            self.done[f"{what} refused"] += 1
            self.held = ticket if self.stage.look().lock.held_by(ticket) else ""
            return False
        except ConflictError as conflict:
            self.done["overtaken" if conflict.code == "fleet-moved" else conflict.code] += 1
            self.held = ticket if self.stage.look().lock.held_by(ticket) else ""
            return False
        self.held = ""
        self.done[what] += 1
        return True

    def somebody_else(self) -> None:
        """A person's commit to the fleet branch, of something else."""
        self.done["commits of others"] += 1
        files: dict[str, str | None] = {"clusters/lab/notes.txt": f"{self.done['commits of others']}\n"}
        import_commit(self.stage.bare, "refs/heads/main", "from refs/heads/main^0\n", files)

    def locked_out(self, ticket: str) -> None:
        """Another ticket is refused, naming who holds the pool, and writes nothing."""
        before = self.stage.fleet.tips(["main", "gpu-lock/lab"])
        order = order_of(ticket, "borealis", 1)
        with pytest.raises((PolicyBlocked, Refused)) as caught:
            list(assign(self.stage, order, self.run(), reopen=False))
        if caught.type is PolicyBlocked:
            assert self.held in str(caught.value)
        assert self.stage.fleet.tips(["main", "gpu-lock/lab"]) == before
        self.done["locked out"] += 1

    def work_off(self, ticket: str) -> None:
        """A ticket's order: assigned, perhaps after several runs; refused; or canceled on the way."""
        chance = self.chance
        organization = chance.choice(list(ORDINARY))
        order = order_of(ticket, organization, chance.choice((1, 2, 4, 6, 9, 12)))
        while not self.carried_out(
            ticket, "assigned", assign(self.stage, order, self.run(), reopen=chance.random() < 0.5)
        ):
            record = self.stage.look().record(ticket)
            if record is None and not self.held:
                return
            if self.held and chance.random() < 0.3:
                self.locked_out(f"{ticket}x")
            if (record is None or record.state == "pending") and chance.random() < 0.4:
                self.give_up(ticket, known=record is not None)
                return
        self.active.append(ticket)

    def give_up(self, ticket: str, *, known: bool) -> None:
        """Cancel; where nothing was recorded yet the order is run to its end or refused instead."""
        if not known:
            order = order_of(ticket, "borealis", 1)
            while self.held and not self.carried_out(
                ticket, "assigned", assign(self.stage, order, self.run(), reopen=True)
            ):
                pass
            if self.stage.look().record(ticket) is None:
                return
            self.active.append(ticket)
            return
        while not self.carried_out(ticket, "canceled", cancel(self.stage, ticket, self.run(), reopen=True)):
            pass

    def give_back(self, ticket: str) -> None:
        """Release; where machines run it stays releasing until they are stopped."""
        record = self.stage.look().record(ticket)
        assert record is not None
        organization = record.spec.organization
        entitled = ORDINARY[organization] + sum(
            other.spec.devices
            for other in self.stage.look().ledger.records.values()
            if other.holds and other.spec.organization == organization
        )
        base = 2 if organization == "aurora" else 0
        if self.chance.random() < 0.4:
            self.stage.use(organization, entitled - base)
        while not self.carried_out(ticket, "released", release(self.stage, ticket, self.run(), reopen=True)):
            now = self.stage.look().record(ticket)
            assert now is not None
            assert now.state in ("active", "releasing", "released")
            if self.stage.used[organization] > base:
                self.stage.use(organization, 0)
        self.stage.use(organization, 0)
        self.active.remove(ticket)

    def node_fails(self, ticket: str) -> None:
        """A node is not ready: nothing is assigned, the audit says so, and a release goes on."""
        stage = self.stage
        stage.cluster.ready("gpu-04", "False")
        stage.later()
        reserved = sum(one.spec.devices for one in stage.look().ledger.records.values() if one.holds)
        oversold = reserved + sum(ORDINARY.values()) + SPARE > CAPACITY - 8
        stage.drift = DEGRADED | (OVERSOLD if oversold else frozenset())
        stage.require_sound()
        before = stage.fleet.tips(["main", "gpu-lock/lab"])
        with pytest.raises(Refused):
            list(assign(stage, order_of(ticket, "borealis", 1), self.run(), reopen=False))
        assert stage.fleet.tips(["main", "gpu-lock/lab"]) == before
        self.done["refused for a node"] += 1
        stage.cluster.ready("gpu-04", "True")
        stage.later()
        stage.drift = frozenset()
        stage.require_sound()


@pytest.mark.parametrize("tickets", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_a_history_of_tickets_audited_at_every_commit(stage: Stage, tickets: int) -> None:
    operator = Operator(stage, random.Random(tickets))
    for number in range(tickets):
        ticket = f"reh-{number}"
        operator.work_off(ticket)
        if number % 25 == 20:
            operator.node_fails(f"{ticket}n")
        while operator.active and (len(operator.active) > 4 or operator.chance.random() < 0.5):
            operator.give_back(operator.chance.choice(operator.active))
    done, records = operator.done, stage.look().ledger.records
    states = Counter(record.state for record in records.values())
    assert states["released"] == done["released"]
    assert states["canceled"] == done["canceled"]
    assert states["active"] == len(operator.active) + 1, "and LAB-0"
    assert not states["pending"] + states["releasing"]
    assert not done["lock-lost"], "nobody else took the lock"
    least = tickets // 40
    for what in ("assigned refused", "released refused", "canceled", "killed", "overtaken", "locked out"):
        assert done[what] >= least, done
    commits = subprocess.run(
        ["git", "-C", str(stage.bare), "rev-list", "--count", "gpu-lock/lab"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert stage.commits >= int(commits.stdout) >= 4 * tickets
