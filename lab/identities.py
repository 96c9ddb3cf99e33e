# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who there is in a lab: names, users, groups, and the API server's token file."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """One user of the API server. ``name`` is the end of its kubeconfig's file name."""

    name: str
    user: str
    groups: tuple[str, ...] = ()


def _service_account(name: str, namespace: str, account: str) -> Identity:
    return Identity(
        name,
        f"system:serviceaccount:{namespace}:{account}",
        ("system:serviceaccounts", f"system:serviceaccounts:{namespace}"),
    )


ADMINISTRATOR = Identity("admin", "lab-administrator", ("system:masters",))
OPERATOR = Identity("gpuops", "gpuops", ("gpuops",))
READER = Identity("reader", "gpuops-reader", ("gpuops-reader",))

CONTROLLER_MANAGER = Identity("controller-manager", "system:kube-controller-manager")
SCHEDULER = Identity("scheduler", "system:kube-scheduler")

KWOK = _service_account("kwok", "kube-system", "kwok-controller")

PEOPLE = (
    ADMINISTRATOR,
    OPERATOR,
    READER,
    Identity("tenant-foo", "tenant-foo", ("tenant-foo",)),
    Identity("tenant-bar", "tenant-bar", ("tenant-bar",)),
    Identity("aurora", "aurora", ("aurora",)),
    Identity("borealis", "borealis", ("borealis",)),
    Identity("cumulus", "cumulus", ("cumulus",)),
)

PROGRAMS = (
    KWOK,
    _service_account("kube-dc-manager", "kube-dc", "kube-dc-manager"),
    _service_account("kube-dc-backend", "kube-dc", "kube-dc-backend"),
)

# These run outside a cluster that the lab did not start.
CONTROL_PLANE = (CONTROLLER_MANAGER, SCHEDULER)

EVERYBODY = PEOPLE + PROGRAMS + CONTROL_PLANE


def new_tokens(identities: Sequence[Identity]) -> dict[str, str]:
    """A random bearer token for each identity, by its name."""
    return {identity.name: secrets.token_urlsafe(32) for identity in identities}


def token_file(identities: Sequence[Identity], tokens: Mapping[str, str]) -> bytes:
    """The text of the API server's static token file: token, user, user id, groups."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for identity in identities:
        # An empty column of groups would be one group without a name.
        groups = [",".join(identity.groups)] if identity.groups else []
        writer.writerow([tokens[identity.name], identity.user, identity.user, *groups])
    return text.getvalue().encode()


def read_tokens(content: bytes) -> dict[str, str]:
    """The bearer token of each user in a static token file, by user name."""
    return {user: token for token, user, *_ in csv.reader(io.StringIO(content.decode()))}
