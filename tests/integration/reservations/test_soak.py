# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Killed at random and run again, on the real API server; a handful always, many with ``-m soak``."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    GpuopsError,
    ObservationError,
    PartialChange,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    RESERVATIONS,
    TRAINING,
    Stage,
    pods,
    refusal,
    shown_taints,
)
from lab.directory import CHECKOUT
from lab.environment import exports

FOO, BAR = "tenant-foo", "tenant-bar"
NODES = list(TRAINING[:5])


def killed_run(stage: Stage, seconds: float) -> bool:
    """One run of the playbook, killed with all it started after so long; whether it was still running."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("GPUOPS_", "KUBE", "K8S_"))}
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / "ansible-playbook"), "playbooks/reservations.yml"],
        cwd=CHECKOUT,
        env={**inherited, **exports(stage.lab), "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def owned(stage: Stage) -> set[str]:
    found = set()
    for name in TRAINING:
        node = stage.node(name)
        if node["metadata"]["labels"].get("reserved.tenant") == FOO:
            assert node["metadata"]["annotations"]["gpuops.reservations/reserved-by"] == "foo"
            found.add(name)
    return found


def storm(stage: Stage, rounds: int, seed: int) -> None:
    """Edits, each followed by a run that is killed; after each, one undisturbed run has to make it right."""
    chance = random.Random(seed)
    stage.reserve("foo", FOO, ["train-01"])
    stage.bind(FOO, "foo")
    began = time.monotonic()
    stage.play("reservations")
    whole = time.monotonic() - began
    killed = 0
    for number in range(rounds):
        wanted = sorted(chance.sample(NODES, chance.randint(1, len(NODES))))
        stage.edit_reservation("foo", reservedNodes=wanted)
        killed += killed_run(stage, chance.uniform(0.3, 1.0) * whole)
        stage.reconcile()
        assert owned(stage) == set(wanted), f"round {number}, seed {seed}"
        status = stage.get(f"{RESERVATIONS}/foo")["status"]
        assert {node["name"] for node in status["nodes"]} == set(wanted)
        assert not [n for n in TRAINING if stage.node(n)["spec"].get("unschedulable")]
        assert not stage.reconcile().changed
    assert killed > 0, "no run was killed: the test shows nothing"


def test_a_handful_of_kills(stage: Stage) -> None:
    storm(stage, 4, seed=1)


@pytest.mark.soak
@pytest.mark.slow
def test_many_kills(stage: Stage) -> None:
    storm(stage, int(os.environ.get("GPUOPS_SOAK_ROUNDS", "100")), seed=int(time.time()))


class Churn:
    """Everybody at once: Reservations are edited, made and deleted, Pods come and go, people touch nodes."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self.chance = random.Random(seed)
        self.done = threading.Event()
        self.acts = 0
        self.problems: list[str] = []

    def run(self) -> None:
        acts = (
            self.edit,
            self.edit,
            self.make_pod,
            self.make_pod,
            self.drop_pod,
            self.touch_node,
            self.replace,
        )
        while not self.done.is_set():
            try:
                self.chance.choice(acts)()
            except GpuopsError:
                continue  # somebody else was faster, or a claim makes no sense: as in life
            except Exception as error:  # noqa: BLE001 - the test fails with it
                self.problems.append(repr(error))
                return
            self.acts += 1

    def edit(self) -> None:
        name = self.chance.choice(("foo", "bar"))
        nodes = self.chance.sample(NODES, self.chance.randint(1, 3))
        self.stage.edit_reservation(
            name, reservedNodes=sorted(nodes), evictOnRelease=self.chance.random() < 0.5
        )

    def replace(self) -> None:
        """Deleted, and made anew as soon as it has let go."""
        name = self.chance.choice(("foo", "bar"))
        self.stage.admin.delete(f"{RESERVATIONS}/{name}")
        self.stage.reserve(name, f"tenant-{name}", [self.chance.choice(NODES)])

    def make_pod(self) -> None:
        tenant = self.chance.choice((FOO, BAR))
        pod = self.stage.pod(f"job-{self.chance.randint(1, 6)}", tenant, gpus=self.chance.choice((0, 2, 8)))
        self.stage.tenants[tenant].create(pods(tenant), pod)

    def drop_pod(self) -> None:
        tenant = self.chance.choice((FOO, BAR))
        self.stage.admin.delete(f"{pods(tenant)}/job-{self.chance.randint(1, 6)}")

    def touch_node(self) -> None:
        path = f"/api/v1/nodes/{self.chance.choice(NODES)}"
        patches: tuple[dict[str, Any], ...] = (
            {"metadata": {"labels": {"reserved.tenant": None}}},
            {"metadata": {"labels": {"reserved.tenant": self.chance.choice((FOO, BAR))}}},
            {"spec": {"unschedulable": True}},
            {"spec": {"unschedulable": None}},
            {"spec": {"taints": None}},
        )
        self.stage.admin.patch(path, self.chance.choice(patches))


def come_to_rest(stage: Stage) -> None:
    """Nobody changes anything any more: after some passes nothing is left to do, and it is right."""
    for tenant in (FOO, BAR):
        stage.admin.delete(pods(tenant))
        stage.no_pods(tenant)
    for _ in range(4):  # those that are being deleted let go
        refusal(stage.reconcile)
    for name, nodes in (("foo", ["train-01", "train-02"]), ("bar", ["train-03"])):
        if not stage.exists(f"{RESERVATIONS}/{name}"):
            stage.reserve(name, f"tenant-{name}", nodes)
        stage.edit_reservation(name, reservedNodes=nodes)
    for _ in range(6):
        refusal(stage.reconcile)
    for name in NODES:  # what people left as it is when they went is theirs
        node = stage.node(name)
        marks = node["metadata"].get("annotations", {})
        if "gpuops.reservations/reserved-by" not in marks:
            stage.wipe(name)
    assert refusal(stage.reconcile) == ""
    assert not stage.reconcile().changed
    held = {name: stage.node(name)["metadata"]["labels"].get("reserved.tenant", "") for name in NODES}
    assert held == {"train-01": FOO, "train-02": FOO, "train-03": BAR, "train-04": "", "train-05": ""}
    for name, tenant in (("train-01", FOO), ("train-03", BAR)):
        assert shown_taints(stage.node(name)) == [f"reserved={tenant}:NoSchedule"]


def churn(stage: Stage, seconds: float, seed: int) -> None:
    stage.reserve("foo", FOO, ["train-01"])
    stage.reserve("bar", BAR, ["train-03"])
    for tenant in (FOO, BAR):
        stage.bind(tenant, tenant.removeprefix("tenant-"))
    stage.reconcile()
    others = Churn(stage, seed)
    thread = threading.Thread(target=others.run)
    thread.start()
    end, passes, said = time.monotonic() + seconds, 0, set()
    try:
        while time.monotonic() < end and not others.problems:
            try:
                stage.reconcile()
            except (PolicyBlocked, ConflictError, PartialChange, ObservationError) as error:
                said.add(error.code)
            passes += 1
    finally:
        others.done.set()
        thread.join()
    assert others.problems == [], f"seed {seed}"
    assert passes > 3
    assert others.acts > passes
    assert said <= EXPECTED, f"seed {seed}"
    come_to_rest(stage)


EXPECTED = {"reservation-rejected", "node-contested", "node-taken", "object-changed", "object-gone"}
"""What a pass may say beside people who change everything: overlap, and that somebody was faster."""


def test_some_seconds_of_churn(stage: Stage) -> None:
    churn(stage, 15, seed=1)


@pytest.mark.soak
@pytest.mark.slow
def test_minutes_of_churn(stage: Stage) -> None:
    churn(stage, 60 * float(os.environ.get("GPUOPS_SOAK_MINUTES", "60")), seed=int(time.time()))


@pytest.mark.soak
@pytest.mark.slow
def test_hours_of_reconcile_change_nothing(stage: Stage) -> None:
    """Nothing happens, and nothing is written: no version of a node or Reservation moves."""
    stage.reserve("foo", FOO, NODES)
    stage.bind(FOO, "foo")
    stage.reconcile()
    version = stage.get(f"{RESERVATIONS}/foo")["metadata"]["resourceVersion"]
    until = time.monotonic() + 60 * float(os.environ.get("GPUOPS_SOAK_MINUTES", "60"))
    passes = 0
    while time.monotonic() < until:
        assert refusal(stage.reconcile) == ""
        passes += 1
    assert passes > 0
    assert stage.get(f"{RESERVATIONS}/foo")["metadata"]["resourceVersion"] == version
    assert owned(stage) == set(NODES)
