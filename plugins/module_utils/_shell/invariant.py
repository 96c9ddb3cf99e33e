# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_invariant: prove one pool, and answer the whole report."""

from __future__ import annotations

from .._core.names import normalise_ticket
from .._core.report import report_result
from .observation import observe, save_snapshot
from .outcome import Outcome
from .proof import Question, proved, require_proof
from .run import Invocation
from .sources import Reach
from .survey import survey_of


def prove_pool(invocation: Invocation) -> Outcome:
    """The module's work."""
    params = invocation.params
    ticket = normalise_ticket(params["ticket"]) if params["ticket"] else ""
    reach = Reach(params)
    seen = observe(invocation, reach)
    order = None
    if params["purpose"] == "assign":
        order = seen.ledger.order(ticket, survey_of(params))
    question = Question(params["profile_id"], params["purpose"], order, ticket)
    seen, proof = proved(invocation, reach, seen, question)
    if params["save_snapshot"]:
        save_snapshot(seen, params["save_snapshot"])
    if params["purpose"] != "show":
        require_proof(proof)
    result = report_result(proof)
    checks = proof.checks
    return Outcome(changed=False, msg=checks[0].message, checks=checks, result=result)
