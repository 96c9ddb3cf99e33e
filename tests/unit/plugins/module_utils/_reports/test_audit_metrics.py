# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Metrics that Prometheus takes: names with units, help, and no sample for what is unknown."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._reports.audit_metrics import (
    audit_metrics,
    render_metrics,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._reports.bundles import (
    DEVICE_UUID,
    bundle_of,
    failing,
    healthy,
)

PROMTOOL = shutil.which("promtool")
SAMPLE = re.compile(r'[a-z_]+\{(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+\} -?[0-9.e+]+')
DASHBOARD = Path(__file__).resolve().parents[5] / "docs" / "dashboards" / "gpu-capacity.json"


def test_the_fixtures_numbers() -> None:
    lines = render_metrics(healthy()).splitlines()
    assert 'gpuops_audit_passed{cluster="lab"} 1' in lines
    assert 'gpuops_audit_timestamp_seconds{cluster="lab"} 1794312000' in lines
    assert 'gpuops_pool_healthy_devices{cluster="lab",profile="h100-vm"} 32' in lines
    assert 'gpuops_pool_reserved_devices{cluster="lab",profile="h100-vm",state="active"} 8' in lines
    assert 'gpuops_pool_headroom_devices{cluster="lab",profile="h100-vm"} 17' in lines
    assert (
        'gpuops_organization_used_devices{cluster="lab",organization="aurora",profile="h100-vm"} 2' in lines
    )


def test_every_metric_has_help_and_type_and_is_well_formed() -> None:
    for bundle in (healthy(), bundle_of(failing())):
        for metric in audit_metrics(bundle):
            head, kind, *samples = metric.lines()
            assert head == f"# HELP {metric.name} {metric.help}"
            assert kind == f"# TYPE {metric.name} gauge"
            assert all(SAMPLE.fullmatch(line) for line in samples)
        names = [metric.name for metric in audit_metrics(bundle)]
        assert len(names) == len(set(names))


def test_what_is_unknown_has_no_sample_and_does_not_hold() -> None:
    text = render_metrics(bundle_of(failing()))
    assert 'gpuops_pool_headroom_devices{cluster="lab",profile="h100-vm"}' not in text
    assert 'gpuops_pool_non_reserved_devices{cluster="lab",profile="h100-vm"}' not in text
    assert 'gpuops_pool_equation_holds{cluster="lab",profile="h100-vm"} 0' in text
    assert 'gpuops_audit_passed{cluster="lab"} 0' in text
    assert DEVICE_UUID not in text


def test_labels_are_escaped() -> None:
    bundle = healthy()
    bundle["cluster"] = 'a"b\\c\nd'
    assert 'gpuops_audit_passed{cluster="a\\"b\\\\c\\nd"} 1' in render_metrics(bundle).splitlines()


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool, which judges the metrics")
def test_promtool_accepts_them() -> None:
    for bundle in (healthy(), bundle_of(failing())):
        judged = subprocess.run(
            [str(PROMTOOL), "check", "metrics"],
            input=render_metrics(bundle),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (judged.returncode, judged.stdout, judged.stderr) == (0, "", "")


def test_the_dashboard_asks_only_for_metrics_that_there_are() -> None:
    names = {metric.name for metric in audit_metrics(healthy())}
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    used = {name for expression in asked for name in re.findall(r"gpuops_[a-z_]+", expression)}
    assert used
    assert used <= names
    assert all(re.search(r"gpuops_[a-z_]+", expression) for expression in asked)
