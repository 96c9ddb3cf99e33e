# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfig documents: written for each identity, and read from a file somebody else made."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import yaml

from .identities import Identity


def document(identity: Identity, server: str, ca: bytes, credentials: Mapping[str, str]) -> bytes:
    """A kubeconfig with one context named ``lab``.

    ``server`` is a URL, ``ca`` PEM, ``credentials`` the user entry (a token, or client certificate data).
    """
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "lab",
                "cluster": {
                    "server": server,
                    "certificate-authority-data": base64.b64encode(ca).decode(),
                },
            }
        ],
        "users": [{"name": identity.name, "user": dict(credentials)}],
        "contexts": [
            {
                "name": "lab",
                "context": {"cluster": "lab", "user": identity.name, "namespace": "default"},
            }
        ],
        "current-context": "lab",
    }
    return yaml.safe_dump(content, sort_keys=False).encode()
