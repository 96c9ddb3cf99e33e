# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A throw-away cluster of somebody's own in place of the embedded control plane."""

from __future__ import annotations

import base64
import time
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from . import cluster_freshness, kubeconfig, ready
from .api import Api
from .certificates import private_pem
from .directory import LabDirectory
from .errors import LabError
from .identities import ADMINISTRATOR, PEOPLE, PROGRAMS, Identity
from .private_file import write_private

_REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_VALID_SECONDS = 7 * 24 * 3600


def take(lab: LabDirectory, named: str) -> None:
    """Refuse a cluster that holds anything of its own; else write everybody's kubeconfig for it.

    Its administrator is the lab's; the others get client certificates, asked for through the API.
    Raises LabError.
    """
    path = Path(named).expanduser().resolve()
    api = Api(path)
    _refuse_used(api, path)
    server, ca = api.server, api.authority
    for identity in (*PEOPLE, *PROGRAMS):
        credentials = api.credentials if identity == ADMINISTRATOR else _certificate(lab, api, identity)
        write_private(lab.kubeconfig(identity.name), kubeconfig.document(identity, server, ca, credentials))


def _refuse_used(api: Api, path: Path) -> None:
    version = api.get("/version")
    if not cluster_freshness.new_enough(str(version["minor"])):
        raise LabError(
            f"the cluster of {path} is {version['gitVersion']}; the lab needs 1.36 or newer",
            "make a cluster of that version, or unset GPUOPS_LAB_KUBECONFIG",
        )
    namespaces = [item["metadata"]["name"] for item in api.get("/api/v1/namespaces")["items"]]
    held = {
        collection: [item["metadata"]["name"] for item in api.get(f"{collection}?limit=5")["items"]]
        for collection in cluster_freshness.EMPTY
    }
    found = cluster_freshness.strangers(namespaces, held)
    if found:
        raise LabError(
            f"the cluster of {path} is in use, and the lab fills a cluster with its own things. "
            f"It holds {', '.join(found)}",
            "make a new cluster for the lab (kind create cluster), or unset GPUOPS_LAB_KUBECONFIG",
        )


def _certificate(lab: LabDirectory, api: Api, identity: Identity) -> dict[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = [x509.NameAttribute(NameOID.COMMON_NAME, identity.user)]
    subject += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in identity.groups]
    asked = (
        x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject)).sign(key, hashes.SHA256())
    )
    name = f"gpuops-lab-{identity.name}-{int(time.time())}"
    request = api.create(
        _REQUESTS,
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "request": base64.b64encode(asked.public_bytes(serialization.Encoding.PEM)).decode(),
                "signerName": "kubernetes.io/kube-apiserver-client",
                "expirationSeconds": _VALID_SECONDS,
                "usages": ["client auth"],
            },
        },
    )
    request["status"] = {
        "conditions": [
            {
                "type": "Approved",
                "status": "True",
                "reason": "Lab",
                "message": "an identity of the lab",
            }
        ]
    }
    api.replace(f"{_REQUESTS}/{name}/approval", request)
    ready.wait(
        f"the client certificate of {identity.name}",
        lambda: None if api.get(f"{_REQUESTS}/{name}").get("status", {}).get("certificate") else "not signed",
        seconds=30,
        lab=lab,
    )
    certificate = str(api.get(f"{_REQUESTS}/{name}")["status"]["certificate"])
    return {
        "client-certificate-data": certificate,
        "client-key-data": base64.b64encode(private_pem(key)).decode(),
    }
