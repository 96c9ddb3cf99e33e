# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Review of a record before anything is locked: its proposal on a branch of its own."""

from __future__ import annotations

from .._core.errors import InputError, PolicyBlocked
from .._core.fleet_files import FleetTree
from .._core.names import normalise_ticket, record_id, require_cluster
from .._core.record import Record, record_path
from .._core.record_change import pending_from_order
from .._core.record_summary import summary_lines
from .observation import Observation, observe
from .outcome import Diff, Outcome
from .proof import Question, proved, require_proof
from .run import Invocation
from .sources import Reach
from .survey import survey_of


def proposal_branch(cluster: str, ticket: str) -> str:
    """The branch that carries a ticket's proposed record."""
    return f"gpu-proposal/{require_cluster(cluster).replace('/', '--')}/{record_id(ticket)}"


def read_proposal(reach: Reach, ticket: str) -> FleetTree:
    """The proposal's record, where the branch exists."""
    path = record_path(reach.cluster, record_id(ticket))
    return reach.fleet.read_branch(proposal_branch(reach.cluster, ticket), (path,))


def require_reviewed(seen: Observation) -> None:
    """With reviewMode branch only a merged record goes on; this module does not write it to the fleet branch.

    Raises:
        PolicyBlocked: ``awaiting-review``.
    """
    if seen.ledger.policy.spec.review_mode == "branch":
        raise PolicyBlocked(
            "awaiting-review",
            "reviewMode is branch, and the record has not been merged",
            next_action="review and merge the proposal, then run the playbook again",
        )


def propose_record(invocation: Invocation, reach: Reach) -> Outcome:
    """Push the pending record as a proposal, after the whole proof, before any lock or freeze."""
    seen = observe(invocation, reach)
    ticket = normalise_ticket(invocation.params["ticket"])
    if seen.ledger.policy.spec.review_mode != "branch":
        raise InputError(
            "review-mode-direct",
            "state proposed needs reviewMode: branch in the policy, and it is direct",
            next_action="write state pending, or change reviewMode by a reviewed change",
        )
    order = seen.ledger.order(ticket, survey_of(invocation.params))
    seen, proof = proved(invocation, reach, seen, Question(order.spec.profile_id, "assign", order, ticket))
    require_proof(proof)
    record = pending_from_order(order)
    proposal = read_proposal(reach, ticket)
    path = record_path(reach.cluster, record.id)
    file = proposal.file(path)
    text = record.to_yaml()
    if file is not None and file.content == text.encode():
        return _outcome(record, proposal, Diff(path, text, text), proposal.revision)
    revision = ""
    if not invocation.check_mode:
        revision = reach.fleet.propose(
            proposal.branch,
            proposal.revision,
            {path: text.encode()},
            f"{record.id}: pending (proposed)",
            upon_branch=proposal.branch if proposal.revision else reach.fleet.branch,
            upon_revision=proposal.revision or seen.snapshot.fleet.revision,
        )
    before = file.content.decode("utf-8", "replace") if file else ""
    return _outcome(record, proposal, Diff(path, before, text), revision)


def _outcome(record: Record, proposal: FleetTree, diff: Diff, revision: str) -> Outcome:
    changed = diff.before != diff.after
    return Outcome(
        changed=changed,
        msg=f"awaiting review: {record.id} is proposed on branch {proposal.branch}",
        plan=(f"push {record.id} as a proposal to {proposal.branch}",) if changed else (),
        result={
            "record": record.value(),
            "revision": revision,
            "summary": [*summary_lines(record), f"review and merge branch {proposal.branch}, then run again"],
        },
        diffs=(diff,) if changed else (),
    )
