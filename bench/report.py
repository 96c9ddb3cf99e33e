# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as JSON and as a table."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .contenders import Contender
from .measure import Run
from .shape import Shape

AIM_OF_RAW = 1.5
AIM_OF_NAIVE = 40.0


@dataclass(frozen=True)
class Measured:
    """A contender's runs on one fleet."""

    contender: Contender
    runs: tuple[Run, ...]

    @property
    def best(self) -> Run:
        """The fastest run that ended well: what else the machine did only adds to a time."""
        return min(self.runs, key=lambda run: (run.code != 0, run.seconds))


def as_json(shape: Shape, found: list[Measured]) -> dict[str, Any]:
    """One fleet's results."""
    return {
        "fleet": {**asdict(shape), "pool_nodes": shape.pool_nodes, "machines": shape.machines},
        "contenders": [
            {
                "name": one.contender.name,
                "what": one.contender.what,
                "best": asdict(one.best),
                "runs": [asdict(run) for run in one.runs],
            }
            for one in found
        ],
        "ratios": ratios(found),
    }


def ratios(found: list[Measured]) -> dict[str, float]:
    """The two comparisons that count; nothing where one side was not measured."""
    best = {one.contender.name: one.best.seconds for one in found if one.best.code == 0}
    wanted = {"module/raw": ("module", "raw"), "naive/gpu_invariant": ("naive", "gpu_invariant")}
    wanted["naive/module"] = ("naive", "module")
    return {
        name: round(best[above] / best[below], 2)
        for name, (above, below) in wanted.items()
        if above in best and below in best
    }


def table(shape: Shape, found: list[Measured]) -> str:
    """The results for a person."""
    sizes = f"{shape.nodes:,} nodes, {shape.organizations:,} organizations, {shape.pods:,} Pods"
    lines = [
        f"{shape.name}: {sizes}, {shape.records:,} records",
        f"{'':16}{'seconds':>9}{'CPU s':>9}{'peak MiB':>10}  what",
    ]
    for one in found:
        best = one.best
        lines.append(
            f"{one.contender.name:16}{best.seconds:9.2f}{best.cpu_seconds:9.2f}{best.peak_mib:10.0f}  "
            f"{one.contender.what}{'' if best.code == 0 else ' (FAILED)'}"
        )
    found_ratios = ratios(found)
    if "module/raw" in found_ratios:
        lines.append(f"module / raw: {found_ratios['module/raw']:.2f} (aim: at most {AIM_OF_RAW})")
    if "naive/gpu_invariant" in found_ratios:
        lines.append(f"naive / playbook with gpu_invariant: {found_ratios['naive/gpu_invariant']:.0f}")
    if "naive/module" in found_ratios:
        lines.append(f"naive / module: {found_ratios['naive/module']:.0f} (aim: at least {AIM_OF_NAIVE:.0f})")
    return "\n".join(lines) + "\n"


def machine() -> dict[str, Any]:
    """What the results were measured on."""
    return {"python": platform.python_version(), "cpus": os.cpu_count(), "system": platform.platform()}


def write(folder: Path, results: list[dict[str, Any]], tables: list[str]) -> None:
    """Writes both."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine(), "results": results}
    (folder / "results.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / "table.txt").write_text("\n".join(tables))
