# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's certificate authority, the server's certificate and the key that signs service account tokens.

They are made new at every start and reach 127.0.0.1 alone.
"""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from .private_file import write_private

_VALID = datetime.timedelta(days=365)
_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_ADDRESSES = ("127.0.0.1", "10.96.0.1")


@dataclass(frozen=True)
class Pki:
    """Where the files are, PEM each; keys are 0600."""

    folder: Path

    @property
    def ca(self) -> Path:
        """The authority's certificate."""
        return self.folder / "ca.crt"

    @property
    def ca_key(self) -> Path:
        """The authority's key: it also signs client certificates that are asked for through the API."""
        return self.folder / "ca.key"

    @property
    def server(self) -> Path:
        """The certificate that every server of the lab shows."""
        return self.folder / "server.crt"

    @property
    def server_key(self) -> Path:
        """Its key."""
        return self.folder / "server.key"

    @property
    def accounts_key(self) -> Path:
        """The key that signs service account tokens."""
        return self.folder / "service-accounts.key"


def create(folder: Path, now: datetime.datetime) -> Pki:
    """Write a new authority, server certificate and service account key into ``folder``."""
    pki = Pki(folder)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _authority(ca_key, now)
    server_key = ec.generate_private_key(ec.SECP256R1())
    server = _server(server_key, ca, ca_key, now)
    write_private(pki.ca, ca.public_bytes(serialization.Encoding.PEM))
    write_private(pki.server, server.public_bytes(serialization.Encoding.PEM))
    write_private(pki.ca_key, private_pem(ca_key))
    write_private(pki.server_key, private_pem(server_key))
    write_private(pki.accounts_key, private_pem(ec.generate_private_key(ec.SECP256R1())))
    return pki


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key as unencrypted PEM, in the form that Kubernetes reads."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _builder(subject: str, issuer: x509.Name, now: datetime.datetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        # A clock that was set back a little must not make a new lab unreachable.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _VALID)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime.datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpuops-lab-ca")])
    return (
        _builder("gpuops-lab-ca", name, now)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePrivateKey,
    ca: x509.Certificate,
    ca_key: ec.EllipticCurvePrivateKey,
    now: datetime.datetime,
) -> x509.Certificate:
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in _NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in _ADDRESSES]
    return (
        _builder("gpuops-lab", ca.subject, now)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
        .sign(ca_key, hashes.SHA256())
    )
