# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kopf as the watcher: its event handlers fill the store, in a thread and an event loop of their own.

Only low-level event handlers are registered. Kopf's change handlers would keep their progress in
annotations of the watched objects, and its timers would add finalizers; objects of the lab have to look
as the product leaves them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import kopf
from kubernetes import config as kube_config

from .api import Kind, authorization
from .store import Store

RELIST_SECONDS = 30.0


def _register(registry: kopf.OperatorRegistry, kind: Kind, store: Store) -> None:
    @kopf.on.event(
        group=kind.group,
        version=kind.version,
        plural=kind.plural,
        registry=registry,
        id=f"seen-{kind.plural}",
    )
    async def _seen(event: kopf.RawEvent, **_: Any) -> None:
        store.seen(kind, event["type"], dict(event["object"]))


def _login(kubeconfig: Path) -> kopf.ConnectionInfo:
    client = kube_config.new_client_from_config(  # type: ignore[no-untyped-call]
        config_file=str(kubeconfig)
    )
    settings = client.configuration
    scheme, _, token = authorization(settings).partition(" ")
    return kopf.ConnectionInfo(
        server=settings.host,
        ca_path=settings.ssl_ca_cert,
        insecure=not settings.verify_ssl,
        scheme=scheme if token else None,
        token=token or None,
        certificate_path=settings.cert_file,
        private_key_path=settings.key_file,
    )


class Watching:
    """The thread that watches; `ready` is set once every watch has begun."""

    def __init__(self, store: Store, kubeconfig: Path) -> None:
        self._store = store
        self._kubeconfig = kubeconfig
        self._stop = threading.Event()
        self.ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watching", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait until it has ended."""
        self._stop.set()
        self._thread.join(timeout=10)

    def is_alive(self) -> bool:
        """Whether it still watches."""
        return self._thread.is_alive()

    def _run(self) -> None:
        logging.getLogger("kopf").setLevel(logging.WARNING)
        registry = kopf.OperatorRegistry()
        for kind in self._store.kinds:
            _register(registry, kind, self._store)

        @kopf.on.login(registry=registry)
        def _connect(**_: Any) -> kopf.ConnectionInfo:
            return _login(self._kubeconfig)

        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        settings.queueing.exit_timeout = 0.5
        settings.peering.standalone = True
        settings.process.ultimate_exiting_timeout = None
        asyncio.run(
            kopf.operator(
                registry=registry,
                settings=settings,
                standalone=True,
                clusterwide=True,
                stop_flag=self._stop,
                ready_flag=self.ready,
            )
        )
