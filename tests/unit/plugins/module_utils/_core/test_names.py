# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names: what is a ticket, an id, a label, a cluster, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core import names
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError


@pytest.mark.parametrize(
    ("typed", "ticket"),
    [("LAB-1", "lab-1"), ("lab-1", "lab-1"), ("7", "7"), ("A" * 40, "a" * 40), ("a--b", "a--b")],
)
def test_a07_a_ticket_is_lower_cased(typed: str, ticket: str) -> None:
    assert names.normalise_ticket(typed) == ticket


@pytest.mark.parametrize(
    "typed",
    [
        "",
        " lab-1",
        "lab-1 ",
        "lab-1\n",
        "-lab",
        "lab-",
        "lab_1",
        "lab.1",
        "a" * 41,
        "\u212aab",
        "l\u0130b",
        "\uff4cab",
        "lab/1",
        "lab:1",
        "é",
        "lab\u200b1",
        "\u0661",
    ],
)
def test_a07_nothing_is_trimmed_and_only_ascii_is_lower_cased(typed: str) -> None:
    with pytest.raises(InputError) as caught:
        names.normalise_ticket(typed)
    assert caught.value.code == "ticket-invalid"
    assert "ticket" in caught.value.message
    assert caught.value.next_action


@given(st.text(max_size=45))
def test_a07_a_normal_ticket_stays_as_it_is(typed: str) -> None:
    try:
        ticket = names.normalise_ticket(typed)
    except InputError:
        return
    assert ticket == names.normalise_ticket(ticket)
    assert names.ticket_of(names.record_id(ticket)) == ticket
    assert ticket.isascii()


@pytest.mark.parametrize(
    "identifier", ["gpu-res-LAB-1", "GPU-res-lab-1", "lab-1", "gpu-res-", "gpu-res--a", ""]
)
def test_a07_an_id_in_a_file_is_already_lower_case(identifier: str) -> None:
    assert names.record_id_problem(identifier)
    with pytest.raises(ValueError, match="record id"):
        names.ticket_of(identifier)


@pytest.mark.parametrize("label", ["a", "0", "h100-vm", "a" * 63, "123"])
def test_a22_dns_labels(label: str) -> None:
    assert names.label_problem(label) == ""


@pytest.mark.parametrize("label", ["", "A", "a_b", "a.b", "-a", "a-", "a" * 64, "a b", "a\n", "ü"])
def test_a22_what_is_no_dns_label(label: str) -> None:
    assert names.label_problem(label)


@pytest.mark.parametrize(
    ("name", "fine"),
    [
        ("gpu-01", True),
        ("gpu-01.rack.example", True),
        ("a..b", False),
        ("Gpu", False),
        ("a" * 64, False),
        (".".join(["abcdefg"] * 32), False),
    ],
)
def test_node_names_are_dns_subdomains(name: str, fine: bool) -> None:
    assert (names.node_name_problem(name) == "") is fine


@pytest.mark.parametrize("cluster", ["lab", "eu/zrh", "Prod_1", "a.b", "a-b/c-d"])
def test_clusters_have_one_or_two_levels(cluster: str) -> None:
    assert names.require_cluster(cluster) == cluster


@pytest.mark.parametrize(
    "cluster",
    [
        "",
        "a--b",
        "a/b--c",
        "a/b/c",
        "/a",
        "a/",
        "a//b",
        "..",
        "a/..",
        "../a",
        ".a",
        "a b",
        "a\\b",
        "-a",
        "a-",
        "a.lock",
        "a/records",
        "orders",
        "freezes/a",
        "a..b",
        "a~b",
        "a:b",
        "a?b",
        "a@{b",
        "x" * 201,
        "a\n",
    ],
)
def test_d03_what_is_no_cluster(cluster: str) -> None:
    with pytest.raises(InputError) as caught:
        names.require_cluster(cluster)
    assert caught.value.code == "cluster-invalid"


def test_d03_the_message_says_why_two_hyphens_are_refused() -> None:
    assert '"--" stands for "/"' in names.cluster_problem("a--b")


def test_the_lock_branch_of_a_cluster_of_two_levels() -> None:
    assert names.lock_branch("lab") == "gpu-lock/lab"
    assert names.lock_branch("eu/zrh") == "gpu-lock/eu--zrh"


CLUSTERS = st.from_regex(r"[a-z0-9-]{1,4}(/[a-z0-9-]{1,4})?", fullmatch=True)


@given(CLUSTERS, CLUSTERS)
def test_d03_no_two_clusters_have_one_lock_branch(one: str, other: str) -> None:
    assume(not names.cluster_problem(one) and not names.cluster_problem(other))
    assert (names.lock_branch(one) == names.lock_branch(other)) is (one == other)


@pytest.mark.parametrize(
    "holder", ["lab-1", "transition:gpu-01", "transition:gpu-01.rack", "reservation:team-a"]
)
def test_holders_of_a_lock(holder: str) -> None:
    assert names.lock_holder_problem(holder) == ""


@pytest.mark.parametrize(
    "holder", ["", "LAB-1", "transition:", "transition:A", "lock:x", "transition:a:b", "a:b"]
)
def test_what_is_no_holder_of_a_lock(holder: str) -> None:
    assert names.lock_holder_problem(holder)


@given(st.from_regex(r"(transition|reservation):[a-z0-9.-]+", fullmatch=True))
def test_no_ticket_can_be_a_transition_or_a_reservation(holder: str) -> None:
    with pytest.raises(InputError):
        names.normalise_ticket(holder)
