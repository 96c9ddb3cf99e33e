# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit on the lab: it passes on the fixture, finds each drift, and closes what it is asked to close."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.tests.integration.capacity import drifts
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules, found
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    CONFIG_FILE,
    LEDGER,
    CapacityLab,
    Run,
    eventually,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.drifts import DRIFTS, Drift

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NOTE = {("node-in-shared-mode", "node/acc-01")}
FREEZE = f"{LEDGER}/freezes/h100-vm.yaml"
FENCE = "/api/v1/namespaces/gpuops-system/configmaps/capacity-fence"
QUICK: dict[str, Any] = {"health_interval": 0.2, "poll_interval": 0.2}


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


@pytest.fixture(scope="module")
def modules(lab: CapacityLab) -> LiveModules:
    return LiveModules(lab)


def audited(lab: CapacityLab, folder: Path, *arguments: str, **more: Any) -> tuple[Run, dict[str, Any]]:
    """The playbook with its JSON bundle."""
    folder.mkdir(exist_ok=True)
    ran = lab.playbook("audit", *arguments, report_dir=str(folder), **QUICK, **more)
    return ran, json.loads((folder / "audit.json").read_text(encoding="utf-8"))


def clean(modules: LiveModules) -> None:
    """What the drift before made is gone: the platform has followed."""
    eventually("an audit of the fixture that passes", lambda: modules.audit()["passed"], 120)


def test_the_untouched_fixture_passes_for_the_reader_in_check_mode_too_and_writes_nothing(
    lab: CapacityLab, modules: LiveModules, tmp_path: Path
) -> None:
    clean(modules)
    refs = lab.refs()
    with lab.mutations() as written:
        plain, bundle = audited(lab, tmp_path / "plain", identity="reader")
        checked, again = audited(lab, tmp_path / "check", "--check", identity="reader")
    assert plain.code == 0, plain.output
    assert checked.code == 0, checked.output
    assert found(bundle) == found(bundle, "warning") == set()
    assert found(bundle, "note") == NOTE
    assert written == []
    assert lab.refs() == refs
    for moving in ("server_time", "pools"):
        assert bundle.pop(moving)
        assert again.pop(moving)
    assert bundle == again


@pytest.mark.parametrize("name", DRIFTS)
def test_a_drift_gives_its_finding_and_the_playbooks_exit(
    lab: CapacityLab, modules: LiveModules, tmp_path: Path, name: str
) -> None:
    drift: Drift = DRIFTS[name]
    clean(modules)
    with drift.make(lab):
        eventually(
            f"{sorted(drift.found)} alone of severity {drift.severity}",
            lambda: found(modules.audit(), drift.severity) == drift.found,
            60,
        )
        with lab.mutations() as written:
            ran, bundle = audited(lab, tmp_path / "reports")
    assert found(bundle, drift.severity) == drift.found
    assert (ran.code != 0) is (drift.severity == "error"), ran.output
    assert bundle["passed"] is (drift.severity != "error")
    assert written == []
    for finding in bundle["findings"]:
        if finding["severity"] != drift.severity:
            continue
        assert finding["next_action"], finding
        assert finding["message"] in ran.output.replace("\n", " ") or finding["id"] in ran.output
        if drift.odd:
            assert finding["odd"] == drift.odd, finding
            assert drift.odd in finding["values"]
            assert all(value in finding["message"] for value in finding["values"].values())


def test_two_drifts_give_two_findings_alike_in_check_mode(
    lab: CapacityLab, modules: LiveModules, tmp_path: Path
) -> None:
    first, second = DRIFTS["active-alert"], DRIFTS["degraded-capacity, a device"]
    clean(modules)
    with drifts.both(first.make, second.make)(lab):
        both = first.found | second.found
        eventually("both findings", lambda: found(modules.audit()) == both, 60)
        refs = lab.refs()
        with lab.mutations() as written:
            plain, bundle = audited(lab, tmp_path / "plain")
            checked, again = audited(lab, tmp_path / "check", "--check")
        assert lab.refs() == refs
    assert (plain.code, checked.code) == (2, 2)
    assert found(bundle) == found(again) == both
    assert written == []


def fences(lab: CapacityLab) -> set[str]:
    return {key for key in lab.admin.get(FENCE)["data"] if "." in key}


def gate_is_closed_live(lab: CapacityLab) -> bool:
    config = lab.admin.get("/api/v1/namespaces/flux-system/configmaps/cluster-config")["data"]
    release = lab.admin.get("/apis/helm.toolkit.fluxcd.io/v2/namespaces/kube-dc/helmreleases/kube-dc")
    deployment = lab.admin.get("/apis/apps/v1/namespaces/kube-dc/deployments/kube-dc-backend")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    variables = {item["name"]: item.get("value") for item in container["env"]}
    return (
        config["GPU_VM_CREATION_ENABLED"] == "false"
        and release["spec"]["values"]["gpu"]["vmCreation"]["enabled"] in (False, "false")
        and variables["GPU_VM_CREATION_ENABLED"] == "false"
    )


def holders(lab: CapacityLab) -> set[str]:
    return {
        pod["metadata"]["uid"]
        for pod in lab.admin.get("/api/v1/pods")["items"]
        if drifts.H100 in json.dumps(pod["spec"])
    }


def test_enforce_closes_live_and_in_the_fleet_and_two_people_thaw(
    lab: CapacityLab, modules: LiveModules
) -> None:
    clean(modules)
    before, held, records = lab.entitlements(), holders(lab), lab.records()
    assert held
    thaw: dict[str, Any] = {"thaw": "h100-vm", "reference": "INC-1", **QUICK}
    with DRIFTS["degraded-capacity, a device"].make(lab):
        eventually("the finding", lambda: not modules.audit()["passed"], 60)
        failed = lab.playbook("audit", enforce=True, **QUICK)
        assert failed.code != 0
        assert "freeze sales of h100-vm" in failed.output
        assert gate_is_closed_live(lab)
        assert lab.gate() == "false"
        assert fences(lab) == {"creation.h100-vm", "entitlement.h100-vm"}
        freeze = yaml.safe_load(lab.file(FREEZE))
        assert freeze["findings"] == ["degraded-capacity"]
        assert freeze["thawed"] is None
        assert (lab.entitlements(), holders(lab), lab.records()) == (before, held, records)
        touched = lab.git("show", "--name-only", "--format=", "main").split()
        assert sorted(touched) == sorted([CONFIG_FILE, FREEZE])
        refs = lab.refs()
        with lab.mutations() as written:
            assert lab.playbook("audit", enforce=True, **QUICK).code != 0
        assert (lab.refs(), written) == (refs, [])
        refused = lab.playbook("creation_gate", product="p", sre="s", **thaw)
        assert refused.code != 0
        assert "the audit does not pass" in refused.output
        assert yaml.safe_load(lab.file(FREEZE))["thawed"] is None
    eventually("an audit that passes", lambda: modules.audit()["passed"], 60)
    for people in ({"product": "p"}, {"sre": "s"}, {"product": "p", "sre": " P "}):
        assert lab.playbook("creation_gate", **people, **thaw).code != 0
        assert yaml.safe_load(lab.file(FREEZE))["thawed"] is None
    assert lab.playbook("creation_gate", state="open", **QUICK).code != 0
    assert lab.gate() == "false"
    thawed = lab.playbook("creation_gate", product="p", sre="s", **thaw)
    assert thawed.code == 0, thawed.output
    assert yaml.safe_load(lab.file(FREEZE))["thawed"]["product"] == "p"
    assert fences(lab) == set()
    assert lab.gate() == "false"
    assert lab.playbook("creation_gate", state="open", **QUICK).code == 0
    assert lab.gate() == "true"
    assert lab.entitlements() == before
