# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit as Markdown, for a change record or a chat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def _cell(value: object) -> str:
    """Text that does not end a table's cell or begin markup."""
    text = str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
    for mark in ("<", ">", "`", "*", "_", "[", "]"):
        text = text.replace(mark, f"\\{mark}")
    return text


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    names = list(head)
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return [*lines, *(f"| {' | '.join(_cell(value) for value in row)} |" for row in rows), ""]


def _findings(bundle: Mapping[str, Any]) -> list[str]:
    lines = ["## Findings", ""]
    for finding in bundle["findings"]:
        where, message = _cell(finding["object"]), _cell(finding["message"])
        lines.append(f"- **{finding['severity']}** `{finding['id']}` {where}: {message}")
        lines.append(f"  Next: {_cell(finding['next_action'])}")
    return [*lines, *([] if bundle["findings"] else ["None."]), ""]


def _pool(pool: Mapping[str, Any]) -> list[str]:
    equation = pool["equation"]
    reserved = equation["reserved"]
    lines = [f"## Pool {_cell(pool['profile'])}", ""]
    lines += [] if pool["in_service"] else ["Not in service: nothing is sold from it.", ""]
    lines += _table(
        ("Term", "Devices"),
        (
            ("healthy schedulable", equation["healthy"]),
            ("active reserved", reserved["active"]),
            ("pending reserved", reserved["pending"]),
            ("releasing reserved", reserved["releasing"]),
            ("non-reserved hard quota", equation["non_reserved"]),
            ("operator spare", equation["spare"]),
            ("headroom", equation["headroom"]),
        ),
    )
    records = pool["reservations"] or ()
    keys = (
        "id",
        "organization",
        "project",
        "state",
        "devices",
        "activated_at",
        "ends_at",
        "billing_reference",
    )
    if records:
        heads = ("Record", "Organization", "Project", "State", "Devices", "Active since", "Ends", "Billing")
        lines += _table(heads, ([item[key] for key in keys] for item in records))
    if pool["organizations"]:
        names = ("organization", "hard", "used", "ordinary", "granted", "reserved", "claim")
        lines += _table(
            [name.capitalize() for name in names],
            ([item[name] for name in names] for item in pool["organizations"]),
        )
    nodes = ([item["node"], item["declared"], item["counts"], item["message"]] for item in pool["nodes"])
    return lines + _table(("Node", "Declared", "Counts", "Why"), nodes)


def render_markdown(bundle: Mapping[str, Any]) -> str:
    """The Markdown of an audit bundle, findings first.

    Args:
        bundle: what ``audit_bundle`` answers.
    """
    errors = sum(1 for finding in bundle["findings"] if finding["severity"] == "error")
    fleet, catalogue = (_cell(bundle["revisions"][key]) for key in ("fleet", "catalogue"))
    verdict = "Passed" if bundle["passed"] else f"Failed, errors: {errors}"
    observed = f"observed {_cell(bundle['server_time'])}, fleet {fleet[:12]}, catalogue {catalogue}."
    lines = [f"# GPU capacity audit of {_cell(bundle['cluster'])}", "", f"**{verdict}**, {observed}", ""]
    lines += _findings(bundle)
    for pool in bundle["pools"]:
        lines += _pool(pool)
    return "\n".join(lines).rstrip() + "\n"
