# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The played product's promises to other tests, on a lab of this module's own."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from lab.directory import CHECKOUT
from lab.fixture.catalogue import H100, SHARED, V100
from lab.fixture.cluster import machine
from lab.platform import environment, faults
from lab.platform.api import (
    CONFIGMAPS,
    DEPLOYMENTS,
    HELM_RELEASES,
    HIERARCHICAL_QUOTAS,
    INSTANCES,
    LEASES,
    MACHINES,
    NAMESPACES,
    NODES,
    ORGANIZATIONS,
    PODS,
    PROJECTS,
    RESOURCE_QUOTAS,
    Api,
    ApiError,
)
from lab.platform.store import dig

pytestmark = [pytest.mark.lab, pytest.mark.slow]

KEY = f"requests.{H100}"
PROJECT = "borealis-ml"
BASE = [{"addonId": "gpu-h100-vm", "quantity": 2}]


class Lab:
    """One lab, and its API server under the identities that the tests need."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.admin = Api(root / "kubeconfig-admin")
        self.tenant = Api(root / "kubeconfig-borealis")

    @property
    def lines(self) -> dict[str, str]:
        return environment.read(self.root)

    def hard(self, organization: str = "borealis") -> str | None:
        quota = self.admin.get(HIERARCHICAL_QUOTAS, "plan-quota", organization)
        value: str | None = dig(quota, "spec", "hard", default={}).get(KEY)
        return value

    def status(self, part: str, organization: str = "borealis") -> str | None:
        item = self.admin.get(ORGANIZATIONS, organization, organization)
        value: str | None = dig(item, "status", "quotaUsage", "accelerators", "h100-vm", "devices", part)
        return value

    def buy(self, addons: list[dict[str, Any]]) -> None:
        annotations = {"billing.kube-dc.com/addons": json.dumps(addons)}
        self.admin.patch(ORGANIZATIONS, "borealis", {"metadata": {"annotations": annotations}}, "borealis")

    def devices(self, node: str, resource: str, part: str = "allocatable") -> str | None:
        value: str | None = dig(self.admin.get(NODES, node), "status", part, default={}).get(resource)
        return value

    def ready(self, kind: Any, name: str, namespace: str | None = None) -> str | None:
        for entry in dig(self.admin.get(kind, name, namespace), "status", "conditions", default=[]):
            if entry["type"] == "Ready":
                return str(entry["status"])
        return None

    def word(self, name: str) -> str | None:
        value: str | None = dig(self.admin.get(MACHINES, name, PROJECT), "status", "printableStatus")
        return value

    def commit(self, change: Callable[[Path], None]) -> None:
        """Change files of the fleet's branch, as a person does."""
        checkout = self.root / "work"
        clone = ["git", "clone", "-q", str(self.root / "fleet.git"), str(checkout)]
        subprocess.run(clone, check=True, timeout=60)
        try:
            change(checkout)
            who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
            subprocess.run(["git", *who, "commit", "-qam", "x"], cwd=checkout, check=True, timeout=60)
            subprocess.run(["git", "push", "-q"], cwd=checkout, check=True, timeout=60)
        finally:
            shutil.rmtree(checkout)

    def backend(self, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
        own = Path(self.lines["GPUOPS_BACKEND_TOKEN_FILE"]).read_text().strip()
        request = urllib.request.Request(
            self.lines["GPUOPS_BACKEND_URL"] + path,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {token or own}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


def eventually(condition: Callable[[], Any], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not become true within {seconds} s"
        time.sleep(0.05)


def run(root: Path, *arguments: str) -> str:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GPUOPS_", "KUBE"))}
    python_path = os.pathsep.join([str(CHECKOUT / ".collections"), str(CHECKOUT)])
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=CHECKOUT,
        env={**inherited, "GPUOPS_LAB_DIR": str(root), "PYTHONPATH": python_path},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    root = tmp_path_factory.mktemp("lab")
    run(root, "lab", "up")
    try:
        yield Lab(root)
    finally:
        run(root, "lab", "down")


@pytest.fixture
def lab(started: Lab) -> Iterator[Lab]:
    yield started
    run(started.root, "lab.fixture", "reset")


def test_entitlement_follows_the_annotation_step_by_step(lab: Lab) -> None:
    faults.set_fault(lab.admin, delay_hrq=1, delay_organization_status=1)
    lab.buy([*BASE, {"addonId": "gpu-h100-reserved", "quantity": 8}])
    eventually(lambda: lab.hard() == "10")
    assert lab.status("hard") == "2", "the status lags the quota"
    eventually(lambda: lab.status("hard") == "10")

    def projected() -> Any:
        quota = lab.admin.get(RESOURCE_QUOTAS, "hrq.hnc.x-k8s.io", PROJECT)
        return dig(quota, "status", "hard", default={}).get(KEY)

    eventually(lambda: projected() == "10")


def test_what_is_frozen_keeps_what_a_test_wrote(lab: Lab) -> None:
    faults.set_fault(lab.admin, freeze_hrq="borealis", freeze_organization_status="bor*")
    lab.admin.patch(HIERARCHICAL_QUOTAS, "plan-quota", {"spec": {"hard": {KEY: "0x8"}}}, "borealis")
    lab.buy([])
    eventually(lambda: lab.hard("aurora") == "4")
    faults.set_fault(lab.admin, delay_labels=0)
    assert (lab.hard(), lab.status("hard")) == ("0x8", "2")
    faults.clear_faults(lab.admin)
    eventually(lambda: (lab.hard(), lab.status("hard")) == ("0", "0"))


def test_a_stale_organization_status_stays_stale(lab: Lab) -> None:
    def age() -> float:
        item = lab.admin.get(ORGANIZATIONS, "borealis", "borealis")
        last = datetime.datetime.fromisoformat(dig(item, "status", "quotaUsage", "lastUpdated"))
        return (datetime.datetime.now(datetime.UTC) - last).total_seconds()

    faults.set_fault(lab.admin, stale_organization_status="borealis")
    eventually(lambda: age() > 3000)
    faults.set_fault(lab.admin, delay_labels=0)
    assert age() > 3000
    faults.clear_faults(lab.admin)
    eventually(lambda: age() < 10)


def test_a_machine_runs_stops_starts_anew_and_goes(lab: Lab) -> None:
    lab.tenant.create(MACHINES, machine("m", PROJECT))
    eventually(lambda: lab.ready(INSTANCES, "m", PROJECT) == "True")
    first = lab.admin.get(INSTANCES, "m", PROJECT)
    pod = lab.admin.list(PODS, PROJECT)[0]
    assert dig(first, "status", "nodeName") == dig(pod, "spec", "nodeName")
    assert pod["spec"]["containers"][0]["resources"]["requests"][H100] == "1"
    reasons = {entry["type"]: entry.get("reason") for entry in dig(first, "status", "conditions")}
    assert reasons["LiveMigratable"] == "HostDeviceNotLiveMigratable"
    eventually(lambda: lab.status("used") == "1")
    lab.tenant.patch(MACHINES, "m", {"spec": {"runStrategy": "Halted"}}, PROJECT)
    eventually(lambda: lab.word("m") == "Stopped" and not lab.admin.list(PODS, PROJECT))
    eventually(lambda: lab.status("used") == "0")
    lab.tenant.patch(MACHINES, "m", {"spec": {"runStrategy": "Always"}}, PROJECT)
    eventually(lambda: lab.word("m") == "Running")
    assert dig(lab.admin.get(INSTANCES, "m", PROJECT), "metadata", "uid") != dig(first, "metadata", "uid")
    lab.tenant.delete(MACHINES, "m", PROJECT)
    eventually(lambda: lab.admin.get(MACHINES, "m", PROJECT) is None and not lab.admin.list(PODS, PROJECT))


def test_a_stuck_device_leaves_a_terminating_launcher_that_no_quota_counts(lab: Lab) -> None:
    lab.tenant.create(MACHINES, machine("m", PROJECT))
    eventually(lambda: lab.word("m") == "Running")
    faults.set_fault(lab.admin, device_stuck=f"{PROJECT}/m")
    lab.tenant.patch(MACHINES, "m", {"spec": {"runStrategy": "Halted"}}, PROJECT)
    eventually(lambda: lab.admin.get(INSTANCES, "m", PROJECT) is None)
    eventually(lambda: lab.status("used") == "0")
    left = lab.admin.list(PODS, PROJECT)
    assert [bool(pod["metadata"].get("deletionTimestamp")) for pod in left] == [True]
    faults.clear_faults(lab.admin)
    eventually(lambda: not lab.admin.list(PODS, PROJECT))


def test_a_guest_without_its_device_runs_and_is_never_ready(lab: Lab) -> None:
    faults.set_fault(lab.admin, guest_without_device=f"{PROJECT}/*")
    wanted = machine("m", PROJECT)
    wanted["spec"]["template"]["spec"]["readinessProbe"] = {"tcpSocket": {"port": 8888}}
    lab.tenant.create(MACHINES, wanted)
    eventually(lambda: dig(lab.admin.get(INSTANCES, "m", PROJECT), "status", "phase") == "Running")
    faults.set_fault(lab.admin, delay_labels=0)
    assert lab.ready(INSTANCES, "m", PROJECT) == "False"
    faults.clear_faults(lab.admin)
    eventually(lambda: lab.ready(INSTANCES, "m", PROJECT) == "True")


def test_more_machines_than_quota_wait_and_say_why(lab: Lab) -> None:
    for number in range(3):
        lab.tenant.create(MACHINES, machine(f"m{number}", PROJECT))
    eventually(lambda: sorted(str(lab.word(f"m{n}")) for n in range(3)) == ["Running", "Running", "Starting"])
    waiting = next(f"m{n}" for n in range(3) if lab.word(f"m{n}") == "Starting")

    def reason() -> str:
        conditions = dig(lab.admin.get(INSTANCES, waiting, PROJECT), "status", "conditions", default=[])
        return " ".join(entry.get("message", "") for entry in conditions)

    eventually(lambda: "exceeded quota" in reason())


def test_the_fleets_branch_reaches_devices_and_every_copy_of_the_gates(lab: Lab) -> None:
    def change(checkout: Path) -> None:
        rules = checkout / "clusters/lab/gpu-node-modes/nodefeaturerule.yaml"
        head, _, tail = rules.read_text().partition("    - name: acc-01-pod-hami\n")
        tail = tail.replace("pod-hami", "vm-passthrough").replace("container", "vm-passthrough")
        rules.write_text(f"{head}    - name: acc-01-vm-passthrough\n{tail}")
        config = checkout / "clusters/lab/cluster-config.env"
        config.write_text(config.read_text().replace("VM_CREATION_ENABLED=true", "VM_CREATION_ENABLED=false"))

    def configured() -> bool:
        config = lab.admin.get(CONFIGMAPS, "cluster-config", "flux-system")
        return bool(dig(config, "data", "GPU_VM_CREATION_ENABLED") == "false")

    def released() -> bool:
        release = lab.admin.get(HELM_RELEASES, "kube-dc", "kube-dc")
        return dig(release, "spec", "values", "gpu", "vmCreation", "enabled") is False

    def deployed() -> bool:
        deployment = lab.admin.get(DEPLOYMENTS, "kube-dc-backend", "kube-dc")
        status = dig(deployment, "status", default={})
        env = dig(deployment, "spec", "template", "spec", "containers")[0]["env"]
        value = {entry["name"]: entry["value"] for entry in env}["GPU_VM_CREATION_ENABLED"]
        observed = status.get("observedGeneration") == dig(deployment, "metadata", "generation")
        counts = {status.get(name) for name in ("replicas", "updatedReplicas", "availableReplicas")}
        return value == "false" and observed and counts == {1}

    lab.commit(change)
    eventually(lambda: lab.devices("acc-01", V100) == "2" and lab.devices("acc-01", SHARED) == "0")
    eventually(configured)
    eventually(released)
    eventually(deployed)


def test_faults_of_nodes_and_plugins(lab: Lab) -> None:
    faults.set_fault(lab.admin, plugin_dead="gpu-01", device_lost="gpu-02=3", node_not_ready="gpu-03")
    faults.set_fault(lab.admin, stale_lease="gpu-04", plugin_conflict="gpu-04")
    eventually(lambda: lab.devices("gpu-01", H100) == "0")
    assert lab.devices("gpu-01", H100, "capacity") == "8"
    eventually(lambda: lab.devices("gpu-02", H100) == lab.devices("gpu-02", H100, "capacity") == "5")
    eventually(lambda: lab.ready(NODES, "gpu-03") == "False")

    def owners() -> set[str]:
        pods = lab.admin.list(PODS, "gpu-operator", fieldSelector="spec.nodeName=gpu-04")
        return {pod["metadata"]["ownerReferences"][0]["name"] for pod in pods}

    both = {"nvidia-device-plugin-daemonset", "nvidia-sandbox-device-plugin-daemonset"}
    eventually(lambda: owners() == both)
    lease = lab.admin.get(LEASES, "gpu-04", "kube-node-lease")
    renewed = datetime.datetime.fromisoformat(dig(lease, "spec", "renewTime"))
    assert (datetime.datetime.now(datetime.UTC) - renewed).total_seconds() > 600
    assert lab.ready(NODES, "gpu-04") == "True"
    faults.clear_faults(lab.admin)
    names = ("gpu-01", "gpu-02", "gpu-03", "gpu-04")
    eventually(lambda: {lab.devices(name, H100) for name in names} == {"8"})
    eventually(lambda: {lab.ready(NODES, name) for name in names} == {"True"})
    eventually(lambda: owners() == both - {"nvidia-device-plugin-daemonset"})


def test_the_cap_is_the_backends_alone_and_put_replaces_all_keys(lab: Lab) -> None:
    route = f"/api/manage-organization/projects/{PROJECT}/quota"
    cap = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "project-quota", "namespace": PROJECT},
        "spec": {"hard": {"pods": "5"}},
    }
    with pytest.raises(ApiError, match="backend only"):
        Api(lab.root / "kubeconfig-kube-dc-manager").create(RESOURCE_QUOTAS, cap)
    assert lab.backend("GET", route) == (200, {"namespace": PROJECT, "hard": None, "used": None})
    assert lab.backend("PUT", route, {"hard": {KEY: "1"}}, token="wrong")[0] == 401
    assert lab.backend("PUT", route, {"hard": {KEY: "1", "pods": "5"}})[0] == 200
    assert lab.backend("PUT", route, {"hard": {KEY: "2"}})[0] == 200
    assert lab.backend("GET", route)[1]["hard"] == {KEY: "2"}

    def shown() -> Any:
        return dig(lab.admin.get(PROJECTS, "ml", "borealis"), "status", "quotaUsage")

    eventually(lambda: shown()["perProjectQuotaSet"] is True)
    eventually(lambda: shown()["accelerators"]["h100-vm"]["devices"]["hard"] == "2")
    assert lab.backend("PUT", route, {"hard": {}})[0] == 400
    assert lab.backend("PUT", route.replace(PROJECT, "default"), {"hard": {"pods": "1"}})[0] == 404
    assert lab.backend("DELETE", route)[0] == 200
    assert lab.admin.get(RESOURCE_QUOTAS, "project-quota", PROJECT) is None
    visible = [entry["id"] for entry in lab.backend("GET", "/api/billing/addons")[1]["addons"]]
    assert visible == ["gpu-h100-vm", "gpu-v100-shared-8g"]


def _host_device(spec: dict[str, Any]) -> None:
    spec["template"]["spec"]["domain"]["devices"]["hostDevices"] = [{"name": "a", "deviceName": H100}]


def _other_device(spec: dict[str, Any]) -> None:
    spec["template"]["spec"]["domain"]["devices"]["gpus"][0]["deviceName"] = V100


def _no_label(spec: dict[str, Any]) -> None:
    spec["template"]["metadata"]["labels"] = {}


def _host_name(spec: dict[str, Any]) -> None:
    spec["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "gpu-01"}


def _match_fields(spec: dict[str, Any]) -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["gpu-01"]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    spec["template"]["spec"]["affinity"] = {"nodeAffinity": required}


@pytest.mark.parametrize("spoil", [_host_device, _other_device, _no_label, _host_name, _match_fields])
def test_the_products_policy_refuses_a_tenants_machine(
    started: Lab, spoil: Callable[[dict[str, Any]], None]
) -> None:
    wanted = machine("bad", PROJECT)
    spoil(wanted["spec"])
    with pytest.raises(ApiError, match="vap-gpu-virtualmachines"):
        started.tenant.create(MACHINES, wanted)


def test_alerts_are_switched_and_their_source_too(lab: Lab) -> None:
    def alerts() -> dict[str, str]:
        with urllib.request.urlopen(lab.lines["GPUOPS_ALERTS_URL"] + "/api/v1/alerts", timeout=5) as answer:
            found = json.load(answer)["data"]["alerts"]
        return {item["labels"]["alertname"]: item["state"] for item in found}

    assert alerts() == {}
    faults.set_fault(lab.admin, alerts_firing="KubeDcGPUXidError", alerts_pending="KubeDcOther")
    assert alerts() == {"KubeDcGPUXidError": "firing", "KubeDcOther": "pending"}
    faults.set_fault(lab.admin, alerts_source="unreachable")
    with pytest.raises(urllib.error.URLError):
        alerts()
    faults.clear_faults(lab.admin)
    assert alerts() == {}


def test_the_proxy_spoils_what_its_rules_say_and_passes_the_rest(lab: Lab) -> None:
    through = Api(lab.root / "kubeconfig-admin-proxied")
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lost", "namespace": "default"}}
    rules = [
        {"match": "GET /api/v1/nodes", "action": "status", "status": 429, "retryAfter": 1, "count": 2},
        {"match": "POST /api/v1/namespaces/default/configmaps", "action": "lost", "count": 1},
        {"match": "GET /api/v1/namespaces/lab/configmaps", "action": "stale"},
        {"match": "^DELETE ", "action": "forbid"},
        {"match": "GET /version", "action": "reset", "after": 1, "count": 1},
    ]
    faults.set_fault(lab.admin, proxy=rules)
    for _ in range(2):
        with pytest.raises(ApiError, match="429"):
            through.list(NODES)
    assert len(through.list(NODES)) == len(lab.admin.list(NODES))
    with pytest.raises(ApiError) as lost:
        through.create(CONFIGMAPS, config)
    assert lost.value.status == 0
    assert lab.admin.get(CONFIGMAPS, "lost", "default") is not None
    with pytest.raises(ApiError, match="403"):
        through.delete(CONFIGMAPS, "lost", "default")
    assert lab.admin.delete(CONFIGMAPS, "lost", "default")
    before = through.list(CONFIGMAPS, "lab")
    new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "namespace": "lab"}}
    lab.admin.create(CONFIGMAPS, new)
    assert through.list(CONFIGMAPS, "lab") == before
    lab.admin.delete(CONFIGMAPS, "new", "lab")
    through.request("GET", "/version")
    with pytest.raises(ApiError, match="NoAnswer"):
        through.request("GET", "/version")
    through.request("GET", "/version")


def test_a_reset_puts_back_what_tests_changed(started: Lab) -> None:
    lab = started
    faults.set_fault(lab.admin, freeze_labels="*", node_not_ready="gpu-02", freeze_hrq="*")
    mark = {"annotations": {"gpuops.reservations/cordon": "{}"}, "labels": {"reserved.tenant": "x"}}
    lab.admin.patch(NODES, "gpu-01", {"metadata": mark, "spec": {"unschedulable": True}})
    taint = {"key": "reserved", "value": "x", "effect": "NoSchedule"}
    lab.admin.patch(NODES, "train-01", {"spec": {"taints": [taint]}})
    lab.admin.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "left-over"}})
    lab.admin.create(MACHINES, machine("left-over", PROJECT))
    lab.admin.delete(MACHINES, "inference-1", "aurora-vision")
    lab.admin.patch(CONFIGMAPS, "billing-plans", {"data": {"plans.yaml": "[broken"}}, "kube-dc")
    lab.buy([])
    bundle = lab.root / "evidence/gpu-res-lab-0/lab-fixture/smoke.json"
    bundle.write_text("{}")
    subprocess.run(
        ["git", f"--git-dir={lab.root / 'fleet.git'}", "update-ref", "refs/heads/gpu-lock/lab", "main"],
        check=True,
        timeout=60,
    )
    run(lab.root, "lab.fixture", "reset")
    node = lab.admin.get(NODES, "gpu-01")
    assert "unschedulable" not in dig(node, "spec")
    assert "reserved.tenant" not in dig(node, "metadata", "labels")
    assert "gpuops.reservations/cordon" not in dig(node, "metadata", "annotations")
    assert not dig(lab.admin.get(NODES, "train-01"), "spec", "taints", default=[])
    assert lab.admin.get(NAMESPACES, "left-over") is None
    assert lab.admin.get(MACHINES, "left-over", PROJECT) is None
    assert dig(lab.admin.get(MACHINES, "inference-1", "aurora-vision"), "status", "ready") is True
    assert lab.hard() == "2"
    assert bundle.read_text() != "{}"
    refs = subprocess.run(
        ["git", f"--git-dir={lab.root / 'fleet.git'}", "for-each-ref", "--format=%(refname)", "refs/heads"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refs.stdout.split() == ["refs/heads/main"]


def test_a_platform_that_is_killed_comes_back_at_its_addresses(lab: Lab) -> None:
    def platforms() -> list[psutil.Process]:
        wanted = ["lab.platform", "serve", "--state-dir", str(lab.root)]
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if (process.info["cmdline"] or [])[-4:] == wanted
            and "lab.supervisor" not in process.info["cmdline"]
        ]

    addresses = lab.lines
    faults.set_fault(lab.admin, node_unknown="gpu-04")
    before = platforms()
    assert len(before) == 1
    # The supervisor takes a program that ends at once for one that cannot start.
    eventually(lambda: time.time() - before[0].create_time() > 11)
    before[0].send_signal(signal.SIGKILL)
    eventually(lambda: [process.pid for process in platforms()] not in ([], [before[0].pid]))
    faults.clear_faults(lab.admin, wait=False)
    faults.wait_seen(lab.admin, timeout=60)
    eventually(lambda: lab.ready(NODES, "gpu-04") == "True")
    assert lab.lines == addresses
    assert lab.backend("GET", f"/api/manage-organization/projects/{PROJECT}/quota")[0] == 200
