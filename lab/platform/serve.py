# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one process that plays the product, from its start to its end."""

from __future__ import annotations

import contextlib
import logging
import secrets
import signal
import socket
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from . import alerts, environment, fleet, kubelets, machines, organizations
from .api import CONFIGMAPS, DAEMONSETS, ApiError, Kind
from .backend import Backend, handler
from .devices import WATCHED as DEVICES_WATCHED
from .devices import Devices
from .faults import NAMESPACE, SEEN, digest, write_configmap
from .installation import install
from .product import Identities, Product
from .proxy import Proxy, Rules
from .store import Store
from .watching import RELIST_SECONDS, Watching
from .worker import Worker

LOG = logging.getLogger("lab.platform")
START_SECONDS = 60.0


class Platform:
    """Everything that runs. `start` returns once it works; `stop` leaves no thread and no child."""

    def __init__(self, state_dir: Path) -> None:
        self._dir = state_dir
        self._workers: list[Worker] = []
        self._ending = contextlib.ExitStack()
        identities = Identities.of(state_dir)
        kinds: dict[Kind, None] = dict.fromkeys(
            [
                *organizations.WATCHED,
                *fleet.WATCHED,
                *DEVICES_WATCHED,
                *machines.WATCHED,
                DAEMONSETS,
                CONFIGMAPS,
            ]
        )
        self.product = Product(identities, Store(kinds))
        self._organizations = organizations.Organizations(self.product)
        self._seen = ""

    def start(self) -> None:
        """Install what the product installs, see the world, and set the controllers going."""
        _patiently(lambda: install(self.product.api.admin))
        store = self.product.store
        watching = Watching(store, self._dir / "kubeconfig-admin")
        for kind in store.kinds:
            store.load(kind, self.product.api.admin)
        watching.start()
        self._ending.callback(watching.stop)
        self._controllers(watching)
        self._servers()
        for worker in self._workers:
            worker.start()
        self._ending.callback(self._stop_workers)

    def stop(self) -> None:
        """End everything, in the reverse order."""
        self._ending.close()

    def _stop_workers(self) -> None:
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.join(10)

    def _worker(self, name: str, step: object, kinds: tuple[Kind, ...], every: float = 1.0) -> None:
        assert callable(step)
        self._workers.append(Worker(name, step, self.product.store, kinds, every))

    def _controllers(self, watching: Watching) -> None:
        org = self._organizations
        self._worker("tenants", org.tenants, organizations.WATCHED)
        self._worker("entitlement", org.entitle, organizations.WATCHED)
        self._worker("projection", org.project_quota, organizations.WATCHED)
        self._worker("accounting", org.account, organizations.WATCHED)
        follower = fleet.Fleet(self.product, fleet.Branch(self._dir / "fleet.git"))
        self._worker("fleet", follower.follow, (CONFIGMAPS,), fleet.POLL_SECONDS)
        self._worker("gates", follower.gates, fleet.WATCHED)
        self._worker("labels", follower.label, fleet.WATCHED)
        plugins = Devices(self.product)
        self._worker("devices", plugins.advertise, DEVICES_WATCHED)
        self._worker("plugins", plugins.override, DEVICES_WATCHED)
        self._worker("kubelets", kubelets.Kubelets(self.product).play, (*kubelets.WATCHED, CONFIGMAPS))
        guests = machines.Machines(self.product)
        self._worker("kubevirt", guests.deployed, machines.WATCHED)
        self._worker("machines", guests.machines, (*machines.WATCHED, CONFIGMAPS))
        self._worker("instances", guests.instances, (*machines.WATCHED, CONFIGMAPS))
        self._worker("relist", _Relist(self.product, watching).step, (), 5.0)

    def _servers(self) -> None:
        known = environment.read(self._dir)
        alerts.end_leftover(self._dir / "prometheus")
        backend_port = _port(known.get("GPUOPS_BACKEND_URL"))
        token_file = self._dir / "backend-token"
        if not token_file.exists():
            environment.private_file(token_file, secrets.token_urlsafe(32) + "\n")
        backend = Backend(self.product, token_file.read_text().strip())
        server = _Server(("127.0.0.1", backend_port), handler(backend, self.product, self._metrics))
        threading.Thread(target=server.serve_forever, name="backend", daemon=True).start()
        self._ending.callback(server.server_close)
        self._ending.callback(server.shutdown)
        alerts_port = _port(known.get("GPUOPS_ALERTS_URL"))
        source = alerts.source(
            self._dir / "prometheus", alerts_port, f"127.0.0.1:{backend_port}", self._holding
        )
        source.follow(self.product.faults())
        self._ending.callback(source.stop)
        self._worker("alerts", lambda: source.follow(self.product.faults()), (CONFIGMAPS,))
        values = {
            "GPUOPS_BACKEND_URL": f"http://127.0.0.1:{backend_port}",
            "GPUOPS_BACKEND_TOKEN_FILE": str(token_file),
            "GPUOPS_ALERTS_URL": f"http://127.0.0.1:{alerts_port}",
            "GPUOPS_LAB_ALERTS": "prometheus" if isinstance(source, alerts.Prometheus) else "stand-in",
            "GPUOPS_CLUSTER": fleet.CLUSTER,
            "GPUOPS_FLEET_REPO": str(self._dir / "fleet.git"),
            "GPUOPS_EVIDENCE_DIR": str(self._dir / "evidence"),
        }
        values |= self._proxy(_port(known.get("GPUOPS_LAB_PROXY_URL")))
        # Last of the workers: it says that all the others have taken in a change of faults.
        self._worker("faults", self._acknowledge, (CONFIGMAPS,))
        evidence = self._dir / "evidence"
        evidence.mkdir(mode=0o700, exist_ok=True)
        evidence.chmod(0o700)
        environment.merge(self._dir, values)

    def _proxy(self, port: int) -> dict[str, str]:
        pki = self._dir / "pki"
        if not (pki / "server.key").exists():
            LOG.info("proxy: none, because this lab's API server has no certificate of ours")
            return {}
        rules = Rules(lambda: self.product.faults().text("proxy"))
        proxy = Proxy(self.product.api.admin.server, pki, port, rules)
        proxy.start()
        self._ending.callback(proxy.stop)
        url = f"https://127.0.0.1:{proxy.port}"
        for name in ("gpuops", "reader", "admin"):
            own = self._dir / f"kubeconfig-{name}"
            if own.exists():
                config = yaml.safe_load(own.read_text())
                for cluster in config["clusters"]:
                    cluster["cluster"]["server"] = url
                environment.private_file(
                    self._dir / f"kubeconfig-{name}-proxied", yaml.safe_dump(config, sort_keys=False)
                )
        return {"GPUOPS_LAB_PROXY_URL": url}

    def _metrics(self) -> str:
        return alerts.metrics(
            self.product.faults(),
            catalogue_valid=self._organizations.catalogue_accepted,
        )

    def _holding(self) -> dict[str, bool]:
        return {"KubeDcOrganizationQuotaConfigInvalid": not self._organizations.catalogue_accepted}

    def _acknowledge(self) -> None:
        wanted = digest(self.product.faults().values)
        if wanted == self._seen:
            return
        others = [worker for worker in self._workers if worker.name not in {"faults", "relist"}]
        if all(worker.flush(15) for worker in others) and wanted == digest(self.product.faults().values):
            write_configmap(self.product.api.admin, NAMESPACE, SEEN, {"digest": wanted})
            self._seen = wanted
            LOG.info("faults: %s", dict(self.product.faults().values) or "none")


class _Relist:
    """Compares with fresh lists now and then, and ends the process when nothing watches any more."""

    def __init__(self, product: Product, watching: Watching) -> None:
        self._product = product
        self._watching = watching
        self._last = 0.0

    def step(self) -> None:
        if not self._watching.is_alive():
            LOG.error("the watches have ended; so does the platform, to be started again")
            signal.raise_signal(signal.SIGTERM)
            return
        due = time.monotonic() - self._last >= RELIST_SECONDS
        if due and self._watching.ready.is_set():
            for kind in self._product.store.kinds:
                self._product.store.load(kind, self._product.api.admin)
            self._last = time.monotonic()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        LOG.debug("backend: connection lost")


def _port(known: str | None) -> int:
    """The port of before while it is free, so that a restart keeps its addresses; else any free one."""
    port = urlsplit(known).port if known else None
    if port:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return alerts.free_port()
            return port
    return alerts.free_port()


def _patiently(act: object) -> None:
    """Try again while the API server is still coming up."""
    assert callable(act)
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            act()
        except (ApiError, TimeoutError) as err:
            if time.monotonic() > end:
                raise
            LOG.info("not yet: %s", err)
            time.sleep(0.5)
        else:
            return


def serve(state_dir: Path) -> int:
    """Run until SIGTERM or SIGINT; the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    platform = Platform(state_dir)
    try:
        platform.start()
        LOG.info("the product runs")
        ended.wait()
    finally:
        platform.stop()
    LOG.info("the product has ended")
    return 0
