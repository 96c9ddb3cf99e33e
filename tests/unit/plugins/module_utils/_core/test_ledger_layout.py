# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which file is what, and which ones may not lie where they lie."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.ledger_layout import (
    claimed_id,
    ledger_files,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.ledger_texts import (
    FREEZE,
    ORDER,
    POLICY,
    POLICY_PATH,
    RECORD,
    ROOT,
    tree,
)


def strays(path: str, *, mode: str = "100644", cluster: str = "lab") -> list[str]:
    entry = FleetFile.model_validate({"path": path, "mode": mode, "text": RECORD})
    return [one.file for one in ledger_files(tree({path: entry}), cluster).problems]


def test_files_are_told_apart_by_their_paths() -> None:
    found = ledger_files(
        tree(
            {
                f"{ROOT}/records/gpu-res-lab-1.yaml": RECORD,
                f"{ROOT}/freezes/h100-vm.yaml": FREEZE,
                f"{ROOT}/orders/LAB-9.yaml": ORDER,
                f"{ROOT}/README.md": "text",
                "gpu-reservations/eu/zrh/records/gpu-res-lab-2.yaml": RECORD,
                "gpu-reservations/other/policy.yaml": POLICY,
                "clusters/lab/cluster-config.env": "A=1",
            }
        ),
        "lab",
    )
    assert found.policy is not None
    assert found.policy_path == POLICY_PATH
    assert list(found.records) == ["gpu-res-lab-1"]
    assert list(found.freezes) == ["h100-vm"]
    assert sorted(found.orders) == ["LAB-9", "lab-1"]
    assert [file.path for file in found.other_records] == [
        "gpu-reservations/eu/zrh/records/gpu-res-lab-2.yaml"
    ]
    assert found.problems == ()


@pytest.mark.parametrize(
    "name",
    [
        "gpu-res-lab-1.yml",
        "gpu-res-lab-1.YAML",
        "gpu-res-lab-1",
        "gpu-res-lab-1.yaml.bak",
        "gpu-res-lab-1 (copy).yaml",
        "copy-of-gpu-res-lab-1.yaml",
        "gpu-res-LAB-1.yaml",
        "README.md",
        "README",
        "old/gpu-res-lab-1.yaml",
        ".old/gpu-res-lab-1.yaml",
        "gpu-res-lab-1.yaml/x",
    ],
)
def test_a13_anything_but_id_yaml_in_records_is_invalid(name: str) -> None:
    path = f"{ROOT}/records/{name}"
    assert strays(path) == [path]


@pytest.mark.parametrize("name", [".gitkeep", ".gpu-res-lab-1.yaml.swp", "gpu-res-lab-1.yaml"])
def test_a13_dot_files_and_records_are_fine(name: str) -> None:
    assert strays(f"{ROOT}/records/{name}") == []


@pytest.mark.parametrize("name", ["h100-vm.yml", "H100-VM.yaml", "README.md", "old/h100-vm.yaml"])
def test_a13_an_overlooked_freeze_would_sell(name: str) -> None:
    path = f"{ROOT}/freezes/{name}"
    assert strays(path) == [path]


def test_a13_orders_are_read_by_name_so_that_others_beside_them_do_no_harm() -> None:
    assert strays(f"{ROOT}/orders/README.md") == []


@pytest.mark.parametrize("folder", ["records", "freezes", "orders"])
@pytest.mark.parametrize("mode", ["100644", "120000", "160000"])
def test_a13_a_link_or_file_in_a_folders_place_would_hide_what_belongs_there(folder: str, mode: str) -> None:
    assert strays(f"{ROOT}/{folder}", mode=mode) == [f"{ROOT}/{folder}"]


@pytest.mark.parametrize(
    "name", ["gpu-res-lab-1.yaml", "Records/gpu-res-lab-1.yaml", "a/b/records/gpu-res-lab-1.yaml"]
)
def test_a13_a_record_outside_of_records_is_not_overlooked(name: str) -> None:
    assert strays(f"{ROOT}/{name}") == [f"{ROOT}/{name}"]


def test_d03_the_folder_of_a_cluster_below_is_another_cluster() -> None:
    path = "gpu-reservations/lab/two/records/gpu-res-lab-1.yaml"
    found = ledger_files(tree({path: RECORD}), "lab")
    assert [file.path for file in found.other_records] == [path]
    assert found.problems == ()
    below = ledger_files(tree({path: RECORD}), "lab/two")
    assert list(below.records) == ["gpu-res-lab-1"]
    assert below.policy is None


def test_d03_a_cluster_that_starts_alike_is_another_one() -> None:
    found = ledger_files(tree({"gpu-reservations/lab2/records/x.yaml": RECORD}), "lab")
    assert found.problems == ()
    assert [file.path for file in found.other_records] == ["gpu-reservations/lab2/records/x.yaml"]


def test_d03_what_is_no_cluster_is_refused() -> None:
    with pytest.raises(InputError):
        ledger_files(tree(), "a--b")


def test_a26_a_stray_name_with_an_identifier_is_masked() -> None:
    found = strays(f"{ROOT}/records/GPU-6f1c2d3e-1b2c-4d3e-8f4a-5b6c7d8e9f01.txt")
    assert found == [f"{ROOT}/records/<device-uuid>.txt"]


@pytest.mark.parametrize(
    ("name", "text", "claimed"),
    [
        ("gpu-res-a.yaml", "metadata:\n  id: gpu-res-a\n", "gpu-res-a"),
        ("gpu-res-a.yaml", "metadata:\n  id: gpu-res-b\n", "gpu-res-b"),
        ("gpu-res-a.yaml", "metadata: {id: gpu-res-b}\n", "gpu-res-b"),
        ("gpu-res-a.yaml", '"metadata":\r\n  "id": "gpu-res-b"\r\n', "gpu-res-b"),
        ("gpu-res-a.yaml", "spec:\n  id: gpu-res-b\nmetadata: {id: gpu-res-c}\n", "gpu-res-c"),
        ("gpu-res-a.yaml", "metadata: [\n", "gpu-res-a"),
        ("gpu-res-a.yaml", "metadata: 7\n", "gpu-res-a"),
        ("gpu-res-a.yaml", "metadata: {id: 7}\n", "gpu-res-a"),
        ("gpu-res-a.yaml", "", "gpu-res-a"),
    ],
)
def test_a14_the_id_that_a_file_claims(name: str, text: str, claimed: str) -> None:
    assert claimed_id(FleetFile.of(f"gpu-reservations/x/records/{name}", text.encode())) == claimed


def test_a14_a_file_that_is_no_text_claims_its_name() -> None:
    assert claimed_id(FleetFile.of("gpu-reservations/x/records/gpu-res-a.yaml", b"\xff")) == "gpu-res-a"
