# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs: complete in themselves, one context, no file names in them."""

from __future__ import annotations

import base64

import yaml

from lab.identities import OPERATOR
from lab.kubeconfig import document


def test_the_current_context_leads_to_server_authority_and_token() -> None:
    content = yaml.safe_load(document(OPERATOR, "https://127.0.0.1:1", b"PEM", {"token": "t"}))
    (context,) = content["contexts"]
    (cluster,) = content["clusters"]
    (user,) = content["users"]
    assert content["current-context"] == context["name"]
    assert context["context"]["cluster"] == cluster["name"]
    assert context["context"]["user"] == user["name"] == "gpuops"
    assert cluster["cluster"]["server"] == "https://127.0.0.1:1"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == b"PEM"
    assert user["user"] == {"token": "t"}
