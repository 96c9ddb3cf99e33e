# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server writes into its audit log: who did what, and what they asked for when they wrote."""

from __future__ import annotations

import yaml

from .identities import KWOK

_WRITES = ["create", "update", "patch", "delete", "deletecollection"]


def document() -> bytes:
    """The audit policy.

    Writes carry the request's object, save those of Secrets and tokens, whose content is no test's
    business. Everything else is one line of metadata. Written once an answer is complete.
    """
    secret = [
        {"group": "", "resources": ["secrets", "serviceaccounts/token"]},
        {"group": "authentication.k8s.io", "resources": ["tokenreviews"]},
    ]
    content = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            # Heartbeats of played nodes and the probes of the lab itself would drown the rest.
            {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*"]},
            {
                "level": "None",
                "users": [KWOK.user],
                "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}],
            },
            {"level": "Metadata", "resources": secret},
            {"level": "Request", "verbs": _WRITES},
            {"level": "Metadata"},
        ],
    }
    return yaml.safe_dump(content, sort_keys=False).encode()
