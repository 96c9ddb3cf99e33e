# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's own promises, on a lab of this test's own beside any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from lab import processes
from lab.api import Api, ApiError
from lab.directory import CHECKOUT, LabDirectory
from lab.identities import EVERYBODY

pytestmark = pytest.mark.lab

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "played", "annotations": {"kwok.x-k8s.io/node": "fake"}},
    "status": {
        "capacity": {"cpu": "8", "memory": "8Gi", "pods": "10", "example.com/device": "2"},
        "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10", "example.com/device": "2"},
    },
}


def command(lab: LabDirectory, *arguments: str, **more: str) -> subprocess.Popen[str]:
    """``python -m lab`` for this lab, in a group of its own."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GPUOPS_", "KUBE"))}
    return subprocess.Popen(
        [sys.executable, "-m", "lab", *arguments],
        cwd=CHECKOUT,
        env={**inherited, "GPUOPS_LAB_DIR": str(lab.root), **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def done(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for a command, and what it printed."""
    output, _ = process.communicate(timeout=1800)
    assert process.returncode == code, output
    return output


def eventually(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not become true within {seconds} s"
        time.sleep(0.1)


def mine(api: Api, pod: str) -> dict[str, Any]:
    return api.get(f"/api/v1/namespaces/default/pods/{pod}")


def pod(name: str, devices: int) -> dict[str, Any]:
    limits = {"example.com/device": str(devices)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": limits}}]},
    }


def events(lab: LabDirectory) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lab.audit_log.read_text().splitlines()]


def numbers(lab: LabDirectory) -> dict[str, int]:
    return {name: record.pid for name, record in processes.recorded(lab).items()}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDirectory]:
    lab = LabDirectory(tmp_path_factory.mktemp("lab") / "lab")
    done(command(lab, "up", "--bare"))
    yield lab
    done(command(lab, "down"))
    assert processes.everything(lab) == []


@pytest.fixture
def other(tmp_path: Path) -> Iterator[LabDirectory]:
    """A lab that is not started yet."""
    lab = LabDirectory(tmp_path / "other")
    yield lab
    done(command(lab, "down"))
    assert processes.everything(lab) == []


def test_every_identity_is_who_it_says(lab: LabDirectory) -> None:
    for identity in EVERYBODY:
        path = lab.kubeconfig(identity.name)
        review = Api(path).create(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
        )
        seen = review["status"]["userInfo"]
        assert path.stat().st_mode & 0o777 == 0o600
        assert seen["username"] == identity.user
        assert set(seen["groups"]) == {*identity.groups, "system:authenticated"}


def test_only_the_administrator_may_do_as_it_likes(lab: LabDirectory) -> None:
    for identity in EVERYBODY:
        if identity.name == "admin":
            continue
        with pytest.raises(ApiError) as refusal:
            Api(lab.kubeconfig(identity.name)).create(
                "/api/v1/namespaces?dryRun=All",
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
            )
        assert refusal.value.status == 403, identity.name


def test_it_is_the_release_with_the_interfaces_that_node_reservations_need(lab: LabDirectory) -> None:
    api = Api(lab.kubeconfig("admin"))
    assert api.get("/version")["gitVersion"] == "v1.36.3"
    kinds = {item["kind"] for item in api.get("/apis/admissionregistration.k8s.io/v1")["resources"]}
    assert {"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"} <= kinds
    assert api.get("/apis/resource.k8s.io/v1")["resources"]


def test_pods_are_placed_on_devices_and_writes_name_their_author(lab: LabDirectory) -> None:
    api = Api(lab.kubeconfig("admin"))
    api.create("/api/v1/nodes", NODE)
    api.create("/api/v1/namespaces/default/pods", pod("fits", 2))
    eventually(lambda: mine(api, "fits")["status"]["phase"] == "Running")
    api.create("/api/v1/namespaces/default/pods", pod("too-much", 1))
    eventually(lambda: bool(mine(api, "too-much")["status"].get("conditions")))
    (condition,) = mine(api, "too-much")["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert "Insufficient example.com/device" in condition["message"]
    lease = api.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/played")
    assert lease["spec"]["leaseDurationSeconds"] == 40

    created = [
        event
        for event in events(lab)
        if event["verb"] == "create" and event.get("objectRef", {}).get("name") == "fits"
    ]
    by = {event["objectRef"].get("subresource", ""): event for event in created}
    assert by[""]["user"]["username"] == "lab-administrator"
    assert by[""]["requestObject"]["spec"]["containers"][0]["name"] == "c"
    assert by["binding"]["user"]["username"] == "system:kube-scheduler"


def test_a_second_start_changes_nothing(lab: LabDirectory) -> None:
    before = numbers(lab)
    lab.env.unlink()
    assert "runs already" in done(command(lab, "up", "--bare"))
    assert numbers(lab) == before
    assert f"KUBECONFIG={lab.kubeconfig('gpuops')}" in lab.env.read_text()
    assert done(command(lab, "status")).count(" runs, process ") == len(before)


def test_a_process_that_died_is_brought_back_with_the_content_there_was(lab: LabDirectory) -> None:
    api = Api(lab.kubeconfig("admin"))
    name = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kept"}}
    uid = api.create("/api/v1/namespaces", name)["metadata"]["uid"]
    psutil.Process(numbers(lab)["etcd"]).kill()
    assert "etcd" in done(command(lab, "up", "--bare"))
    after = Api(lab.kubeconfig("admin")).get("/api/v1/namespaces/kept")
    assert after["metadata"]["uid"] == uid


def test_reset_brings_back_what_was_and_nothing_else(lab: LabDirectory) -> None:
    system = Api(lab.kubeconfig("admin")).get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
    (lab.root / "stray").write_text("not the fixture's")
    begun = time.monotonic()
    done(command(lab, "reset"))
    assert time.monotonic() - begun < 20
    api = Api(lab.kubeconfig("admin"))
    assert api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"] == system
    assert api.get("/api/v1/nodes")["items"] == []
    names = {item["metadata"]["name"] for item in api.get("/api/v1/namespaces")["items"]}
    assert names == {"default", "kube-system", "kube-public", "kube-node-lease"}
    assert not (lab.root / "stray").exists()
    assert lab.audit_log_previous.exists()


def test_interrupted_it_leaves_no_process(other: LabDirectory) -> None:
    process = command(other, "up", "--bare")
    eventually(lambda: "kube-apiserver" in numbers(other), 1500)
    process.terminate()
    assert "ended again" in done(process, 128 + 15)
    assert processes.everything(other) == []


def test_killed_it_is_repaired_by_the_next_start_beside_another_lab(
    lab: LabDirectory, other: LabDirectory
) -> None:
    process = command(other, "up", "--bare")
    eventually(lambda: "kube-apiserver" in numbers(other), 1500)
    process.kill()
    done(process, -9)
    assert processes.everything(other) != []
    assert done(command(other, "status"), 3)
    done(command(other, "up", "--bare"))
    assert len(numbers(other)) == len(processes.everything(other)) == len(numbers(lab))
    assert Api(other.kubeconfig("admin")).server != Api(lab.kubeconfig("admin")).server


def test_down_finds_processes_of_a_folder_that_is_gone(lab: LabDirectory, other: LabDirectory) -> None:
    done(command(other, "up", "--bare"))
    other.root.rename(other.root.with_name("moved"))
    assert "5 processes ended" in done(command(other, "down"))
    assert processes.everything(other) == []
    assert all(processes.alive(record) for record in processes.recorded(lab).values())


def test_somebody_s_cluster_is_taken_when_new_and_refused_when_used(
    lab: LabDirectory, other: LabDirectory
) -> None:
    named = {"GPUOPS_LAB_KUBECONFIG": str(lab.kubeconfig("admin"))}
    api = Api(lab.kubeconfig("admin"))
    done(command(lab, "reset"))
    done(command(other, "up", "--bare", **named))
    assert list(numbers(other)) == ["kwok"]
    review = Api(other.kubeconfig("gpuops")).create(
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    assert review["status"]["userInfo"]["username"] == "gpuops"
    done(command(other, "down"))
    content = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "payments"}}
    Api(lab.kubeconfig("admin")).create("/api/v1/namespaces", content)
    assert "It holds namespace payments" in done(command(other, "up", "--bare", **named), 1)
    assert processes.everything(other) == []
    assert api.server == Api(lab.kubeconfig("admin")).server
