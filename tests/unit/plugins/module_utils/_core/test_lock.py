# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lock document: taken whole or not at all, taken over by the same holder only, fenced by the run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.document import read
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    InputError,
    ObservationError,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import (
    FleetFile,
    FleetTree,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.lock import (
    LOCK_FILE,
    LockDocument,
    break_lock,
    forget_cap,
    nobody,
    read_lock,
    release,
    remember_cap,
    require_run,
    set_step,
    take,
)

T1, T2, T3 = "2026-11-01T09:00:00Z", "2026-11-01T09:05:00Z", "2026-11-01T09:10:00Z"

CONTRACT = """\
pools: {h100-vm: {ticket: lab-1, run: 01J0000000000000000000000A, since: 2026-11-01T09:00:00Z, step: entitle}}
gate: {vm: {openBefore: true, closedFor: [lab-1]}, shared: {openBefore: true, closedFor: []}}
projectCaps: {lab-1: null}     # what was there before
"""


def parsed(text: str) -> LockDocument:
    document = read(LockDocument, FleetFile.of(LOCK_FILE, text.encode())).document
    assert document is not None
    return document


def fields(text: str) -> list[str]:
    return [one.field for one in read(LockDocument, FleetFile.of(LOCK_FILE, text.encode())).problems]


def branch(text: str | None, revision: str = "b" * 40) -> FleetTree:
    files = () if text is None else (FleetFile.of(LOCK_FILE, text.encode()),)
    return FleetTree(branch="gpu-lock/lab", revision=revision, files=files)


def held(holder: str = "lab-1", run: str = "r1", *pools: str) -> LockDocument:
    return take(nobody(), pools or ("h100-vm",), holder, run, now=T1, step="freeze").document


def test_the_contracts_document() -> None:
    document = parsed(CONTRACT)
    assert document.pools["h100-vm"].ticket == "lab-1"
    assert document.gate.vm.closed_for == ("lab-1",)
    assert document.project_caps == {"lab-1": None}
    assert document.held_by("lab-1") == ("h100-vm",)


def test_what_is_written_is_read_back_and_always_the_same() -> None:
    document = parsed(CONTRACT)
    assert parsed(document.to_yaml()) == document
    assert parsed(document.to_yaml()).to_yaml() == document.to_yaml()
    two = take(nobody(), ["b", "a"], "lab-1", "r", now=T1, step="x").document
    assert two.to_yaml() == take(nobody(), ["a", "b"], "lab-1", "r", now=T1, step="x").document.to_yaml()


def test_the_document_of_nobody_is_written_too() -> None:
    assert nobody().to_yaml() == (
        "pools: {}\n"
        "gate:\n"
        "  vm:\n    openBefore: false\n    closedFor: []\n"
        "  shared:\n    openBefore: false\n    closedFor: []\n"
        "projectCaps: {}\n"
    )
    assert parsed(nobody().to_yaml()) == nobody()


@pytest.mark.parametrize(
    "holder", ["transition:gpu-01", "transition:gpu-01.rack", "reservation:team-a", "lab-1"]
)
def test_forms_of_a_holder(holder: str) -> None:
    document = held(holder)
    assert parsed(document.to_yaml()) == document


@pytest.mark.parametrize("holder", ["", "LAB-1", "transition:", "lock:x", "lab 1"])
def test_what_is_no_holder_takes_nothing(holder: str) -> None:
    with pytest.raises(InputError) as caught:
        held(holder)
    assert caught.value.code == "lock-holder-invalid"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("ticket: lab-1", "ticket: LAB-1", "pools.h100-vm.ticket"),
        ("run: 01J0000000000000000000000A", "run: ''", "pools.h100-vm.run"),
        ("since: 2026-11-01T09:00:00Z", "since: yesterday", "pools.h100-vm.since"),
        ("step: entitle", "step: entitle, expires: never", "pools.h100-vm.expires"),
        ("h100-vm", "H100", "pools.H100"),
        ("openBefore: true, closedFor: [lab-1]", "openBefore: yes, closedFor: [lab-1]", "gate.vm.openBefore"),
        ("closedFor: [lab-1]", "closedFor: [lab-1, lab-1]", "gate.vm.closedFor"),
        ("closedFor: [lab-1]", "closedFor: lab-1", "gate.vm.closedFor"),
        ("shared:", "other:", "gate.other"),
        ("{lab-1: null}", "{lab-1: -1}", "projectCaps.lab-1"),
        ("{lab-1: null}", "{LAB-1: 1}", "projectCaps.LAB-1"),
        ("projectCaps: {lab-1: null}", "", "projectCaps"),
        ("pools: {", "gates: {", "gates"),
        (", shared: {openBefore: true, closedFor: []}", "", "gate.shared"),
    ],
)
def test_a_faulty_document_names_its_field(old: str, new: str, field: str) -> None:
    assert field in fields(CONTRACT.replace(old, new))


def test_nobody_holds_anything_where_the_branch_was_never_made() -> None:
    assert read_lock(branch(None, "")) == nobody()


def test_a_branch_without_its_document_is_ambiguous() -> None:
    with pytest.raises(ObservationError) as caught:
        read_lock(branch(None))
    assert "lock.yaml" in caught.value.message


@pytest.mark.parametrize("text", ["", "pools: [", "pools: {}\npools: {}\n", "- x\n"])
def test_c09_a_faulty_document_is_an_invalid_ledger_naming_the_file(text: str) -> None:
    with pytest.raises(ObservationError) as caught:
        read_lock(branch(text))
    assert caught.value.code == "ledger-invalid"
    assert "lock.yaml" in caught.value.message


def test_taking_what_is_free() -> None:
    taken = take(nobody(), ["h100-vm", "v100-vm"], "lab-1", "r1", now=T1, step="freeze")
    assert taken.taken_over == ()
    assert taken.document.held_by("lab-1") == ("h100-vm", "v100-vm")


def test_another_holder_is_refused_with_who_since_when_and_step() -> None:
    with pytest.raises(PolicyBlocked) as caught:
        take(held("transition:gpu-01", "r1"), ["h100-vm"], "lab-2", "r2", now=T2, step="freeze")
    error = caught.value
    assert error.code == "lock-held"
    for fact in ("transition:gpu-01", "r1", T1, "freeze", "h100-vm"):
        assert fact in error.message
    assert error.details["held"]["h100-vm"]["ticket"] == "transition:gpu-01"
    assert "lock_wait" in error.next_action


def test_all_or_none() -> None:
    before = held("lab-1", "r1", "b")
    with pytest.raises(PolicyBlocked):
        take(before, ["a", "b", "c"], "lab-2", "r2", now=T2, step="freeze")
    assert before == held("lab-1", "r1", "b")


@pytest.mark.parametrize("holder", ["lab-1", "transition:gpu-01", "reservation:team-a"])
def test_the_next_run_of_the_same_holder_takes_over_and_the_earlier_stops(holder: str) -> None:
    taken = take(held(holder, "r1"), ["h100-vm"], holder, "r2", now=T2, step="freeze")
    assert taken.taken_over == ("h100-vm",)
    require_run(taken.document, ["h100-vm"], holder, "r2")
    with pytest.raises(ConflictError) as caught:
        require_run(taken.document, ["h100-vm"], holder, "r1")
    assert caught.value.code == "lock-lost"
    assert "r2" in caught.value.message


def test_taking_again_with_the_same_run_and_step_changes_nothing() -> None:
    document = held()
    taken = take(document, ["h100-vm"], "lab-1", "r1", now=T3, step="freeze")
    assert taken.document == document
    assert taken.taken_over == ()


def test_c08_a_step_renews_the_age() -> None:
    document = set_step(held(), ["h100-vm"], "lab-1", "r1", now=T2, step="entitle")
    lock = document.pools["h100-vm"]
    assert (lock.step, lock.since) == ("entitle", T2)


@pytest.mark.parametrize(("holder", "run"), [("lab-1", "r2"), ("lab-2", "r1")])
def test_nothing_is_done_with_a_lock_that_was_lost(holder: str, run: str) -> None:
    document = held()
    for act in (
        lambda: require_run(document, ["h100-vm"], holder, run),
        lambda: set_step(document, ["h100-vm"], holder, run, now=T2, step="x"),
        lambda: release(document, ["h100-vm"], holder, run),
    ):
        with pytest.raises(ConflictError) as caught:
            act()
        assert caught.value.code == "lock-lost"
        assert "lab-1 (run r1)" in caught.value.message


def test_a_broken_lock_stops_its_run() -> None:
    document = break_lock(held(), "h100-vm", "lab-1", "the laptop is gone")
    with pytest.raises(ConflictError, match="nobody holds h100-vm"):
        require_run(document, ["h100-vm"], "lab-1", "r1")


def test_releasing_twice_is_once() -> None:
    document = release(held(), ["h100-vm"], "lab-1", "r1")
    assert dict(document.pools) == {}
    assert release(document, ["h100-vm"], "lab-1", "r1") == document


def test_releasing_leaves_other_pools() -> None:
    document = take(held(), ["v100-vm"], "lab-2", "r9", now=T2, step="x").document
    assert list(release(document, ["h100-vm"], "lab-1", "r1").pools) == ["v100-vm"]


@pytest.mark.parametrize("reason", ["", "  "])
def test_breaking_needs_a_reason(reason: str) -> None:
    with pytest.raises(InputError) as caught:
        break_lock(held(), "h100-vm", "lab-1", reason)
    assert caught.value.code == "lock-break-reason-missing"


@pytest.mark.parametrize(("pool", "holder"), [("h100-vm", "lab-2"), ("v100-vm", "lab-1")])
def test_breaking_names_the_holder_so_that_no_other_lock_is_broken(pool: str, holder: str) -> None:
    with pytest.raises(InputError) as caught:
        break_lock(held(), pool, holder, "gone")
    assert caught.value.code == "lock-not-held"


def test_breaking_reopens_nothing() -> None:
    document = parsed(CONTRACT)
    broken = break_lock(document, "h100-vm", "lab-1", "gone")
    assert dict(broken.pools) == {}
    assert broken.gate == document.gate
    assert broken.project_caps == document.project_caps


def test_a_cap_is_remembered_as_it_was_first() -> None:
    document = remember_cap(remember_cap(nobody(), "lab-1", None), "lab-1", 8)
    assert dict(document.project_caps) == {"lab-1": None}
    assert dict(remember_cap(document, "lab-2", 0).project_caps) == {"lab-1": None, "lab-2": 0}
    assert dict(forget_cap(document, "lab-1").project_caps) == {}
    assert parsed(document.to_yaml()) == document


HOLDERS = ["lab-1", "lab-2", "transition:gpu-01"]
RUNS = ["r1", "r2"]
POOLS = ["a", "b", "c"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "release", "step", "break"]),
        st.sampled_from(HOLDERS),
        st.sampled_from(RUNS),
        st.sets(st.sampled_from(POOLS), min_size=1),
    ),
    max_size=25,
)


def done(document: LockDocument, step: tuple[Any, ...]) -> LockDocument:
    """The document after a step, or as it was where the step was refused."""
    kind, holder, run, pools = step
    try:
        if kind == "take":
            return take(document, pools, holder, run, now=T1, step="x").document
        if kind == "release":
            return release(document, pools, holder, run)
        if kind == "step":
            return set_step(document, pools, holder, run, now=T2, step="y")
        return break_lock(document, sorted(pools)[0], holder, "because")
    except (PolicyBlocked, ConflictError, InputError):
        return document


@given(STEPS)
def test_of_any_interleaving_a_pool_has_one_holder_and_only_that_one_changes_it(
    steps: list[tuple[Any, ...]],
) -> None:
    document = nobody()
    for step in steps:
        kind, holder, run, _pools = step
        after = done(document, step)
        for pool in POOLS:
            before_lock, after_lock = document.pools.get(pool), after.pools.get(pool)
            if before_lock == after_lock:
                continue
            assert before_lock is None or before_lock.ticket == holder
            assert after_lock is None or (after_lock.ticket, after_lock.run) == (holder, run)
            if kind in ("release", "step"):
                assert before_lock is not None
                assert before_lock.run == run
        assert parsed(after.to_yaml()) == after
        document = after


@given(STEPS, st.sampled_from(HOLDERS))
def test_a_holder_that_released_everything_holds_nothing(steps: list[tuple[Any, ...]], holder: str) -> None:
    document = nobody()
    for step in steps:
        document = done(document, step)
    mine = document.held_by(holder)
    if mine:
        document = take(document, mine, holder, "last", now=T3, step="x").document
        document = release(document, mine, holder, "last")
    assert document.held_by(holder) == ()
