# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates: a strict client accepts the server, and keys are for their owner alone."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from pathlib import Path

from lab.certificates import Pki, create


def handshake(pki: Pki, name: str) -> str:
    """Greet over TLS as a client that trusts the lab's authority and checks as strictly as Python can."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pki.server, pki.server_key)
    client = ssl.create_default_context(cafile=str(pki.ca))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with server.wrap_socket(theirs, server_side=True) as stream:
            stream.sendall(b"hello")

    thread = threading.Thread(target=serve)
    thread.start()
    with client.wrap_socket(ours, server_hostname=name) as stream:
        answer = stream.recv(16)
    thread.join(timeout=10)
    return answer.decode()


def test_a_strict_client_accepts_the_server(tmp_path: Path) -> None:
    pki = create(tmp_path / "pki", datetime.datetime.now(datetime.UTC))
    assert handshake(pki, "127.0.0.1") == "hello"
    assert handshake(pki, "localhost") == "hello"


def test_every_file_is_private_and_every_lab_has_its_own(tmp_path: Path) -> None:
    first = create(tmp_path / "a", datetime.datetime.now(datetime.UTC))
    second = create(tmp_path / "b", datetime.datetime.now(datetime.UTC))
    files = sorted(first.folder.iterdir())
    assert files == sorted([first.ca, first.ca_key, first.server, first.server_key, first.accounts_key])
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert first.ca.read_bytes() != second.ca.read_bytes()
