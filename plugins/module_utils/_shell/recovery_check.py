# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the service has recovered, asked before VM creation is opened again after a release."""

from __future__ import annotations

from .observation import observe
from .proof import Question, proved
from .run import Invocation
from .sources import Reach


def why_not_recovered(invocation: Invocation, reach: Reach, profile_id: str, ticket: str) -> str:
    """Why VM creation stays closed: backend, KubeVirt, alerts or the pool's proof; empty where all say yes.

    Runbook: reopen VM creation only after the service recovery checks and ledger and HRQ agree.
    """
    question = Question(profile_id, "let_go", None, ticket)
    _, proof = proved(invocation, reach, observe(invocation, reach), question)
    if proof.allowed:
        return ""
    stops = [check for check in proof.checks if check.status in ("fail", "unknown")]
    return f"the service has not recovered: {'; '.join(check.message for check in stops)}"
