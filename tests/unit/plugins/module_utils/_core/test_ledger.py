# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledger as a whole: all problems of all files, or a ledger."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    InputError,
    ObservationError,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetTree
from ansible_collections.gpuops.reservations.plugins.module_utils._core.ledger import (
    history_problems,
    load_ledger,
    load_policy,
    read_ledger,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record import Record
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.ledger_texts import (
    FREEZE,
    POLICY,
    POLICY_PATH,
    RECORD,
    REVISION,
    ROOT,
    record_path,
    record_text,
    record_value,
    tree,
)

UUID = "GPU-6f1c2d3e-1b2c-4d3e-8f4a-5b6c7d8e9f01"


def found(branch: FleetTree, cluster: str = "lab") -> list[tuple[str, str, str]]:
    reading = read_ledger(branch, cluster)
    assert (reading.ledger is None) is bool(reading.problems)
    return [(one.file, one.field, one.id) for one in reading.problems]


def error(branch: FleetTree) -> ObservationError:
    with pytest.raises(ObservationError) as caught:
        load_ledger(branch, "lab")
    assert caught.value.next_action
    return caught.value


def test_a_ledger() -> None:
    ledger = load_ledger(
        tree(
            {
                record_path(): RECORD,
                record_path("lab-0"): record_text("active", "lab-0", spec__organization="cumulus"),
                record_path("old"): record_text("released", "old", spec__profileId="v100-vm"),
                f"{ROOT}/freezes/v100-vm.yaml": FREEZE,
            }
        ),
        "lab",
    )
    assert list(ledger.records) == ["gpu-res-lab-0", "gpu-res-lab-1", "gpu-res-old"]
    assert ledger.revision == REVISION
    assert [record.id for record in ledger.of_pool("h100-vm")] == ["gpu-res-lab-0", "gpu-res-lab-1"]
    assert [record.id for record in ledger.of_organization("cumulus")] == ["gpu-res-lab-0"]
    assert ledger.policy.cluster == "lab"
    assert ledger.order("LAB-1").spec.devices == 8
    assert ledger.order("lab-1", {"devices": "8"}).ticket == "lab-1"


def test_a_ledger_without_records_is_one() -> None:
    assert dict(load_ledger(tree(), "lab").records) == {}


def test_d09_frozen_is_what_nobody_thawed() -> None:
    thawed = FREEZE.replace("null", "{product: p, sre: s, reference: r, at: 2026-12-01T00:00:00Z}")
    branch = tree({f"{ROOT}/freezes/h100-vm.yaml": FREEZE, f"{ROOT}/freezes/v100-vm.yaml": thawed})
    ledger = load_ledger(branch, "lab")
    assert (ledger.frozen("h100-vm"), ledger.frozen("v100-vm"), ledger.frozen("other")) == (
        True,
        False,
        False,
    )
    assert ledger.any_frozen
    assert not load_ledger(tree({f"{ROOT}/freezes/v100-vm.yaml": thawed}), "lab").any_frozen


def test_a_missing_policy_stops() -> None:
    assert found(tree(policy=None)) == [(POLICY_PATH, "", "ledger-invalid")]


def test_the_policy_alone_says_which_cluster_is_meant_and_judges_nothing_else() -> None:
    broken_record = tree({record_path(): "no record"})
    assert load_policy(broken_record, "lab").spec.cluster_uid == load_policy(tree(), "lab").spec.cluster_uid
    with pytest.raises(ObservationError):
        load_ledger(broken_record, "lab")


@pytest.mark.parametrize("policy", [None, "no policy", POLICY.replace("cluster: lab", "cluster: other")])
def test_a_policy_with_a_fault_names_no_cluster(policy: str | None) -> None:
    branch = tree({record_path(): "no record"}, policy=policy)
    with pytest.raises(ObservationError) as alone:
        load_policy(branch, "lab")
    assert alone.value.message == error(branch).message, "it tells every problem of the ledger"


def test_a_branch_that_does_not_exist_is_no_empty_ledger() -> None:
    assert found(FleetTree(branch="main")) == [(POLICY_PATH, "", "ledger-invalid")]


def test_a_policy_of_another_cluster_stops() -> None:
    assert found(tree(policy=POLICY.replace("cluster: lab", "cluster: prod"))) == [
        (POLICY_PATH, "metadata.cluster", "ledger-invalid")
    ]


def test_a_file_whose_name_is_not_its_id_stops() -> None:
    assert found(tree({record_path("lab-2"): RECORD})) == [
        (record_path("lab-2"), "metadata.id", "ledger-invalid")
    ]


def test_a20_all_problems_of_all_files_are_reported_with_paths_in_the_repository() -> None:
    branch = tree(
        {
            record_path("a"): record_text("pending", "a", spec__devices=0, spec__organization="A"),
            record_path("b"): "spec: {a: 1, a: 2}\n",
            f"{ROOT}/records/README.md": "text",
            f"{ROOT}/freezes/h100-vm.yaml": "since: x\n",
        },
        policy=POLICY.replace("direct", "indirect"),
    )
    assert found(branch) == [
        (f"{ROOT}/freezes/h100-vm.yaml", "audit", "ledger-invalid"),
        (f"{ROOT}/freezes/h100-vm.yaml", "findings", "ledger-invalid"),
        (f"{ROOT}/freezes/h100-vm.yaml", "since", "ledger-invalid"),
        (POLICY_PATH, "spec.reviewMode", "ledger-invalid"),
        (f"{ROOT}/records/README.md", "", "ledger-invalid"),
        (record_path("a"), "spec.organization", "ledger-invalid"),
        (record_path("a"), "spec.devices", "ledger-invalid"),
        (record_path("b"), "", "ledger-invalid"),
    ]
    raised = error(branch)
    assert raised.code == "ledger-invalid"
    assert len(raised.details["problems"]) == 8
    assert f"{record_path('b')}:1:14: the key a stands twice" in raised.message
    assert f"{record_path('a')}:9:12: spec.devices: " in raised.message


def test_parts_that_are_valid_are_still_there_for_a_report() -> None:
    reading = read_ledger(tree({record_path(): RECORD.replace("devices: 8", "devices: 010")}), "lab")
    assert reading.ledger is None
    assert reading.policy is not None
    assert reading.records is None
    assert reading.freezes == {}


def test_c09_a_faulty_freeze_is_an_invalid_ledger() -> None:
    branch = tree({f"{ROOT}/freezes/h100-vm.yaml": FREEZE + "extra: 1\n"})
    assert found(branch) == [(f"{ROOT}/freezes/h100-vm.yaml", "extra", "ledger-invalid")]
    assert read_ledger(branch, "lab").freezes is None


def test_a14_c06_a_copy_in_the_same_cluster_is_a_duplicate_and_nothing_else() -> None:
    raised = error(tree({record_path(): RECORD, record_path("lab-1-copy"): RECORD}))
    assert raised.code == "duplicate-reservation-id"
    assert [one["id"] for one in raised.details["problems"]] == ["duplicate-reservation-id"]
    assert record_path() in raised.message
    assert record_path("lab-1-copy") in raised.message


@pytest.mark.parametrize("other", ["prod", "eu/zrh", "lab/two"])
def test_a14_ids_are_compared_over_all_clusters(other: str) -> None:
    raised = error(tree({record_path(): RECORD, record_path(cluster=other): record_text("released")}))
    assert raised.code == "duplicate-reservation-id"
    assert record_path(cluster=other) in raised.message


def test_a14_the_id_inside_counts_in_other_clusters_too() -> None:
    raised = error(tree({record_path(): RECORD, record_path("other", "prod"): RECORD}))
    assert raised.code == "duplicate-reservation-id"


@pytest.mark.parametrize(
    "text", ["rubbish: [", record_text(ticket="other", spec__devices=0), "", f"# {UUID}\n"]
)
def test_a14_other_faults_of_another_cluster_are_its_own(text: str) -> None:
    branch = tree(
        {
            record_path(): RECORD,
            record_path("other", "prod"): text,
            "gpu-reservations/prod/records/README.md": "text",
            "gpu-reservations/prod/policy.yaml": "rubbish: [",
        }
    )
    assert found(branch) == []


def test_a14_two_duplicates_elsewhere_are_not_ours() -> None:
    branch = tree(
        {record_path("x", "prod"): record_text(ticket="x"), record_path("x", "test"): record_text(ticket="x")}
    )
    assert found(branch) == []


def test_c06_a_duplicate_beside_another_fault_is_an_invalid_ledger_with_both() -> None:
    raised = error(tree({record_path(): RECORD, record_path("copy"): RECORD, f"{ROOT}/records/x.yml": ""}))
    assert raised.code == "ledger-invalid"
    assert {one["id"] for one in raised.details["problems"]} == {"ledger-invalid", "duplicate-reservation-id"}


def test_a13_a_linked_record_stops() -> None:
    branch = tree({record_path(): RECORD})
    linked = branch.model_copy(
        update={
            "files": tuple(
                file.model_copy(update={"mode": "120000"}) if "records" in file.path else file
                for file in branch.files
            )
        }
    )
    assert found(linked) == [(record_path(), "", "ledger-invalid")]


@pytest.mark.parametrize(
    "comment", [UUID, "0000:3b:00.0", "3b:00.0", "4111 1111 1111 1111", "DE89370400440532013000"]
)
@pytest.mark.parametrize("where", ["record", "policy", "freeze"])
def test_a17_a27_an_identifier_in_any_comment_stops_and_is_named_masked(where: str, comment: str) -> None:
    suffix = f"# seen on {comment}\n"
    branch = tree(
        {
            record_path(): RECORD + (suffix if where == "record" else ""),
            f"{ROOT}/freezes/h100-vm.yaml": FREEZE + (suffix if where == "freeze" else ""),
        },
        policy=POLICY + (suffix if where == "policy" else ""),
    )
    assert len(found(branch)) == 1
    assert comment not in error(branch).message
    assert comment not in str(error(branch).details)


def test_d03_a_cluster_with_two_hyphens_is_refused() -> None:
    with pytest.raises(InputError):
        read_ledger(tree(), "a--b")


def test_a21_records_go_on_and_stay() -> None:
    def records(*states: str) -> dict[str, Record]:
        made = [Record.model_validate(record_value(state, f"t{n}")) for n, state in enumerate(states)]
        return {record.id: record for record in made}

    assert history_problems("lab", records("pending"), records("active", "pending")) == ()
    back = history_problems("lab", records("active", "pending"), records("pending", "pending"))
    assert {(one.file, one.field) for one in back} >= {(record_path("t0"), "spec.state")}
    (gone,) = history_problems("lab", records("active", "released"), records("active"))
    assert gone.file == record_path("t1")
    assert "never deleted" in gone.message


@given(
    st.sets(st.sampled_from(["pending", "active", "releasing", "released", "canceled"])), st.integers(0, 3)
)
def test_records_of_any_states_together_are_a_ledger(states: set[str], more: int) -> None:
    names = [f"{state}-{n}" for state in states for n in range(more)]
    branch = tree({record_path(name): record_text(name.split("-")[0], name) for name in names})
    assert sorted(load_ledger(branch, "lab").records) == sorted(f"gpu-res-{name}" for name in names)


def test_five_thousand_records_cost_little_more_than_parsing_their_yaml() -> None:
    """Relative to the plain C loader, so that a loaded machine says the same; alone about a second."""
    texts = {record_path(f"t{n}"): RECORD.replace("lab-1", f"t{n}") for n in range(5000)}
    branch = tree(dict(texts))
    began = time.process_time()
    for text in texts.values():
        yaml.load(text, Loader=yaml.CSafeLoader)
    plain = time.process_time() - began
    began = time.process_time()
    assert len(load_ledger(branch, "lab").records) == 5000
    assert time.process_time() - began < 5 * plain
