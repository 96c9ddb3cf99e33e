# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What stops an assignment (runbook: 2. Freeze and snapshot, and 1. Qualify the order), one case a line.

Each world is the fixture with one thing wrong. The plan and the proof both have to say no, under the
same identifier and naming the object, and nothing may be written.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Alert
from ansible_collections.gpuops.reservations.plugins.module_utils._core.snapshot import AlertsObserved
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import (
    ADD_ONS,
    HRQS,
    LEASES,
    ORGANIZATIONS,
    PODS,
    PROJECTS,
    RESOURCES,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    RULES,
    CapacityWorld,
    Ran,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    LOCK_BRANCH,
    POOL,
    RECORD_FILE,
    SURVEY,
    TICKET,
    lock_text,
    pending_text,
)

H100 = RESOURCES[POOL]
KEY = f"requests.{H100}"
NODES = "/api/v1/nodes"
QUOTAS = "/api/v1/resourcequotas"
PLANS = "/api/v1/namespaces/kube-dc/configmaps/billing-plans"
PROFILES = "/api/v1/namespaces/kube-dc/configmaps/gpu-profiles"
CONFIG = "/api/v1/namespaces/flux-system/configmaps/cluster-config"
LONG_AGO = "2026-11-01T00:00:00.000000Z"
LEDGER = "gpu-reservations/lab"
LAB_0 = f"{LEDGER}/records/gpu-res-lab-0.yaml"


def node(world: CapacityWorld, name: str = "gpu-01") -> dict[str, Any]:
    return world.server.named(NODES, name)


def organization(world: CapacityWorld, name: str = "aurora") -> dict[str, Any]:
    return world.server.named(ORGANIZATIONS, name)


def hrq(world: CapacityWorld, name: str) -> dict[str, Any]:
    return next(item for item in world.server.items(HRQS) if item["metadata"]["namespace"] == name)


def stale_lease(world: CapacityWorld) -> None:
    world.server.named(LEASES, "gpu-01")["spec"]["renewTime"] = LONG_AGO


def no_lease(world: CapacityWorld) -> None:
    items = world.server.items(LEASES)
    items[:] = [item for item in items if item["metadata"]["name"] != "gpu-01"]


def stale_status(world: CapacityWorld) -> None:
    organization(world)["status"]["quotaUsage"]["lastUpdated"] = LONG_AGO


def status_without_time(world: CapacityWorld) -> None:
    del organization(world)["status"]["quotaUsage"]["lastUpdated"]


def not_ready(world: CapacityWorld) -> None:
    for condition in node(world)["status"]["conditions"]:
        if condition["type"] == "Ready":
            condition["status"] = "False"


def vanished_node(world: CapacityWorld) -> None:
    items = world.server.items(NODES)
    items[:] = [item for item in items if item["metadata"]["name"] != "gpu-01"]


def vanished_device(world: CapacityWorld) -> None:
    for amounts in (node(world)["status"]["allocatable"], node(world)["status"]["capacity"]):
        amounts[H100] = "7"


def hexadecimal_device(world: CapacityWorld) -> None:
    node(world)["status"]["allocatable"][H100] = "0x8"


def dead_plugin(world: CapacityWorld) -> None:
    node(world)["status"]["allocatable"][H100] = "0"
    pods = world.server.items(PODS)
    pods[:] = [
        item
        for item in pods
        if item["metadata"]["namespace"] != "gpu-operator" or item["spec"].get("nodeName") != "gpu-01"
    ]


def label_drift(world: CapacityWorld) -> None:
    node(world)["metadata"]["labels"]["kube-dc.com/gpu.workload-mode"] = "pod-hami"


def expected_drift(world: CapacityWorld) -> None:
    node(world)["metadata"]["labels"]["kube-dc.com/gpu.expected-workload-mode"] = "pod-hami"


def rule_drift(world: CapacityWorld) -> None:
    path = "clusters/lab/gpu-node-modes/nodefeaturerule.yaml"
    text = world.file(path)
    assert "gpu-01" in text
    world.commit_file(path, text.replace("gpu-01", "gpu-09"))


def both_plugins(world: CapacityWorld) -> None:
    hami = next(item for item in world.server.items(PODS) if "hami" in item["metadata"]["name"])
    copied = json.loads(json.dumps(hami))
    copied["metadata"].update(name="hami-device-plugin-x", uid="x")
    copied["spec"]["nodeName"] = "gpu-01"
    world.server.items(PODS).append(copied)


def alert(state: str) -> Callable[[CapacityWorld], None]:
    def bend(world: CapacityWorld) -> None:
        found = Alert(labels={"alertname": "KubeDcGPUXidError"}, state=state)
        world.alerts = AlertsObserved(readable=True, rules=dict(RULES), alerts=(found,))

    return bend


def no_alert_source(world: CapacityWorld) -> None:
    world.alerts = AlertsObserved(error="connection refused")


def no_alert_rules(world: CapacityWorld) -> None:
    world.alerts = AlertsObserved(readable=True, rules={})


def no_hrq(world: CapacityWorld) -> None:
    items = world.server.items(HRQS)
    items[:] = [item for item in items if item["metadata"]["namespace"] != "aurora"]
    quotas = world.server.items(QUOTAS)
    quotas[:] = [item for item in quotas if item["metadata"]["namespace"] != "aurora-vision"]


def no_key(world: CapacityWorld) -> None:
    for quota in (hrq(world, "aurora"), *world.server.items(QUOTAS)):
        if quota["metadata"]["namespace"] in {"aurora", "aurora-vision"}:
            quota["spec"]["hard"].pop(KEY, None)
            (quota["status"].get("hard") or {}).pop(KEY, None)


def no_key_in_one_of_two_projects(world: CapacityWorld) -> None:
    hrq(world, "aurora")["spec"]["hard"].pop(KEY)
    hrq(world, "aurora")["status"]["hard"].pop(KEY)
    second = json.loads(json.dumps(world.server.named(PROJECTS, "vision")))
    second["metadata"].update(name="sound", uid="sound")
    second["status"]["namespace"] = "aurora-sound"
    world.server.items(PROJECTS).append(second)


def hard_text(text: Any) -> Callable[[CapacityWorld], None]:
    def bend(world: CapacityWorld) -> None:
        hrq(world, "aurora")["spec"]["hard"][KEY] = text
        hrq(world, "aurora")["status"]["hard"][KEY] = text

    return bend


def hrq_says_more(world: CapacityWorld) -> None:
    hard_text("5")(world)


def status_says_more(world: CapacityWorld) -> None:
    organization(world)["status"]["quotaUsage"]["accelerators"][POOL]["devices"]["hard"] = "5"


def status_says_nothing(world: CapacityWorld) -> None:
    del organization(world)["status"]["quotaUsage"]["accelerators"][POOL]


def use_differs(world: CapacityWorld) -> None:
    hrq(world, "aurora")["status"]["used"][KEY] = "1"


def annotated(entries: Any, name: str = "aurora") -> Callable[[CapacityWorld], None]:
    def bend(world: CapacityWorld) -> None:
        text = entries if isinstance(entries, str) else json.dumps(entries)
        organization(world, name)["metadata"]["annotations"][ADD_ONS] = text

    return bend


def grant_without_record(world: CapacityWorld) -> None:
    world.server.entitle("aurora", {"gpu-h100-vm": 4, "gpu-h100-reserved": 1})


def unknown_add_on(world: CapacityWorld) -> None:
    annotated([{"addonId": "gpu-h100-vm", "quantity": 4}, {"addonId": "gpu-gone", "quantity": 1}])(world)


def plans(old: str, new: str) -> Callable[[CapacityWorld], None]:
    def bend(world: CapacityWorld) -> None:
        data = world.server.objects[PLANS]["data"]
        assert old in data["plans.yaml"]
        data["plans.yaml"] = data["plans.yaml"].replace(old, new)

    return bend


def profiles(old: str, new: str) -> Callable[[CapacityWorld], None]:
    def bend(world: CapacityWorld) -> None:
        data = world.server.objects[PROFILES]["data"]
        assert old in data["profiles.yaml"]
        data["profiles.yaml"] = data["profiles.yaml"].replace(old, new)

    return bend


def host_devices(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[CapacityWorld], None]:
    def bend(world: CapacityWorld) -> None:
        kubevirt = world.server.items("/apis/kubevirt.io/v1/kubevirts")[0]
        change(kubevirt["spec"]["configuration"]["permittedHostDevices"]["pciHostDevices"])

    return bend


def stray_holder(world: CapacityWorld) -> None:
    pod = json.loads(
        json.dumps(next(p for p in world.server.items(PODS) if "launcher" in p["metadata"]["name"]))
    )
    pod["metadata"].update(name="stray", namespace="elsewhere", uid="stray", ownerReferences=[])
    world.server.items(PODS).append(pod)


def policy(**changes: Any) -> Callable[[CapacityWorld], None]:
    return lambda world: world.edit_policy(**changes)


def ledger(path: str, old: str, new: str) -> Callable[[CapacityWorld], None]:
    def bend(world: CapacityWorld) -> None:
        text = world.file(path)
        assert old in text
        world.commit_file(path, text.replace(old, new))

    return bend


def file(path: str, text: str) -> Callable[[CapacityWorld], None]:
    return lambda world: world.commit_file(path, text)


def duplicate(world: CapacityWorld) -> None:
    world.commit_file("gpu-reservations/other/records/gpu-res-lab-0.yaml", world.file(LAB_0))


def other_uid(world: CapacityWorld) -> None:
    world.server.named("/api/v1/namespaces", "kube-system")["metadata"]["uid"] = "other"


def other_name(world: CapacityWorld) -> None:
    world.server.frozen_gates = True
    world.server.objects[CONFIG]["data"]["CLUSTER_NAME"] = "production"


def sold_out(world: CapacityWorld) -> None:
    world.server.entitle("aurora", {"gpu-h100-vm": 20})


def differing_record(world: CapacityWorld) -> None:
    world.commit_file(RECORD_FILE, pending_text(devices="6"))


FROZEN = "since: '2026-12-01T00:00:00Z'\naudit: a\nfindings: [stale-capacity]\nthawed: null\n"


@dataclasses.dataclass(frozen=True)
class Stop:
    """What is wrong, the identifier under which it stops, and what the message has to name."""

    bend: Callable[[CapacityWorld], Any]
    id: str
    names: str


STOPS = {
    "stale lease": Stop(stale_lease, "stale-capacity", "gpu-01"),
    "no lease": Stop(no_lease, "stale-capacity", "gpu-01"),
    "stale Organization status": Stop(stale_status, "status-disagreement|stale-capacity", "aurora"),
    "Organization status without time": Stop(
        status_without_time, "status-disagreement|stale-capacity", "aurora"
    ),
    "node not ready": Stop(not_ready, "degraded-capacity", "gpu-01"),
    "node vanished": Stop(vanished_node, "degraded-capacity", "gpu-01"),
    "device vanished": Stop(vanished_device, "degraded-capacity", "gpu-01"),
    "quantity of a node": Stop(hexadecimal_device, "degraded-capacity", "gpu-01"),
    "plugin dead": Stop(dead_plugin, "plugin-conflict|degraded-capacity", "gpu-01"),
    "label drift": Stop(label_drift, "profile-mode-mismatch", "gpu-01"),
    "expected mode drift": Stop(expected_drift, "profile-mode-mismatch", "gpu-01"),
    "fleet rule drift": Stop(rule_drift, "profile-mode-mismatch", "gpu-01"),
    "both plugins": Stop(both_plugins, "plugin-conflict", "gpu-01"),
    "alert firing": Stop(alert("firing"), "active-alert", "KubeDcGPUXidError"),
    "alert pending": Stop(alert("pending"), "active-alert", "KubeDcGPUXidError"),
    "alert source unreachable": Stop(no_alert_source, "active-alert", "connection refused"),
    "alert rules not loaded": Stop(no_alert_rules, "active-alert", "rules"),
    "HRQ missing": Stop(no_hrq, "hard-quota-above-equation", "aurora"),
    "key missing everywhere": Stop(no_key, "hard-quota-above-equation", "aurora"),
    "key missing, one project without quota": Stop(
        no_key_in_one_of_two_projects, "hard-quota-above-equation", "aurora"
    ),
    "0x8 as quantity": Stop(hard_text("0x8"), "status-disagreement", "aurora"),
    "a fraction as quantity": Stop(hard_text("4500m"), "status-disagreement", "aurora"),
    "HRQ above the catalogue": Stop(hrq_says_more, "status-disagreement", "aurora"),
    "Organization status differs": Stop(status_says_more, "status-disagreement", "aurora"),
    "Organization status without the profile": Stop(status_says_nothing, "status-disagreement", "aurora"),
    "use recounted differs": Stop(use_differs, "status-disagreement", "aurora"),
    "annotation unreadable": Stop(annotated("{"), "status-disagreement", "aurora"),
    "annotation with an add-on twice": Stop(
        annotated([{"addonId": "gpu-h100-vm", "quantity": 2}] * 2), "status-disagreement", "aurora"
    ),
    "grant without record": Stop(grant_without_record, "missing-ledger-record", "aurora"),
    "unknown add-on": Stop(unknown_add_on, "unknown-add-on", "gpu-gone"),
    "self-service add-on": Stop(
        plans("selfService: false\n    price: 2900", "selfService: true\n    price: 2900"),
        "add-on-unfit|status-disagreement",
        "gpu-h100-reserved",
    ),
    "add-on visible by default": Stop(
        plans("selfService: false\n    price: 2900", "price: 2900"),
        "add-on-unfit|status-disagreement",
        "gpu-h100-reserved",
    ),
    "add-on that also grants cpu": Stop(
        plans("price: 2900", "price: 2900\n    cpu: '4'"),
        "add-on-unfit|status-disagreement",
        "gpu-h100-reserved",
    ),
    "add-on disabled": Stop(
        plans("price: 2900", "price: 2900\n    disabled: true"),
        "add-on-unfit|status-disagreement",
        "gpu-h100-reserved",
    ),
    "catalogue unreadable": Stop(
        plans("addons:", "addons: ["), "unknown-add-on|status-disagreement", "billing-plans"
    ),
    "second profile with the resource": Stop(
        profiles("nvidia.com/GV100GL_V100_PCIE_16GB", H100), "profile-unfit|profile-mode-mismatch", "v100-vm"
    ),
    "profile disabled": Stop(
        profiles(
            "memoryMiB: 81559\n  isolation: device\n  enabled: true",
            "memoryMiB: 81559\n  isolation: device\n  enabled: false",
        ),
        "profile-unfit|profile-mode-mismatch",
        "h100-vm",
    ),
    "permitted host device missing": Stop(
        host_devices(lambda devices: devices.pop(0)), "profile-unfit|profile-mode-mismatch", "h100-vm"
    ),
    "permitted host device of KubeVirt's own plugin": Stop(
        host_devices(lambda devices: devices[0].update(externalResourceProvider=False)),
        "profile-unfit|profile-mode-mismatch",
        "h100-vm",
    ),
    "another PCI selector": Stop(
        host_devices(lambda devices: devices[0].update(pciVendorSelector="10DE:9999")),
        "profile-unfit|profile-mode-mismatch",
        "h100-vm",
    ),
    "holder of nobody": Stop(stray_holder, "unattributed-holder", "elsewhere"),
    "record invalid": Stop(ledger(LAB_0, "devices: 8", "devices: 08"), "ledger-invalid", LAB_0),
    "record of an unknown state": Stop(
        ledger(LAB_0, "state: active", "state: held"), "ledger-invalid", LAB_0
    ),
    "policy invalid": Stop(policy(reviewMode="maybe"), "ledger-invalid", f"{LEDGER}/policy.yaml"),
    "lock document invalid": Stop(
        lambda world: world.commit_file("lock.yaml", "pools: 1\n", branch=LOCK_BRANCH),
        "ledger-invalid",
        "lock.yaml",
    ),
    "duplicate id": Stop(duplicate, "duplicate-reservation-id", "gpu-res-lab-0"),
    "frozen": Stop(file(f"{LEDGER}/freezes/h100-vm.yaml", FROZEN), "pool-frozen", "h100-vm"),
    "wrong cluster UID": Stop(other_uid, "wrong-cluster-uid", "uid"),
    "wrong CLUSTER_NAME": Stop(other_name, "wrong-cluster-name", "production"),
    "sold out": Stop(sold_out, "order-exceeds-capacity|hard-quota-above-equation", "devices"),
    "organization not ready": Stop(
        lambda world: organization(world, "borealis")["status"].update(ready=False),
        "order-organization",
        "borealis",
    ),
    "record differs from the order": Stop(differing_record, "order-record", "gpu-res-lab-9"),
}


def stopped(ran: Ran) -> dict[str, str]:
    """Identifiers under which a module said no, each with its message."""
    checks = ran.result.get("checks", [])
    found = {check["id"]: check["message"] for check in checks if check["status"] in ("fail", "unknown")}
    return {**found, **({ran.code: ran.msg} if ran.failed else {})}


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
def test_it_stops_under_its_identifier_and_nothing_is_written(world: CapacityWorld, stop: Stop) -> None:
    stop.bend(world)
    with world.untouched():
        plan = world.run("gpu_plan_info", action="assign", ticket=TICKET, order=SURVEY)
        proof = world.run("gpu_invariant", profile_id=POOL, purpose="assign", ticket=TICKET, order=SURVEY)
    assert plan.failed or plan.result["allowed"] is False
    assert proof.failed
    for ran in (plan, proof):
        found = stopped(ran)
        hits = [name for name in stop.id.split("|") if name in found]
        assert hits, found
        assert stop.names.lower() in " ".join(found[name] for name in hits).lower()
        assert ran.msg


def test_a_suspended_organizations_quota_counts_as_sold(world: CapacityWorld) -> None:
    annotations = organization(world)["metadata"]["annotations"]
    annotations["billing.kube-dc.com/subscription"] = "suspended"
    for place in (hrq(world, "aurora")["spec"]["hard"], hrq(world, "aurora")["status"]["hard"]):
        place[KEY] = "2"
    devices = organization(world)["status"]["quotaUsage"]["accelerators"][POOL]["devices"]
    devices["hard"] = "2"
    ran = world.run("gpu_invariant", profile_id=POOL)
    assert not ran.failed, ran.msg
    assert ran.result["equation"]["non_reserved"] == 6
    assert "subscription-suspended" in json.dumps(ran.result)


@pytest.mark.parametrize("ask", ["gpu_plan_info", "gpu_invariant"])
def test_a_default_kubeconfig_alone_is_never_used(
    world: CapacityWorld, ask: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without option, K8S_AUTH_* or KUBECONFIG nothing is contacted, whatever lies in the home folder."""
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    (home / ".kube" / "config").write_text("current-context: production\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    question: dict[str, dict[str, Any]] = {
        "gpu_plan_info": {"action": "assign", "ticket": TICKET},
        "gpu_invariant": {"profile_id": POOL},
    }
    with world.untouched(), world.unplugged():
        ran = world.run(ask, kubeconfig=None, **question[ask])
    assert ran.failed
    assert ran.result["error"]["class"] == "InputError"
    assert "kubeconfig" in ran.msg
    assert world.server.reads == []


def test_a_lock_of_another_ticket_stops_the_plan(world: CapacityWorld) -> None:
    world.commit_file("lock.yaml", lock_text("lab-3", closed_for=()), branch=LOCK_BRANCH)
    with world.untouched():
        plan = world.run("gpu_plan_info", action="assign", ticket=TICKET, order=SURVEY)
    assert plan.result["allowed"] is False
    assert "lock-held" in stopped(plan)
