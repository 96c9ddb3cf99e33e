# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is measured is what is meant: the same lists, a fleet whose equation holds, honest ratios."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.observe import observe_cluster
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import (
    FleetFile,
    FleetTree,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.ledger import load_ledger
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._adapters import (
    scripted_server,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._adapters.cluster_script import (
    UID,
    script_cluster,
)
from bench import fleet, machinery, report, tenants
from bench.contenders import LISTS, Contender
from bench.measure import Run, run
from bench.shape import DEVICES_OF_A_HOLD, DEVICES_OF_A_NODE, FULL, SHAPES, TENTH, Shape

SMALL = Shape("small", nodes=10, organizations=20, pods=100, records=30)


def test_the_lists_that_are_compared_are_those_that_an_observation_reads() -> None:
    with scripted_server.serving() as server:
        script_cluster(server)
        observe_cluster(KubeClient.connect(ConnectionOptions(host=server.url)), UID, "lab")
        lists = {asked.path for asked in server.asked if "limit" in asked.query}
    # KubeVirt's one object is left out of the comparison: every way reads it in no time.
    assert lists == {path for path, _, _ in LISTS} | {"/apis/kubevirt.io/v1/kubevirts"}


def test_the_sizes_are_those_that_were_asked_for() -> None:
    assert (FULL.nodes, FULL.organizations, FULL.pods, FULL.records) == (1_000, 2_000, 20_000, 5_000)
    assert [FULL.nodes // TENTH.nodes, FULL.pods // TENTH.pods, FULL.records // TENTH.records] == [10, 10, 10]


@pytest.mark.parametrize("shape", [*SHAPES.values(), SMALL], ids=lambda shape: shape.name)
def test_the_equation_holds_at_any_size(shape: Shape) -> None:
    hard = sum(shape.hard(number) for number in range(shape.organizations))
    assert hard == shape.holds * DEVICES_OF_A_HOLD + shape.ordinary
    assert shape.pool_nodes * DEVICES_OF_A_NODE >= hard + 1
    assert all(shape.used(number) <= shape.hard(number) for number in range(shape.organizations))
    assert shape.holds <= shape.records


def test_there_are_as_many_objects_as_said() -> None:
    assert len(list(machinery.pods(SMALL))) == SMALL.pods
    assert len(list(machinery.nodes(SMALL))) == len(list(machinery.leases(SMALL))) == SMALL.nodes
    assert len(list(tenants.organizations(SMALL))) == 2 * SMALL.organizations
    assert len({item.own_path for item in machinery.pods(SMALL)}) == SMALL.pods


def test_the_generated_ledger_is_valid() -> None:
    files = [FleetFile.of(path, content) for path, content in fleet.files(SMALL, "uid")]
    tree = FleetTree(branch="main", revision="0" * 40, files=tuple(sorted(files, key=lambda file: file.path)))
    ledger = load_ledger(tree, fleet.CLUSTER)
    states = [record.spec.state for record in ledger.records.values()]
    assert (len(states), states.count("active")) == (SMALL.records, SMALL.holds)


def test_ratios_compare_the_best_runs() -> None:
    def measured(name: str, *seconds: float) -> report.Measured:
        runs = tuple(Run(one, 0.0, 1.0, 0) for one in seconds)
        return report.Measured(Contender(name, "", (), {}), runs)

    found = [measured("raw", 3.0, 2.0), measured("module", 3.0, 4.0), measured("naive", 120.0)]
    assert report.ratios(found) == {"module/raw": 1.5, "naive/module": 40.0}
    failed = report.Measured(found[1].contender, (Run(0.1, 0.0, 1.0, 1), *found[1].runs))
    assert failed.best.seconds == 3.0, "what failed is not fast"
    text = report.table(SMALL, found)
    assert "module / raw: 1.50" in text
    assert "naive / module: 40" in text


def test_a_run_is_measured(tmp_path: Path) -> None:
    script = "import sys; data = bytearray(50_000_000); sys.exit(3)"
    contender = Contender("x", "", (sys.executable, "-c", script), {"HOME": str(tmp_path)})
    found = run(contender, tmp_path / "log")
    assert found.code == 3
    assert found.peak_mib > 50
    assert found.seconds > 0
