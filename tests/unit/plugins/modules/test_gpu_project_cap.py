# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_project_cap: the project's device cap, no more than reserved, no less than used."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils import (
    _shell,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import (
    watched_by,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import (
    ORGANIZATIONS,
    PROJECTS,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    LOCK_BRANCH,
    POOL,
    RUN,
    When,
    entitled,
    lock_text,
)

CALLERS = [
    importlib.import_module(f"{_shell.__name__}.{found.name}")
    for found in pkgutil.iter_modules(_shell.__path__)
]


KEY = "requests.nvidia.com/GH100_H100_SXM5_80GB"
QUOTAS = "/api/v1/resourcequotas"


class Backend:
    """The product's route, which writes ResourceQuota project-quota."""

    def __init__(self, world: CapacityWorld) -> None:
        self.world = world
        self.calls: list[tuple[str, str, Any]] = []
        self.forgets = False

    def put_quota(self, namespace: str, content: Any) -> None:
        self.calls.append(("PUT", namespace, content))
        if not self.forgets:
            set_cap(self.world, namespace, content["hard"])

    def delete_quota(self, namespace: str) -> None:
        self.calls.append(("DELETE", namespace, None))
        set_cap(self.world, namespace, None)


def set_cap(world: CapacityWorld, namespace: str, hard: Any) -> None:
    quotas = world.server.items(QUOTAS)
    quotas[:] = [item for item in quotas if item["metadata"]["name"] != "project-quota"]
    if hard is not None:
        meta = {"name": "project-quota", "namespace": namespace, "resourceVersion": "7"}
        quotas.append({"metadata": meta, "spec": {"hard": dict(hard)}, "status": {"used": {}}})
    project = next(item for item in world.server.items(PROJECTS) if item["status"]["namespace"] == namespace)
    usage = project["status"]["quotaUsage"]
    usage["perProjectQuotaSet"] = hard is not None
    organization = world.server.named(ORGANIZATIONS, project["metadata"]["namespace"])
    devices = usage["accelerators"][POOL]["devices"]
    devices["hard"] = organization["status"]["quotaUsage"]["accelerators"][POOL]["devices"]["hard"]
    if hard and KEY in hard:
        devices["hard"] = str(hard[KEY])


def cap(world: CapacityWorld) -> Any:
    found = [item for item in world.server.items(QUOTAS) if item["metadata"]["name"] == "project-quota"]
    return found[0]["spec"]["hard"] if found else None


@pytest.fixture
def backend(world: CapacityWorld, monkeypatch: pytest.MonkeyPatch) -> Backend:
    entitled(world, project="ml")
    set_cap(world, "borealis-ml", None)
    played = Backend(world)
    for module in CALLERS:
        if hasattr(module, "BackendClient"):
            monkeypatch.setattr(module, "BackendClient", lambda *_: played)
    return played


REACH = {"backend_url": "http://backend", "backend_token_file": "/nowhere", **RUN}


def test_a_project_is_capped_at_the_reserved_count(world: CapacityWorld, backend: Backend) -> None:
    ran = world.run("gpu_project_cap", **REACH)
    assert not ran.failed, ran.msg
    assert (ran.result["changed"], ran.result["before"], ran.result["after"]) == (True, None, 8)
    assert cap(world) == {KEY: "8"}
    assert world.lock()["projectCaps"] == {"lab-9": None}
    assert world.server.writes == []
    assert ran.result["diff"]
    with world.untouched():
        again = world.run("gpu_project_cap", **REACH)
    assert again.result["changed"] is False
    assert len(backend.calls) == 1


def test_check_mode_plans_the_same_and_asks_nothing_of_the_backend(
    world: CapacityWorld, backend: Backend
) -> None:
    with world.untouched():
        planned = world.run("gpu_project_cap", check=True, **REACH)
    assert backend.calls == []
    read = set(world.server.reads)
    world.server.reads.clear()
    made = world.run("gpu_project_cap", **REACH)
    assert set(world.server.reads) == read
    assert planned.result["plan_digest"] == made.result["plan_digest"]


def test_other_keys_of_the_cap_stay_and_the_old_number_is_remembered(
    world: CapacityWorld, backend: Backend
) -> None:
    set_cap(world, "borealis-ml", {"requests.cpu": "4", KEY: "2"})
    ran = world.run("gpu_project_cap", **REACH)
    assert not ran.failed, ran.msg
    assert cap(world) == {"requests.cpu": "4", KEY: "8"}
    assert world.lock()["projectCaps"] == {"lab-9": 2}


def test_it_is_never_below_use(world: CapacityWorld, backend: Backend) -> None:
    world.server.use("borealis", 9)
    with world.untouched():
        ran = world.run("gpu_project_cap", **REACH)
    assert ran.failed
    assert ran.code == "project-cap-below-use"
    assert backend.calls == []


def test_a_backend_that_forgets_is_a_partial_change(world: CapacityWorld, backend: Backend) -> None:
    backend.forgets = True
    ran = world.run("gpu_project_cap", wait_timeout=0, **REACH)
    assert ran.failed
    assert ran.code == "project-cap-not-converged"
    assert ran.result["changed"] is True


def test_observe_says_what_to_set_and_asks_nothing_of_the_backend(
    world: CapacityWorld, backend: Backend
) -> None:
    world.edit_policy(projectCap="observe")
    ran = world.run("gpu_project_cap", wait_timeout=0, **RUN)
    assert ran.failed
    assert ran.code == "project-cap-not-converged"
    assert "set the device cap of project ml to 8" in ran.result["error"]["next_action"]
    assert backend.calls == []


def test_without_the_lock_nothing_is_capped(world: CapacityWorld, backend: Backend) -> None:
    world.commit_file("lock.yaml", lock_text(run_id="02RUN"), branch=LOCK_BRANCH)
    with world.untouched():
        ran = world.run("gpu_project_cap", **REACH)
    assert ran.failed
    assert ran.code == "lock-lost"
    assert backend.calls == []


def test_a_lock_taken_over_meanwhile_stops_it_before_the_backend(
    world: CapacityWorld, backend: Backend
) -> None:
    later = lock_text(run_id="02RUN")
    with watched_by(When("fleet push", lambda: world.commit_file("lock.yaml", later, branch=LOCK_BRANCH))):
        ran = world.run("gpu_project_cap", **REACH)
    assert ran.failed
    assert ran.code == "lock-lost"
    assert backend.calls == []


@pytest.mark.parametrize("missing", ["backend_url", "backend_token_file"])
def test_a_backend_that_is_not_named_stops_it_by_option(
    world: CapacityWorld, backend: Backend, missing: str
) -> None:
    given = {key: value for key, value in REACH.items() if key != missing}
    ran = world.run("gpu_project_cap", **given)
    assert ran.failed
    assert missing in ran.msg
    assert backend.calls == []
    assert world.lock()["projectCaps"] == {}, "nothing is noted for a change that cannot be made"


@pytest.mark.parametrize("value", ["0x8", "1.5", "-1"])
def test_a_cap_that_cannot_be_read_is_not_written_over(
    world: CapacityWorld, backend: Backend, value: str
) -> None:
    set_cap(world, "borealis-ml", {KEY: value})
    with world.untouched():
        ran = world.run("gpu_project_cap", **REACH)
    assert ran.failed
    assert "borealis" in ran.msg
    assert backend.calls == []


def test_a_hold_of_the_whole_organization_has_no_cap(world: CapacityWorld) -> None:
    entitled(world)
    with world.untouched():
        ran = world.run("gpu_project_cap", **REACH)
    assert ran.failed
    assert ran.code == "record-without-project"
