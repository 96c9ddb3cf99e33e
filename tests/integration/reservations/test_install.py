# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installing, upgrading, removing; refusing over a vendor's own definitions."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import yaml

from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    RESERVATIONS,
    Stage,
    pods,
    refusal,
    until,
)
from lab.directory import CHECKOUT

Json = dict[str, Any]
FOO = "tenant-foo"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMES = ("reservations.scheduling.coreweave.cloud", "reservationbindings.scheduling.coreweave.cloud")
OURS = "gpuops-reservation"


def policies(stage: Stage) -> list[str]:
    kinds = ("mutatingadmissionpolicies", "validatingadmissionpolicies")
    found = [one["metadata"]["name"] for kind in kinds for one in stage.items(f"{POLICIES}/{kind}")]
    return sorted(name for name in found if name.startswith(OURS))


def install(stage: Stage, *arguments: str, check: bool = True) -> str:
    return stage.play("install", *arguments, identity="admin", check=check).stdout


def test_an_upgrade_puts_a_changed_policy_back_and_a_second_one_changes_nothing(stage: Stage) -> None:
    path = f"{POLICIES}/validatingadmissionpolicies/gpuops-reservation-tolerations"
    before = stage.get(path)["spec"]
    stage.admin.patch(path, {"spec": {"failurePolicy": "Ignore"}})
    install(stage)
    assert stage.get(path)["spec"] == before
    assert "changed=0" in install(stage)


def test_removal_refuses_while_there_are_reservations(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01"])
    stage.reconcile()
    before = policies(stage)
    said = " ".join(install(stage, "-e", "platform_state=absent", check=False).split())
    assert "Reservations still hold nodes or wait for their release: foo" in said
    assert policies(stage) == before
    assert stage.exists(f"{RESERVATIONS}/foo")


def test_removed_refused_over_others_and_installed_again(stage: Stage) -> None:
    try:
        install(stage, "-e", "platform_state=absent")
        _nothing_is_left(stage)
        _a_vendor_s_own_is_not_touched(stage)
        _a_workload_that_would_be_refused_is_asked_about(stage)
    finally:
        if not policies(stage):
            install(stage)


def _nothing_is_left(stage: Stage) -> None:
    assert policies(stage) == []
    for name in NAMES:
        assert not stage.exists(f"{DEFINITIONS}/{name}")
    assert not stage.exists("/api/v1/namespaces/gpuops-reservation-canary")
    assert not stage.exists("/api/v1/namespaces/reservation-operator")
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    left = [
        one["metadata"]["name"]
        for kind in ("clusterroles", "clusterrolebindings")
        for one in stage.items(f"{rbac}/{kind}")
        if one["metadata"]["name"].startswith("gpuops-reservations")
    ]
    assert left == []
    thief = stage.pod("free", FOO, tolerations=[{"operator": "Exists"}])
    assert refusal(lambda: stage.tenants[FOO].create(pods(FOO), thief, dry_run=True)) == ""
    assert "changed=0" in install(stage, "-e", "platform_state=absent")
    assert "may not" in refusal(stage.reconcile)


def _a_vendor_s_own_is_not_touched(stage: Stage) -> None:
    vendor = vendor_definition()
    name = vendor["metadata"]["name"]
    done = subprocess.run(
        ["kubectl", "--kubeconfig", str(stage.lab.kubeconfig("admin")), "create", "-f", "-"],
        input=json.dumps(vendor),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    try:
        before = stage.get(f"{DEFINITIONS}/{name}")["spec"]
        said = " ".join(install(stage, check=False).split())
        assert f"{name} is there and not ours: it is managed by kubectl" in said
        assert stage.get(f"{DEFINITIONS}/{name}")["spec"] == before
        assert policies(stage) == []
        said = " ".join(install(stage, "-e", "platform_state=absent", check=False).split())
        assert "is there and not ours" in said
        assert stage.exists(f"{DEFINITIONS}/{name}")
    finally:
        stage.admin.delete(f"{DEFINITIONS}/{name}")
        until("it is gone", lambda: not stage.exists(f"{DEFINITIONS}/{name}"))


def _a_workload_that_would_be_refused_is_asked_about(stage: Stage) -> None:
    document = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "network", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "network"}},
            "template": {
                "metadata": {"labels": {"app": "network"}},
                "spec": {
                    "nodeSelector": {"no": "such"},
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "network", "image": "example.com/network"}],
                },
            },
        },
    }
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    stage.admin.create(path, document)
    try:
        said = " ".join(install(stage, check=False).split())
        assert "DaemonSet default/network (tolerates every taint)" in said
        assert policies(stage) == []
        said = install(stage, "-e", "platform_accept_refused_workloads=true")
        assert "network" in said
        assert policies(stage)
    finally:
        stage.admin.delete(f"{path}/network")


def vendor_definition() -> Json:
    path = CHECKOUT / "roles/platform/files/reservations/reservations.crd.yaml"
    content: Json = yaml.safe_load(path.read_text())
    content["metadata"].pop("labels")
    version = content["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return content


def test_a_platform_namespace_has_to_exist(stage: Stage) -> None:
    left_out = '{"platform_namespaces": ["kube-system", "kube-public", "kube-node-lease", "storage"]}'
    said = " ".join(install(stage, "-e", left_out, check=False).split())
    assert "platform_namespaces names storage, which does not exist" in said


def test_namespaces_of_tenants_are_labelled_and_their_quotas_the_operator_s(stage: Stage) -> None:
    tenants = '{"platform_tenants": {"tenant-foo": ["tenant-foo"], "tenant-baz": ["tenant-baz"]}}'
    install(stage, "-e", tenants)
    try:
        labels = stage.get("/api/v1/namespaces/tenant-baz")["metadata"]["labels"]
        assert labels["reserved.tenant"] == "tenant-baz"
        quotas = '[{"namespace": "tenant-baz", "hard": {"requests.nvidia.com/gpu": "32"}}]'
        stage.play("reservations", "-e", f'{{"tenant_quotas": {quotas}}}')
        quota = stage.get("/api/v1/namespaces/tenant-baz/resourcequotas/tenant-baz-quota")
        assert quota["spec"]["hard"] == {
            "count/reservationbindings.scheduling.coreweave.cloud": "20",
            "requests.nvidia.com/gpu": "32",
        }
        other = quotas.replace("tenant-baz", "tenant-bar")
        done = stage.play("reservations", "-e", f'{{"tenant_quotas": {other}}}', check=False)
        assert done.returncode != 0
        assert "resourcequotas" in done.stdout
    finally:
        stage.admin.delete("/api/v1/namespaces/tenant-baz")
