# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_ledger_info: read the ledger, whole, and answer the records that were asked for."""

from __future__ import annotations

from .._core.checks import Check
from .._core.fleet_files import FleetTree
from .._core.ledger import load_ledger
from .._core.names import LEDGER_ROOT, normalise_ticket
from .._core.record import Record
from .._core.record_summary import summary_lines
from .observation import observe
from .outcome import Outcome
from .run import Invocation
from .sources import Reach


def list_records(invocation: Invocation) -> Outcome:
    """The module's work."""
    params = invocation.params
    tree, cluster = ledger_tree(invocation)
    ledger = load_ledger(tree, cluster)
    ticket = normalise_ticket(params["ticket"]) if params["ticket"] else ""

    def wanted(record: Record) -> bool:
        return (
            ticket in ("", record.ticket)
            and params["profile_id"] in (None, record.spec.profile_id)
            and params["organization"] in (None, record.spec.organization)
            and (not params["state"] or record.state in params["state"])
        )

    found = [record for record in ledger.records.values() if wanted(record)]
    valid = f"{len(ledger.records)} records are valid"
    return Outcome(
        changed=False,
        msg=f"{len(found)} of {len(ledger.records)} records at {tree.revision[:12]}",
        checks=(Check(id="ledger-invalid", status="pass", message=valid, object=f"ledger/{cluster}"),),
        result={
            "records": [record.value() for record in found],
            "revision": tree.revision,
            "summary": [line for record in found for line in summary_lines(record)],
        },
    )


def ledger_tree(invocation: Invocation) -> tuple[FleetTree, str]:
    """The fleet's reservations as they stand, or as a saved snapshot has them, and the cluster's name."""
    if invocation.params["snapshot"]:
        snapshot = observe(invocation).snapshot
        return snapshot.fleet, snapshot.cluster
    reach = Reach(invocation.params)
    return reach.fleet.read((LEDGER_ROOT,)), reach.cluster
