# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names: tickets, record ids, DNS labels, clusters, lock holders and the lock branch."""

from __future__ import annotations

import re
import string
from typing import Final

from .errors import InputError

RECORD_PREFIX: Final = "gpu-res-"
LEDGER_ROOT: Final = "gpu-reservations"
RECORDS: Final = "records"
ORDERS: Final = "orders"
FREEZES: Final = "freezes"
LEDGER_FOLDERS: Final = frozenset({RECORDS, ORDERS, FREEZES})

_TICKET: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_CLUSTER_LEVEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_ASCII_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_SUBDOMAIN_LENGTH: Final = 253
_CLUSTER_LENGTH: Final = 200
_CLUSTER_LEVELS: Final = 2


def ticket_problem(text: str) -> str:
    """What is wrong with a ticket that is already lower case; empty where nothing is."""
    if _TICKET.fullmatch(text):
        return ""
    return (
        f"{text[:60]!r} is no ticket: 1 to 40 of a-z, 0-9 and hyphen, "
        "beginning and ending with a letter or digit"
    )


def normalise_ticket(text: str) -> str:
    """A ticket as an operator typed it, in the form that the ledger uses.

    Only ASCII letters are lower-cased, and nothing is trimmed.

    Raises:
        InputError: what remains is no ticket.
    """
    ticket = text.translate(_ASCII_LOWER)
    problem = ticket_problem(ticket)
    if problem:
        raise InputError("ticket-invalid", f"ticket: {problem}", next_action="give the order's ticket")
    return ticket


def normalise_holder(text: str) -> str:
    """Who holds a lock or has a gate closed, as typed: a ticket, transition:<node> or reservation:<name>.

    Raises:
        InputError: it is none of them.
    """
    if ":" not in text:
        return normalise_ticket(text)
    problem = lock_holder_problem(text)
    if problem:
        raise InputError("ticket-invalid", f"ticket: {problem}", next_action="name a ticket or a transition")
    return text


def record_id(ticket: str) -> str:
    """The id of a ticket's record; the ticket is in its normal form."""
    return RECORD_PREFIX + ticket


def ticket_of(identifier: str) -> str:
    """The ticket that a record's id carries.

    Raises:
        ValueError: not an id of a record.
    """
    problem = record_id_problem(identifier)
    if problem:
        raise ValueError(problem)
    return identifier[len(RECORD_PREFIX) :]


def record_id_problem(text: str) -> str:
    """What is wrong with a record's id as a file has it; empty where nothing is."""
    if not text.startswith(RECORD_PREFIX):
        return f"{text[:80]!r} is no record id: it is {RECORD_PREFIX}<ticket>, in lower case"
    problem = ticket_problem(text[len(RECORD_PREFIX) :])
    return f"{text[:80]!r} is no record id: {problem}" if problem else ""


def label_problem(text: str) -> str:
    """What is wrong with a DNS label, the syntax of organizations, projects, profiles and add-ons."""
    if _LABEL.fullmatch(text):
        return ""
    return (
        f"{text[:80]!r} is no DNS label: 1 to 63 of a-z, 0-9 and hyphen, "
        "beginning and ending with a letter or digit"
    )


def node_name_problem(text: str) -> str:
    """What is wrong with a node's name, a DNS subdomain; empty where nothing is."""
    if len(text) <= _SUBDOMAIN_LENGTH and all(_LABEL.fullmatch(part) for part in text.split(".")):
        return ""
    return f"{text[:80]!r} is no node name: DNS labels in lower case, joined by dots, at most 253 characters"


def cluster_problem(text: str) -> str:
    """What is wrong with a cluster's name, a folder below clusters/; empty where nothing is.

    Two hyphens in a row are refused: they stand for the slash in the lock branch's name. The ledger's
    own folders cannot be clusters.
    """
    levels = text.split("/")
    if len(text) > _CLUSTER_LENGTH or len(levels) > _CLUSTER_LEVELS:
        return f"{text[:80]!r} is no cluster: one or two folder levels below clusters/"
    if "--" in text:
        return f'{text[:80]!r} is no cluster: "--" stands for "/" in the name of the lock branch'
    for level in levels:
        if not _CLUSTER_LEVEL.fullmatch(level) or ".." in level or level.endswith(".lock"):
            return (
                f"{text[:80]!r} is no cluster: each level is of letters, digits, dot, underscore and hyphen, "
                "beginning and ending with a letter or digit"
            )
        if level in LEDGER_FOLDERS:
            return f"{text[:80]!r} is no cluster: {level} is a folder of a cluster's ledger"
    return ""


def require_cluster(text: str) -> str:
    """The cluster's name, when it is one.

    Raises:
        InputError: it is not.
    """
    problem = cluster_problem(text)
    if problem:
        raise InputError(
            "cluster-invalid", f"cluster: {problem}", next_action="name a folder below clusters/"
        )
    return text


def lock_branch(cluster: str) -> str:
    """The branch that holds a cluster's lock document.

    Raises:
        InputError: not a cluster's name.
    """
    return "gpu-lock/" + require_cluster(cluster).replace("/", "--")


def lock_holder_problem(text: str) -> str:
    """What is wrong with a lock's holder: a ticket, ``transition:<node>`` or ``reservation:<name>``."""
    kind, colon, name = text.partition(":")
    if not colon:
        return ticket_problem(text)
    if kind not in ("transition", "reservation"):
        return f"{text[:80]!r} is no holder of a lock: a ticket, transition:<node> or reservation:<name>"
    return node_name_problem(name)
