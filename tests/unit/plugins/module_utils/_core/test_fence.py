# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fences' parameters follow from locks and freezes, and setting them twice is setting them once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.fence import (
    is_fenced,
    parameter_patch,
    wanted_parameters,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import (
    FleetFile,
    FleetTree,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.freeze import freeze_path
from ansible_collections.gpuops.reservations.plugins.module_utils._core.ledger import Ledger, load_ledger
from ansible_collections.gpuops.reservations.plugins.module_utils._core.lock import LockDocument, nobody, take

FLEET = Path(__file__).parents[2] / "capacity" / "fleet"
RESOURCES = {"h100-vm": "nvidia.com/H100", "v100-vm": "nvidia.com/V100"}
FREEZE = 'since: "2026-11-01T00:00:00Z"\naudit: daily\nfindings: [active-alert]\nthawed: null\n'
THAWED = FREEZE.replace(
    "thawed: null", 'thawed: {product: p, sre: s, reference: R-1, at: "2026-11-02T00:00:00Z"}'
)


def ledger(**extra: str) -> Ledger:
    files = [
        FleetFile.of(str(path.relative_to(FLEET)), path.read_bytes())
        for path in sorted(FLEET.rglob("*"))
        if path.is_file()
    ]
    files += [FleetFile.of(freeze_path("lab", name), text.encode()) for name, text in extra.items()]
    return load_ledger(FleetTree(branch="main", revision="0" * 40, files=tuple(files)), "lab")


def locked(ticket: str) -> LockDocument:
    return take(nobody(), ["h100-vm"], ticket, "run", now="2026-11-01T00:00:00Z", step="freeze").document


def test_nothing_is_fenced_where_nothing_is_locked_or_frozen() -> None:
    assert wanted_parameters(ledger(), nobody(), RESOURCES, {}, {}) == {}


def test_a_locked_pool_is_fenced_for_all_but_the_named_smoke_vm() -> None:
    wanted = wanted_parameters(ledger(), locked("lab-1"), RESOURCES, {}, {"lab-1": "borealis-ml"})
    assert wanted == {
        "creation.h100-vm": "nvidia.com/H100 borealis-ml/gpu-smoke-lab-1",
        "entitlement.h100-vm": "gpu-h100-reserved",
    }
    assert is_fenced(wanted, "h100-vm")
    assert not is_fenced(wanted, "v100-vm")


def test_what_the_holder_was_allowed_stays_when_another_run_looks() -> None:
    present = wanted_parameters(ledger(), locked("lab-1"), RESOURCES, {}, {"lab-1": "borealis-ml"})
    assert wanted_parameters(ledger(), locked("lab-1"), RESOURCES, present, {}) == present
    other = wanted_parameters(ledger(), locked("lab-2"), RESOURCES, present, {})
    assert other["creation.h100-vm"] == "nvidia.com/H100 -"


@pytest.mark.parametrize("holder", ["transition:gpu-01", "reservation:foo"])
def test_who_has_no_smoke_vm_lets_no_vm_start(holder: str) -> None:
    wanted = wanted_parameters(ledger(), locked(holder), RESOURCES, {}, {})
    assert wanted["creation.h100-vm"] == "nvidia.com/H100 -"


def test_a_frozen_pool_is_fenced_without_a_lock_and_a_thawed_one_is_not() -> None:
    frozen = wanted_parameters(ledger(**{"h100-vm": FREEZE}), nobody(), RESOURCES, {}, {})
    assert sorted(frozen) == ["creation.h100-vm", "entitlement.h100-vm"]
    assert wanted_parameters(ledger(**{"h100-vm": THAWED}), nobody(), RESOURCES, {}, {}) == {}


def test_a_pool_whose_device_is_unknown_is_never_said_to_be_fenced() -> None:
    wanted = wanted_parameters(ledger(), locked("lab-1"), {}, {}, {})
    assert not is_fenced(wanted, "h100-vm")


def test_the_patch_touches_the_fences_own_keys_alone_and_ends() -> None:
    present = {"operators": "group:gpuops", "creation.v100-vm": "x -", "entitlement.v100-vm": "a"}
    wanted = wanted_parameters(ledger(), locked("lab-1"), RESOURCES, present, {})
    patch = parameter_patch(present, wanted)
    assert patch["creation.v100-vm"] is None
    assert "operators" not in patch
    after = {key: value for key, value in {**present, **patch}.items() if value is not None}
    assert parameter_patch(after, wanted) == {}
