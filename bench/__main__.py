# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""python -m bench: generates fleets on a real API server, and measures ways to read them side by side."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from lab.directory import CHECKOUT, LabDirectory

from . import alerts, fleet, load, measure, report, server
from .contenders import Contender, contenders
from .shape import SHAPES, Shape

_BEGUN = time.monotonic()


def say(text: str) -> None:
    """One line of progress."""
    print(f"bench {time.monotonic() - _BEGUN:6.1f}s  {text}", flush=True)


def main() -> int:
    """Measures; 1 when something that was measured failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("sizes", nargs="*", choices=[[], *SHAPES], help="sizes of the fleet; both by default")
    parser.add_argument("--only", action="append", help="measure only this contender (may be repeated)")
    parser.add_argument("--results", type=Path, default=CHECKOUT / "bench" / "results")
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = []
    tables: list[str] = []
    failed = False
    for name in arguments.sizes or list(SHAPES):
        found, ok = on_fleet(SHAPES[name], arguments.only, arguments.results)
        failed |= not ok
        results.append(report.as_json(SHAPES[name], found))
        tables.append(report.table(SHAPES[name], found))
        print("\n" + tables[-1], flush=True)
    report.write(arguments.results, results, tables)
    say(f"written to {arguments.results}")
    return 1 if failed else 0


def on_fleet(shape: Shape, only: list[str] | None, logs: Path) -> tuple[list[report.Measured], bool]:
    """Generates one fleet where it is not there yet, and measures on it."""
    lab = server.directory(shape.name)
    logs.mkdir(parents=True, exist_ok=True)
    with server.serving(lab, say), alerts.serving() as alerts_url:
        client = KubeClient.connect(ConnectionOptions(kubeconfig=str(server.kubeconfig(lab))))
        repository = filled(lab, client, shape)
        with tempfile.TemporaryDirectory(prefix="bench-") as work:
            wanted = contenders(Path(work), server.kubeconfig(lab), repository, alerts_url)
            chosen = [one for one in wanted if not only or one.name in only]
            return measured(client, shape, chosen, logs)


def filled(lab: LabDirectory, client: KubeClient, shape: Shape) -> Path:
    """The fleet's objects and its repository."""
    repository = lab.root / "fleet.git"
    if not server.is_loaded(lab):
        load.load(client, shape, say)
        shutil.rmtree(repository, ignore_errors=True)
        uid = (client.get("/api/v1/namespaces/kube-system", dict[str, Any]) or {})["metadata"]["uid"]
        fleet.build(shape, uid, repository)
        server.mark_loaded(lab)
    return repository


def measured(
    client: KubeClient, shape: Shape, chosen: list[Contender], logs: Path
) -> tuple[list[report.Measured], bool]:
    """All contenders in turn, round after round, so that each meets the same moods of the machine."""
    runs: dict[str, list[measure.Run]] = {one.name: [] for one in chosen}
    ok = True
    for round_ in range(max((one.runs for one in chosen), default=0)):
        for one in chosen:
            if round_ >= one.runs:
                continue
            load.freshen(client, shape)  # before each, so that each meets a server that has just written
            log = logs / f"{shape.name}-{one.name.replace(' ', '-')}.log"
            run = measure.run(one, log)
            runs[one.name].append(run)
            say(f"{shape.name}: {one.name}: {run.seconds:.2f} s, {run.peak_mib:.0f} MiB")
            if run.code != 0:
                ok = False
                say(f"{one.name} ended with {run.code}; see {log}")
    return [report.Measured(one, tuple(runs[one.name])) for one in chosen], ok


if __name__ == "__main__":
    sys.exit(main())
