# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's entry in GPU_NODE_MODES: found, moved in place, or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_modes_entry import (
    EntryUnclear,
    moved_entry,
    node_entry,
)


@pytest.mark.parametrize(
    "line",
    [
        "GPU_NODE_MODES=acc-7=pod-hami",
        "GPU_NODE_MODES=acc-70=pod-hami,acc-7=pod-hami,acc-8=vm-passthrough",
        'GPU_NODE_MODES="acc-8=vm-passthrough,acc-7=pod-hami"',
        "GPU_NODE_MODES='acc-7=pod-hami'",
        "  GPU_NODE_MODES = acc-8=pod-hami , acc-7 = pod-hami ",
        "export GPU_NODE_MODES=acc-7=pod-hami,",
        "GPU_NODE_MODES=acc-7=pod-hami # acc-7 since May",
        'GPU_NODE_MODES="x.acc-7=pod-hami,acc-7=pod-hami,acc-7.x=pod-hami"\t# as the installer wrote it',
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_the_entry_moves_and_returns(line: str, end: str) -> None:
    text = f"CLUSTER_NAME=lab{end or chr(10)}{line}{end}"
    entry = node_entry(text, "acc-7")
    assert entry is not None
    assert entry.mode == "pod-hami"
    there = moved_entry(text, "acc-7", "vm-passthrough")
    found = node_entry(there, "acc-7")
    assert found is not None
    assert found.mode == "vm-passthrough"
    assert moved_entry(there, "acc-7", "pod-hami") == text


def test_a_byte_order_mark_hides_no_entry() -> None:
    text = "\ufeffGPU_NODE_MODES=acc-7=pod-hami\r\nX=1\r\n"
    assert moved_entry(text, "acc-7", "vm-passthrough") == text.replace("pod-hami", "vm-passthrough")


def test_of_two_lines_the_last_one_counts() -> None:
    text = "GPU_NODE_MODES=acc-7=vm-passthrough\nGPU_NODE_MODES=acc-7=pod-hami\n"
    assert moved_entry(text, "acc-7", "pod-hami-dra") == (
        "GPU_NODE_MODES=acc-7=vm-passthrough\nGPU_NODE_MODES=acc-7=pod-hami-dra\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "GPU_NODE_MODES=\n",
        "GPU_NODE_MODES=acc-70=pod-hami\n",
        "# GPU_NODE_MODES=acc-7=pod-hami\n",
        "X=acc-7=pod-hami\n",
        "MY_GPU_NODE_MODES=acc-7=pod-hami\n",
        "GPU_NODE_MODES_OLD=acc-7=pod-hami\n",
        "GPU_NODE_MODES=acc-8=pod-hami # acc-7=pod-hami\n",
        "GPU_NODE_MODES=acc-7=pod-hami\nGPU_NODE_MODES=acc-8=pod-hami\n",
    ],
)
def test_no_entry_leaves_the_file_alone(text: str) -> None:
    assert node_entry(text, "acc-7") is None
    assert moved_entry(text, "acc-7", "vm-passthrough") == text


@pytest.mark.parametrize(
    "value",
    [
        "acc-7=pod-hami,acc-7=vm-passthrough",
        "acc-7",
        "acc-7=",
        "acc-7=pod-hami vm",
        "acc-7=pod-hami#note",
        "acc-8=pod-hami acc-7=pod-hami",
        "acc-8=pod-hami;acc-7=pod-hami",
        "acc-7:pod-hami",
        "pod-hami=acc-7",
    ],
)
def test_an_entry_without_one_readable_mode_is_unclear(value: str) -> None:
    with pytest.raises(EntryUnclear, match="acc-7"):
        moved_entry(f"GPU_NODE_MODES={value}\n", "acc-7", "vm-passthrough")


@given(st.text(max_size=200), st.text(max_size=50))
def test_any_text_is_read_or_refused_and_only_the_mode_changes(before: str, after: str) -> None:
    line = "GPU_NODE_MODES=acc-7=pod-hami,acc-8=vm-passthrough"
    text = f"{before}\n{line}\n{after}"
    try:
        moved = moved_entry(text, "acc-7", "vm-passthrough")
    except EntryUnclear:
        return
    if node_entry(text, "acc-7") is not None:
        assert moved == f"{before}\n{line.replace('pod-hami', 'vm-passthrough', 1)}\n{after}"
