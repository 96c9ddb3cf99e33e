# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Watches Reservations, their bindings and nodes, and says when a reconcile is due."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

DOCUMENTATION = r"""
short_description: Say when Reservations of whole nodes have to be reconciled
description:
  - Watches Reservations, ReservationBindings and nodes. What does not matter to them, such as heartbeats of
    nodes and statuses, is left out.
  - A watch resumes from the version that was seen last, lists again when that has expired, and backs off on
    errors.
  - Several changes at once are one event. While a node drains, and every few minutes, an event comes without
    a change.
  - Needs the Python library C(kubernetes).
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file. This or O(host) is needed, here or in the environment variables that
        the modules take them from. There is no ambient default.
    type: str
  context:
    description: Context in the kubeconfig file.
    type: str
  host:
    description: URL of the API server.
    type: str
  api_key:
    description: Bearer token.
    type: str
  ca_cert:
    description: Path of the certificate that signs the API server's.
    type: str
  validate_certs:
    description: Whether the API server's certificate is checked.
    type: bool
    default: true
  settle_seconds:
    description: How long further changes are waited for after the first one.
    type: float
    default: 0.1
  least_seconds:
    description: How far events are apart at least.
    type: float
    default: 2.0
  drain_seconds:
    description: How often an event comes while a node drains.
    type: float
    default: 15.0
  resync_seconds:
    description: How often an event comes when nothing changes.
    type: float
    default: 300.0
"""

EXAMPLES = r"""
- gpuops.reservations.reservations:
    kubeconfig: "{{ kubeconfig }}"
"""

log = logging.getLogger(__name__)

PATHS: Mapping[str, str] = {
    "Reservation": "/apis/scheduling.coreweave.cloud/v1alpha1/reservations",
    "ReservationBinding": "/apis/scheduling.coreweave.cloud/v1alpha1/reservationbindings",
    "Node": "/api/v1/nodes",
}
CORDON = "gpuops.reservations/cordon"
LONGEST_PAUSE = 30.0
WATCH_SECONDS = 240
RESUMES = 3
"""So many failures in a row, and the list is read again: after a restored backup no version is right."""
Json = dict[str, Any]


class Expired(Exception):
    """The version to resume from is too old: the list has to be read again."""


def what_matters(kind: str, document: Json) -> Json:
    """The part of an object that a reconcile goes by.

    Of a node: labels, our annotations, taints that are not its state's, the cordon. Of the others: what was
    asked for, which changes the generation, and whether it is being deleted.
    """
    meta, spec = document.get("metadata", {}), document.get("spec", {})
    if kind != "Node":
        return {"generation": meta.get("generation"), "deleting": "deletionTimestamp" in meta}
    annotations = meta.get("annotations") or {}
    return {
        "labels": meta.get("labels") or {},
        "annotations": {k: v for k, v in annotations.items() if k.startswith("gpuops.reservations/")},
        "taints": [t for t in spec.get("taints") or [] if not t["key"].startswith("node.kubernetes.io/")],
        "cordoned": bool(spec.get("unschedulable")),
    }


@dataclass
class Mirror:
    """What matters of every object that was seen, and the names of what changed since the last event."""

    known: dict[tuple[str, str], Json] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def see(self, kind: str, document: Json, *, gone: bool = False) -> bool:
        """Take note of one object; whether anything that matters changed."""
        meta = document["metadata"]
        name = f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])
        with self.lock:
            before = self.known.pop((kind, name), None)
            after = None if gone else what_matters(kind, document)
            if after is not None:
                self.known[kind, name] = after
            if before == after:
                return False
            self.changed.add(f"{kind} {name}")
            return True

    def see_all(self, kind: str, documents: list[Json]) -> bool:
        """Take note of a whole list: what is not in it is gone."""
        names = {(d["metadata"].get("namespace", ""), d["metadata"]["name"]) for d in documents}
        with self.lock:
            known = [name for of, name in self.known if of == kind]
        missing = [name for name in known if _parts(name) not in names]
        gone = [self.see(kind, {"metadata": _meta(name)}, gone=True) for name in missing]
        return any([*gone, *[self.see(kind, document) for document in documents]])

    def draining(self) -> bool:
        """Whether a node has the mark of a release that goes on."""
        with self.lock:
            nodes = [seen for (kind, _), seen in self.known.items() if kind == "Node"]
        return any(CORDON in seen["annotations"] for seen in nodes)

    def take_changed(self) -> list[str]:
        """The names of what changed since this was asked last, in order."""
        with self.lock:
            changed, self.changed = sorted(self.changed), set()
        return changed


def _parts(name: str) -> tuple[str, str]:
    namespace, slash, rest = name.partition("/")
    return (namespace, rest) if slash else ("", name)


def _meta(name: str) -> Json:
    namespace, rest = _parts(name)
    return {"name": rest, "namespace": namespace}


def _option(args: Mapping[str, Any], name: str) -> str | None:
    """An option of the connection, or the environment variable that the modules take it from."""
    return args.get(name) or os.environ.get(f"K8S_AUTH_{name.upper()}")


class Server:
    """The API server, by the connection options of the source."""

    def __init__(self, args: Mapping[str, Any]) -> None:
        client = importlib.import_module("kubernetes.client")
        config = importlib.import_module("kubernetes.config")
        self._broken: type[Exception] = importlib.import_module("urllib3.exceptions").HTTPError
        configuration = client.Configuration()
        configuration.host = _option(args, "host") or ""
        kubeconfig = _option(args, "kubeconfig") or os.environ.get("KUBECONFIG")
        if kubeconfig and not configuration.host:
            config.load_kube_config(
                config_file=kubeconfig,
                context=_option(args, "context"),
                client_configuration=configuration,
                persist_config=False,
            )
        if not configuration.host:
            raise ValueError("gpuops.reservations.reservations: set kubeconfig, or host and api_key")
        if token := _option(args, "api_key"):
            configuration.api_key = {"authorization": f"Bearer {token}"}
        if authority := _option(args, "ca_cert"):
            configuration.ssl_ca_cert = authority
        configuration.verify_ssl = bool(args.get("validate_certs", True))
        self._configuration = configuration
        self._pool = client.ApiClient(configuration=configuration).rest_client.pool_manager

    def _get(self, path: str, query: Mapping[str, str], *, timeout: float) -> Any:
        headers = {"Accept": "application/json"}
        settings: Mapping[str, Mapping[str, str]] = self._configuration.auth_settings()
        headers |= {one["key"]: one["value"] for one in settings.values() if one["value"]}
        try:
            reply = self._pool.request(
                "GET",
                self._configuration.host.rstrip("/") + path,
                fields=dict(query),
                headers=headers,
                preload_content=False,
                timeout=timeout,
                retries=False,
            )
        except self._broken as error:
            raise OSError(f"{path}: {error}") from error
        if reply.status == 410:
            reply.release_conn()
            raise Expired(path)
        if reply.status != 200:
            body = reply.read(2000).decode("utf-8", "replace")
            reply.close()
            raise OSError(f"{path} answered {reply.status}: {body}")
        return reply

    def list(self, path: str) -> tuple[list[Json], str]:
        """Every object of a list, and the version to watch from."""
        items: list[Json] = []
        query = {"limit": "500"}
        while True:
            reply = self._get(path, query, timeout=60.0)
            page = json.loads(reply.read())
            reply.release_conn()
            items += page.get("items") or []
            token = page["metadata"].get("continue", "")
            if not token:
                return items, page["metadata"]["resourceVersion"]
            query = {"limit": "500", "continue": token}

    def watch(self, path: str, version: str) -> Iterator[Json]:
        """Changes after a version, until the server ends the watch. Raises Expired."""
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        reply = self._get(path, query, timeout=WATCH_SECONDS + 30.0)
        rest = b""
        try:
            for chunk in reply.stream(65536, decode_content=True):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    change = json.loads(line)
                    if change["type"] == "ERROR":
                        if change["object"].get("code") == 410:
                            raise Expired(path)
                        raise OSError(f"{path}: {change['object'].get('message')}")
                    yield change
        except self._broken as error:
            raise OSError(f"{path}: {error}") from error
        finally:
            reply.close()


def follow(server: Server, kind: str, mirror: Mirror, changed: Any, stop: threading.Event) -> None:
    """Keep the mirror of one kind; ``changed`` is called whenever something that matters did."""
    version, failures = "", 0
    while not stop.is_set():
        try:
            if not version:
                documents, version = server.list(PATHS[kind])
                if mirror.see_all(kind, documents):
                    changed()
            heard = False
            for change in server.watch(PATHS[kind], version):
                heard, failures = True, 0
                version = change["object"]["metadata"]["resourceVersion"]
                if change["type"] != "BOOKMARK" and mirror.see(
                    kind, change["object"], gone=change["type"] == "DELETED"
                ):
                    changed()
                if stop.is_set():
                    return
            if heard:
                continue
            ended = "the watch ended without a word"
        except Expired:
            ended, version = f"the version {version} has expired, listing again", ""
        except (OSError, ValueError, KeyError) as error:
            ended = str(error)
        failures += 1
        if failures >= RESUMES:
            version = ""
        _pause(kind, ended, failures, stop)


def _pause(kind: str, ended: str, failures: int, stop: threading.Event) -> None:
    """Wait longer each time, so that a server that ends every watch at once is not asked for ever."""
    pause = min(LONGEST_PAUSE, 0.5 * 2 ** min(failures, 10))
    log.warning("%s: %s; going on in %.0f s", kind, ended, pause)
    stop.wait(pause)


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Put an event on the queue whenever a reconcile is due; runs until it is cancelled."""
    server, mirror, stop = Server(args), Mirror(), threading.Event()
    loop, due = asyncio.get_running_loop(), asyncio.Event()

    def changed() -> None:
        loop.call_soon_threadsafe(due.set)

    for kind in PATHS:
        arguments = (server, kind, mirror, changed, stop)
        threading.Thread(target=follow, args=arguments, daemon=True, name=f"watch-{kind}").start()
    try:
        await _tell(queue, mirror, due, args)
    finally:
        stop.set()


async def _tell(
    queue: asyncio.Queue[Any], mirror: Mirror, due: asyncio.Event, args: Mapping[str, Any]
) -> None:
    settle, least = float(args.get("settle_seconds", 0.1)), float(args.get("least_seconds", 2.0))
    drain, resync = float(args.get("drain_seconds", 15.0)), float(args.get("resync_seconds", 300.0))
    while True:
        draining = mirror.draining()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(due.wait(), drain if draining else resync)
            await asyncio.sleep(settle)
        due.clear()
        names = mirror.take_changed()
        reason = "changed" if names else "draining" if draining else "resync"
        await queue.put({"reservations": {"reason": reason, "changed": names[:50]}})
        await asyncio.sleep(least)


if __name__ == "__main__":

    class _Printing:
        """For trying it out: events go to the screen."""

        async def put(self, event: Any) -> None:
            """Print one event."""
            print(json.dumps(event), flush=True)  # noqa: T201

    asyncio.run(main(_Printing(), {}))  # type: ignore[arg-type]
