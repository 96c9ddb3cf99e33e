# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A release, step by step: what it leaves, what holds it up and what does not, interrupted anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import watched_by
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Alert
from ansible_collections.gpuops.reservations.plugins.module_utils._core.snapshot import AlertsObserved
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import (
    HRQS,
    ORGANIZATIONS,
    PODS,
    RESOURCES,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.assignment import Refused
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    RULES,
    CapacityWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.returning import release
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import pending
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.test_assign import KillAt, Killed

NODES = "/api/v1/nodes"
KEY = f"requests.{RESOURCES['h100-vm']}"
WRITES = 18
OLD = "2026-01-01T00:00:00Z"


def states(world: CapacityWorld) -> list[str]:
    return [line for line in world.subjects() if line.startswith("gpu-res-lab-0")]


def require_released(world: CapacityWorld) -> None:
    record = world.record("lab-0")
    assert record is not None
    assert record["spec"]["state"] == "released"
    assert record["status"]["reason"] == "released"
    assert record["status"]["releasedAt"] >= record["status"]["activatedAt"]
    assert record["status"]["releasedAt"].startswith(world.server.date[:10])
    assert record["status"]["evidenceRevision"].startswith("sha256:")
    assert world.add_ons("cumulus") == {}
    lock = world.lock()
    assert (lock["pools"], lock["gate"]["vm"]["closedFor"], lock["projectCaps"]) == ({}, [], {})


def require_waiting(world: CapacityWorld) -> None:
    """The record stays releasing, entitlement is untouched, and lock and gate keep anybody from reselling."""
    record = world.record("lab-0")
    assert record is not None
    assert record["spec"]["state"] == "releasing"
    assert record["status"]["releasedAt"] == ""
    assert world.add_ons("cumulus") == {"gpu-h100-reserved": 8}
    assert world.server.writes == []
    assert world.lock()["pools"]["h100-vm"]["ticket"] == "lab-0"
    assert world.lock()["gate"]["vm"]["closedFor"] == ["lab-0"]
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"


def stop_everything(world: CapacityWorld, organization: str = "cumulus") -> None:
    """The owner stops the machines: no Pod is left, and quota and status follow."""
    pods = world.server.items(PODS)
    pods[:] = [pod for pod in pods if not pod["metadata"]["namespace"].startswith(f"{organization}-")]
    world.server.use(organization, 0)


def test_release_writes_each_state_once_and_in_order(world: CapacityWorld) -> None:
    plan = release(world)
    assert [phase["status"] for phase in plan["phases"]] == ["done", "next", *["later"] * 6]
    assert plan["equation_before"]["headroom"] == 17
    assert plan["equation_after"]["headroom"] == 25
    require_released(world)
    assert [subject.split(":")[0] for subject in world.subjects()] == [
        "Close gate vm for LAB-0",
        "gpu-res-lab-0",
        "gpu-res-lab-0",
    ]
    assert states(world) == ["gpu-res-lab-0: releasing", "gpu-res-lab-0: released"]
    assert [(method, path.rpartition("/")[2]) for method, path, _ in world.server.writes] == [
        ("PATCH", "cumulus")
    ]
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"


def test_a_second_run_has_nothing_to_do(world: CapacityWorld) -> None:
    release(world)
    with world.untouched():
        plan = release(world)
    assert plan["to_do"]["run"] is False
    assert plan["next_action"] == "nothing to do"


def test_the_plan_in_check_mode_writes_nothing_and_reads_what_a_real_run_reads(world: CapacityWorld) -> None:
    with world.untouched():
        checked = world.run("gpu_plan_info", check=True, action="release", ticket="LAB-0")
    read = list(world.server.reads)
    world.server.reads.clear()
    world.run("gpu_plan_info", action="release", ticket="LAB-0")
    assert sorted(world.server.reads) == sorted(read)
    assert checked.result["allowed"]


def test_the_gate_opens_again_where_reopen_asks_and_the_service_has_recovered(world: CapacityWorld) -> None:
    release(world, reopen=True)
    require_released(world)
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "true"


def test_the_gate_stays_closed_where_the_service_has_not_recovered(world: CapacityWorld) -> None:
    not_ready(world)
    release(world, reopen=True)
    require_released(world)
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"


def not_ready(world: CapacityWorld) -> None:
    conditions = world.server.named(NODES, "gpu-02")["status"]["conditions"]
    next(entry for entry in conditions if entry["type"] == "Ready")["status"] = "False"


def stale_lease(world: CapacityWorld) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    world.server.named(leases, "gpu-03")["spec"]["renewTime"] = "2026-01-01T00:00:00.000000Z"


def alert(world: CapacityWorld) -> None:
    firing = Alert(labels={"alertname": "KubeDcOrganizationQuotaConfigInvalid"}, state="firing")
    world.alerts = AlertsObserved(readable=True, rules=dict(RULES), alerts=(firing,))


def alerts_unreachable(world: CapacityWorld) -> None:
    world.alerts = AlertsObserved(error="connection refused")


def oversold(world: CapacityWorld) -> None:
    world.server.entitle("aurora", {"gpu-h100-vm": 40})


def frozen(world: CapacityWorld) -> None:
    text = "since: '2026-11-01T00:00:00Z'\naudit: a-1\nfindings: [degraded-capacity]\nthawed: null\n"
    world.commit_file("gpu-reservations/lab/freezes/h100-vm.yaml", text)


def other_organization_drifts(world: CapacityWorld) -> None:
    hrq = next(item for item in world.server.items(HRQS) if item["metadata"]["namespace"] == "borealis")
    hrq["spec"]["hard"][KEY] = "1"


@pytest.mark.parametrize(
    "trouble",
    [not_ready, stale_lease, alert, alerts_unreachable, oversold, frozen, other_organization_drifts],
)
def test_what_does_not_hold_a_release_up(
    world: CapacityWorld, trouble: Callable[[CapacityWorld], None]
) -> None:
    trouble(world)
    release(world)
    require_released(world)


def holders(world: CapacityWorld) -> None:
    world.server.use("cumulus", 3)


def hrq_differs(world: CapacityWorld) -> None:
    hrq = next(item for item in world.server.items(HRQS) if item["metadata"]["namespace"] == "cumulus")
    hrq["spec"]["hard"][KEY] = "7"


def hrq_counts_more(world: CapacityWorld) -> None:
    hrq = next(item for item in world.server.items(HRQS) if item["metadata"]["namespace"] == "cumulus")
    hrq["status"]["used"][KEY] = "2"


def organization_counts_more(world: CapacityWorld) -> None:
    usage = world.server.named(ORGANIZATIONS, "cumulus")["status"]["quotaUsage"]
    usage["accelerators"]["h100-vm"]["devices"]["used"] = "2"


def project_counts_more(world: CapacityWorld) -> None:
    usage = world.server.named("/apis/kube-dc.com/v1/projects", "lab")["status"]["quotaUsage"]
    usage["accelerators"]["h100-vm"]["devices"]["used"] = "2"


def stale_status(world: CapacityWorld) -> None:
    world.server.named(ORGANIZATIONS, "cumulus")["status"]["quotaUsage"]["lastUpdated"] = OLD


def strange_quantity(world: CapacityWorld) -> None:
    hrq = next(item for item in world.server.items(HRQS) if item["metadata"]["namespace"] == "cumulus")
    hrq["status"]["used"][KEY] = "0x8"


def stranger(world: CapacityWorld) -> None:
    holders(world)
    for pod in world.server.items(PODS):
        if pod["metadata"]["namespace"] == "cumulus-lab":
            pod["metadata"]["namespace"] = "nobodys"
    world.server.use("cumulus", 0)


def record_missing_elsewhere(world: CapacityWorld) -> None:
    world.server.entitle("borealis", {"gpu-h100-vm": 2, "gpu-h100-reserved": 4})


@pytest.mark.parametrize(
    ("trouble", "said", "reason"),
    [
        (holders, "cumulus-lab/Pod/worker-0", "waiting-for-holders"),
        (hrq_differs, "hard quota is 7", "release-requested"),
        (hrq_counts_more, "quota counts 2 devices, 0 stay entitled", "waiting-for-holders"),
        (organization_counts_more, "Organization counts 2 devices", "waiting-for-holders"),
        (project_counts_more, "Project lab counts 2 devices", "waiting-for-holders"),
        (stale_status, "stale", "release-requested"),
        (strange_quantity, "0x8", "release-requested"),
        (stranger, "nobodys", "release-requested"),
        (record_missing_elsewhere, "ledger's records cover 0", "release-requested"),
    ],
)
def test_what_holds_a_release_up_leaves_the_entitlement_untouched(
    world: CapacityWorld, trouble: Callable[[CapacityWorld], None], said: str, reason: str
) -> None:
    trouble(world)
    with pytest.raises(Refused) as caught:
        release(world)
    assert said in caught.value.ran.msg
    require_waiting(world)
    record = world.record("lab-0")
    assert record is not None
    assert record["status"]["reason"] == reason


def test_owners_are_named_and_asked_and_a_second_run_finishes(world: CapacityWorld) -> None:
    holders(world)
    with pytest.raises(Refused) as caught:
        release(world)
    asked = caught.value.ran.result
    assert asked["in_use"]
    assert [item["owner"] for item in asked["holders"]] == ["Pod/worker-0", "Pod/worker-1", "Pod/worker-2"]
    event = asked["event"]
    assert (event["kind"], event["organization"], event["profile"]) == (
        "release-requested",
        "cumulus",
        "h100-vm",
    )
    assert "cumulus-lab/Pod/worker-1" in event["owners"]
    assert "stop their VMs normally" in event["next_action"]
    require_waiting(world)
    stop_everything(world)
    release(world)
    require_released(world)
    assert states(world) == [
        "gpu-res-lab-0: releasing",
        "gpu-res-lab-0: releasing",
        "gpu-res-lab-0: released",
    ]


def test_a_terminating_pod_past_its_grace_still_holds(world: CapacityWorld) -> None:
    """Quota no longer counts it; its device is not free."""
    world.server.use("cumulus", 1)
    [pod] = [item for item in world.server.items(PODS) if item["metadata"]["namespace"] == "cumulus-lab"]
    pod["metadata"].update(deletionTimestamp=OLD, deletionGracePeriodSeconds=1)
    for hrq in (item for item in world.server.items(HRQS) if item["metadata"]["namespace"] == "cumulus"):
        hrq["status"]["used"][KEY] = "0"
    organization_used = world.server.named(ORGANIZATIONS, "cumulus")["status"]["quotaUsage"]["accelerators"]
    organization_used["h100-vm"]["devices"]["used"] = "0"
    with pytest.raises(Refused) as caught:
        release(world)
    assert "holders counts 1 devices, 0 stay entitled" in caught.value.ran.msg
    assert "Terminating" in caught.value.ran.msg
    require_waiting(world)


def test_an_invalid_record_of_anybody_stops_before_anything_is_touched(world: CapacityWorld) -> None:
    world.commit_file("gpu-reservations/lab/records/gpu-res-x.yaml", "kind: nothing\n")
    with world.untouched():
        ran = world.run("gpu_plan_info", action="release", ticket="LAB-0")
    assert ran.code == "ledger-invalid"


def test_an_organization_that_is_gone_has_nothing_to_give_back(world: CapacityWorld) -> None:
    organizations = world.server.items(ORGANIZATIONS)
    organizations[:] = [item for item in organizations if item["metadata"]["name"] != "cumulus"]
    release(world)
    record = world.record("lab-0")
    assert record is not None
    assert record["spec"]["state"] == "released"
    assert world.server.writes == []


def test_a_suspended_subscription_is_released_all_the_same(world: CapacityWorld) -> None:
    annotations = world.server.named(ORGANIZATIONS, "cumulus")["metadata"]["annotations"]
    annotations["billing.kube-dc.com/subscription"] = "suspended"
    release(world)
    require_released(world)


class Once:
    """Does something the n-th time the Pods are listed."""

    def __init__(self, number: int, do: Callable[[], object]) -> None:
        self._left, self._do = number, do

    def reached(self, site: str) -> None:
        if site == f"kube GET {PODS}":
            self._left -= 1
            if self._left == 0:
                self._do()


def _ready_to_reduce(world: CapacityWorld) -> dict[str, Any]:
    plan = world.run("gpu_plan_info", action="release", ticket="LAB-0").result
    run: dict[str, Any] = {"ticket": "LAB-0", "run_id": plan["run_id"]}
    steps: tuple[tuple[str, dict[str, Any]], ...] = (
        ("gpu_lock", {"state": "held", "profile_id": "h100-vm"}),
        ("gpu_creation_gate", {"state": "closed", "gate": "vm", "profile_id": "h100-vm"}),
        ("gpu_ledger_record", {"state": "releasing"}),
    )
    for module, options in steps:
        ran = world.run(module, **options, **run)
        assert not ran.failed, ran.msg
    return run


def test_the_reduction_itself_asks_again_for_holders(world: CapacityWorld) -> None:
    """Skipping the tasks that wait skips no gate."""
    run = _ready_to_reduce(world)
    holders(world)
    ran = world.run("gpu_addon", reduce=True, **run)
    assert (ran.failed, ran.code) == (True, "entitlement-in-use")
    require_waiting(world)


def test_the_reduction_reads_twice_and_sees_a_holder_that_comes_in_between(world: CapacityWorld) -> None:
    run = _ready_to_reduce(world)
    with watched_by(Once(3, lambda: holders(world))):
        ran = world.run("gpu_addon", reduce=True, **run)
    assert (ran.failed, ran.code) == (True, "entitlement-in-use")
    require_waiting(world)


def test_released_is_not_written_before_the_entitlement_is_back(world: CapacityWorld) -> None:
    run = _ready_to_reduce(world)
    sealed = world.run(
        "gpu_evidence", state="sealed", reports={"after": {"equation": {"headroom": 1}}}, **run
    )
    revision = sealed.result["evidence_revision"]
    ran = world.run("gpu_ledger_record", state="released", evidence_revision=revision, **run)
    assert (ran.failed, ran.code) == (True, "entitlement-not-taken-back")
    assert not world.run("gpu_addon", reduce=True, **run).failed
    holders(world)
    ran = world.run("gpu_ledger_record", state="released", evidence_revision=revision, **run)
    assert (ran.failed, ran.code) == (True, "entitlement-in-use")
    stop_everything(world)
    ran = world.run("gpu_ledger_record", state="released", evidence_revision=revision, **run)
    assert not ran.failed, ran.msg


def test_released_needs_the_recalculated_equation_in_evidence(world: CapacityWorld) -> None:
    run = _ready_to_reduce(world)
    assert not world.run("gpu_addon", reduce=True, **run).failed
    revision = world.run("gpu_evidence", state="sealed", **run).result["evidence_revision"]
    ran = world.run("gpu_ledger_record", state="released", evidence_revision=revision, **run)
    assert (ran.failed, ran.code) == (True, "equation-not-recorded")


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("gpu_ledger_record", {"state": "releasing"}),
        ("gpu_addon", {"reduce": True}),
        ("gpu_creation_gate", {"state": "released", "profile_id": "h100-vm", "recovered": True}),
        ("gpu_lock", {"state": "released", "profile_id": "h100-vm"}),
    ],
)
def test_of_two_runs_the_earlier_stops_at_its_next_step(
    world: CapacityWorld, module: str, options: dict[str, Any]
) -> None:
    earlier = _ready_to_reduce(world)
    later: dict[str, Any] = {"state": "held", "profile_id": "h100-vm", "ticket": "LAB-0", "run_id": "02LATER"}
    assert not world.run("gpu_lock", **later).failed
    before = world.refs()
    ran = world.run(module, **options, **earlier)
    assert (ran.failed, ran.code) == (True, "lock-lost")
    assert world.refs() == before
    release(world)
    require_released(world)


def test_a_pool_that_another_ticket_holds_is_refused_naming_it(world: CapacityWorld) -> None:
    other: dict[str, Any] = {"state": "held", "profile_id": "h100-vm", "ticket": "OTHER-1", "run_id": "01X"}
    assert not world.run("gpu_lock", **other).failed
    with world.untouched(), pytest.raises(Refused) as caught:
        release(world)
    assert "locked for other-1" in caught.value.ran.msg


@pytest.mark.parametrize(
    ("ticket", "said"),
    [("NONE-1", "no record gpu-res-none-1"), ("LAB-9", "playbooks/cancel.yml -e ticket=lab-9")],
)
def test_only_an_active_record_is_released(world: CapacityWorld, ticket: str, said: str) -> None:
    pending(world)
    with world.untouched(), pytest.raises(Refused) as caught:
        release(world, ticket)
    assert said in caught.value.ran.msg


def test_observe_says_what_to_click_and_writes_no_annotation(world: CapacityWorld) -> None:
    world.edit_policy(entitlementTransport="observe")
    plan = world.run("gpu_plan_info", action="release", ticket="LAB-0").result
    [click] = plan["operator_steps"]
    assert click.startswith(
        "Admin > Organization > cumulus > Billing > Manage add-ons: reduce gpu-h100-reserved"
    )
    assert "from 8 to 0; not before nobody uses the devices" in click
    run = _ready_to_reduce(world)
    ran = world.run("gpu_addon", reduce=True, wait_timeout=0, **run)
    assert (ran.failed, ran.code) == (True, "entitlement-not-converged")
    assert "set gpu-h100-reserved to 0" in ran.msg
    require_waiting(world)
    world.server.entitle("cumulus", {})
    release(world)
    require_released(world)
    assert world.server.writes == []


def test_a_release_writes_as_often_as_it_is_killed_below(world: CapacityWorld) -> None:
    watcher = KillAt(0)
    with watched_by(watcher):
        release(world)
    assert len(watcher.sites) == WRITES, watcher.sites


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, WRITES + 1))
def test_killed_at_a_call_site_that_writes_and_run_again(world: CapacityWorld, number: int) -> None:
    world.server.lag = number % 3
    with watched_by(KillAt(number)), pytest.raises(Killed):
        release(world)
    release(world)
    require_released(world)
    assert states(world) == ["gpu-res-lab-0: releasing", "gpu-res-lab-0: released"]
