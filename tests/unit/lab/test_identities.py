# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Identities: who is who, and the token file that the API server reads."""

from __future__ import annotations

import csv
import io

from lab import identities
from lab.identities import ADMINISTRATOR, EVERYBODY, new_tokens, read_tokens, token_file


def test_only_the_administrator_is_above_the_rules() -> None:
    masters = [identity.name for identity in EVERYBODY if "system:masters" in identity.groups]
    assert masters == [ADMINISTRATOR.name]


def test_the_control_plane_runs_under_the_users_that_the_bootstrap_roles_name() -> None:
    assert identities.SCHEDULER.user == "system:kube-scheduler"
    assert identities.CONTROLLER_MANAGER.user == "system:kube-controller-manager"
    assert identities.SCHEDULER.groups == identities.CONTROLLER_MANAGER.groups == ()


def test_fixed_names_are_there() -> None:
    users = {identity.name: identity.user for identity in EVERYBODY}
    groups = {identity.name: identity.groups for identity in EVERYBODY}
    assert groups["gpuops"] == ("gpuops",)
    assert groups["reader"] == ("gpuops-reader",)
    assert users["kube-dc-manager"] == "system:serviceaccount:kube-dc:kube-dc-manager"
    assert users["kube-dc-backend"] == "system:serviceaccount:kube-dc:kube-dc-backend"
    assert groups["kube-dc-backend"] == ("system:serviceaccounts", "system:serviceaccounts:kube-dc")
    assert {"tenant-foo", "tenant-bar"} <= set(users)


def test_names_and_users_are_unique() -> None:
    assert len({identity.name for identity in EVERYBODY}) == len(EVERYBODY)
    assert len({identity.user for identity in EVERYBODY}) == len(EVERYBODY)


def test_tokens_are_long_and_different() -> None:
    tokens = new_tokens(EVERYBODY)
    assert len(set(tokens.values())) == len(EVERYBODY)
    assert all(len(token) >= 40 for token in tokens.values())
    assert not set(tokens.values()) & set(new_tokens(EVERYBODY).values())


def test_the_token_file_has_one_row_an_identity_with_its_groups_in_one_field() -> None:
    tokens = new_tokens(EVERYBODY)
    rows = list(csv.reader(io.StringIO(token_file(EVERYBODY, tokens).decode())))
    assert [row[0] for row in rows] == [tokens[identity.name] for identity in EVERYBODY]
    assert [row[1] for row in rows] == [identity.user for identity in EVERYBODY]
    assert [row[3:] for row in rows] == [
        [",".join(identity.groups)] if identity.groups else [] for identity in EVERYBODY
    ]


def test_tokens_are_read_back_by_user() -> None:
    tokens = new_tokens(EVERYBODY)
    assert read_tokens(token_file(EVERYBODY, tokens)) == {
        identity.user: tokens[identity.name] for identity in EVERYBODY
    }
