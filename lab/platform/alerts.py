# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Alerts: a real Prometheus over the platform's metrics where it is installed, else a small stand-in.

Both answer /api/v1/alerts and /api/v1/rules. In the lab a rule fires as soon as its expression holds.
"""

from __future__ import annotations

import json
import logging
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import yaml

from .faults import Faults
from .product import stamp, utc_now

LOG = logging.getLogger("lab.platform")

# name: (PromQL, severity). The first three are the product's own expressions.
EXPRESSIONS = {
    "KubeDcOrganizationQuotaConfigInvalid": ("kube_dc_organization_quota_config_valid == 0", "critical"),
    "KubeDcOrganizationQuotaConfigUnobserved": ("absent(kube_dc_organization_quota_config_valid)", "warning"),
    "KubeDcOrganizationQuotaReconcileErrors": (
        'sum by (stage) (increase(kube_dc_organization_quota_reconcile_total{result="error"}[15m])) > 0',
        "warning",
    ),
}
# Known by name only: a metric of the lab's stands for what they watch.
BY_NAME = (
    "KubeDcGPUNodeWrongWorkloadMode",
    "KubeDcConflictingNvidiaDevicePlugins",
    "KubeDcHamiDevicePluginMetricsUnavailable",
    "KubeDcHamiSchedulerUnavailable",
    "KubeDcHamiAllocationCanaryStale",
    "KubeDcHamiAllocationCanaryStuck",
    "KubeDcGPUDcgmExporterUnavailable",
    "KubeDcGPUMandatoryTelemetryUnavailable",
    "KubeDcGPUCapacityTelemetryUnavailable",
    "KubeDcGPUXidError",
    "KubeDcGPUUncorrectableEccError",
    "KubeDcGPUOverTemperature",
    "KubeDcGPUThrottlingViolation",
    # Another chart's: a capital C, and no concern of capacity.
    "KubeDCBackupFailed",
    "NodeClockSkew",
)
PENDING_SECONDS = 3600
ANSWER_SECONDS = 10.0
GRACE_SECONDS = 20
INTERVAL = "1s"


def rules(current: Faults, started: int = 0) -> list[dict[str, Any]]:
    """The alerting rules that are loaded now; an alert that is to stay pending waits for an hour.

    What is absent fires from some seconds after `started` on (since the epoch): the first scrape takes five.
    The product's own rule waits a quarter of an hour.
    """
    waiting = set(current.names("alerts-pending"))
    switch = 'lab_alert_active{{name="{}"}} == 1'
    expressions = {name: (switch.format(name), "warning") for name in BY_NAME}
    for name, (expression, severity) in EXPRESSIONS.items():
        later = f" and on () (vector(time()) > {started + GRACE_SECONDS})"
        grace = later if expression.startswith("absent") else ""
        expressions[name] = (f"({expression}{grace}) or ({switch.format(name)})", severity)
    for name in set(current.names("alerts-firing")) | waiting:
        expressions.setdefault(name, (switch.format(name), "warning"))
    return [
        {
            "alert": name,
            "expr": expression,
            "for": f"{PENDING_SECONDS}s" if name in waiting else "0s",
            "labels": {"severity": severity, "service": "kube-dc", "owner": "platform"},
            "annotations": {"runbook_url": f"https://docs.example.com/runbooks/{name}"},
        }
        for name, (expression, severity) in sorted(expressions.items())
    ]


def groups(current: Faults, started: int = 0) -> list[dict[str, Any]]:
    """The rule groups that are loaded now."""
    source = current.text("alerts-source")
    if source == "no-rules":
        return []
    names = ["kube-dc-manager", "kube-dc-manager-copy"] if source == "rules-twice" else ["kube-dc-manager"]
    return [{"name": name, "interval": INTERVAL, "rules": rules(current, started)} for name in names]


def metrics(current: Faults, *, catalogue_valid: bool) -> str:
    """The manager's metrics as the platform exports them, and the switches of alerts known by name."""
    active = set(current.names("alerts-firing")) | set(current.names("alerts-pending"))
    lines = [
        f"kube_dc_organization_quota_config_valid {int(catalogue_valid)}",
        # An alert on this needs minutes to come and to go: a test that wants it switches it on.
        'kube_dc_organization_quota_reconcile_total{result="error",stage="entitlement"} 0',
    ]
    lines += [f'lab_alert_active{{name="{name}"}} 1' for name in sorted(active)]
    return "\n".join(lines) + "\n"


class Prometheus:
    """A real Prometheus as a child process."""

    def __init__(self, program: str, folder: Path, port: int, target: str) -> None:
        self._program = program
        self._folder = folder
        self._port = port
        self._target = target
        self._process: subprocess.Popen[bytes] | None = None
        self._loaded: object = None
        self._settled_for: object = None
        self._started = 0

    def follow(self, current: Faults) -> None:
        """Run (or not) with the rules that the faults leave, and return once it answers by them."""
        if current.text("alerts-source") == "unreachable":
            self.stop()
            return
        alive = self._process is not None and self._process.poll() is None
        if not alive:
            self._started = int(time.time())
        wanted = groups(current, self._started)
        if self._process is None or not alive:
            self._write(wanted)
            self._start()
        elif wanted != self._loaded:
            self._write(wanted)
            self._process.send_signal(signal.SIGHUP)
        self._loaded = wanted
        first = self._settled_for is None
        if self._settled_for != current.values:
            # The first time nobody has asked for anything yet, and the first scrape takes five seconds.
            end = time.monotonic() + (0 if first else ANSWER_SECONDS)
            while not self._answers(current) and time.monotonic() < end:
                time.sleep(0.05)
            self._settled_for = dict(current.values)

    def _answers(self, current: Faults) -> bool:
        """Whether the rules are loaded, and the switched alerts are in their state."""
        try:
            loaded = self._get("rules")["groups"]
            states = {item["labels"]["alertname"]: item["state"] for item in self._get("alerts")["alerts"]}
        except (OSError, ValueError, KeyError):
            return False
        wanted = dict.fromkeys(current.names("alerts-firing"), "firing") if loaded else {}
        wanted |= dict.fromkeys(current.names("alerts-pending"), "pending") if loaded else {}
        # What holds by itself is nobody's switch.
        switched = {
            name: state for name, state in states.items() if name not in EXPRESSIONS or name in wanted
        }
        return len(loaded) == len(groups(current)) and switched == wanted

    def _get(self, route: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/api/v1/{route}", timeout=2) as answer:
            data: dict[str, Any] = json.load(answer)["data"]
        return data

    def _write(self, wanted: list[dict[str, Any]]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "rules.yml").write_text(yaml.safe_dump({"groups": wanted}))
        config = {
            "global": {
                "scrape_interval": INTERVAL,
                "scrape_timeout": INTERVAL,
                "evaluation_interval": INTERVAL,
            },
            "rule_files": [str(self._folder / "rules.yml")],
            "scrape_configs": [{"job_name": "kube-dc", "static_configs": [{"targets": [self._target]}]}],
        }
        (self._folder / "prometheus.yml").write_text(yaml.safe_dump(config))

    def _start(self) -> None:
        # Samples of an earlier process would be taken for the present for some minutes.
        shutil.rmtree(self._folder / "data", ignore_errors=True)
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._program,
                    f"--config.file={self._folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    "--storage.tsdb.retention.time=2h",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                ],
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + 20
        while time.monotonic() < end and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=2):
                    return
            except OSError:
                time.sleep(0.1)
        LOG.warning("prometheus does not answer; see %s", self._folder / "log")

    def stop(self) -> None:
        """End the child."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=8)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


class StandIn:
    """A small server with the same two routes, for machines without Prometheus."""

    def __init__(self, port: int, holding: Callable[[], dict[str, bool]]) -> None:
        self._port = port
        self._holding = holding
        self._current = Faults()
        self._since: dict[str, str] = {}
        self._server: ThreadingHTTPServer | None = None

    def follow(self, current: Faults) -> None:
        """Answer by these faults from now on."""
        self._current = current
        if current.text("alerts-source") == "unreachable":
            self.stop()
        elif self._server is None:
            self._server = ThreadingHTTPServer(("127.0.0.1", self._port), self._handler())
            self._server.daemon_threads = True
            threading.Thread(target=self._server.serve_forever, name="alerts", daemon=True).start()

    def stop(self) -> None:
        """Listen no longer."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _alerts(self) -> list[dict[str, Any]]:
        holding = self._holding()
        active = set(self._current.names("alerts-firing")) | set(self._current.names("alerts-pending"))
        found = []
        for group in groups(self._current):
            for rule in group["rules"]:
                name = rule["alert"]
                if name not in active and not holding.get(name, False):
                    self._since.pop(name, None)
                    continue
                waits = rule["for"] != "0s"
                found.append(
                    {
                        "labels": {"alertname": name, **rule["labels"]},
                        "annotations": rule["annotations"],
                        "state": "pending" if waits else "firing",
                        "activeAt": self._since.setdefault(name, stamp(utc_now())),
                        "value": "1e+00",
                    }
                )
        return found

    def _rules(self) -> dict[str, Any]:
        alerts = self._alerts()
        states = {alert["labels"]["alertname"]: alert["state"] for alert in alerts}
        return {
            "groups": [
                {
                    "name": group["name"],
                    "file": "rules.yml",
                    "interval": 1,
                    "rules": [
                        {
                            "type": "alerting",
                            "name": rule["alert"],
                            "query": rule["expr"],
                            "duration": PENDING_SECONDS if rule["for"] != "0s" else 0,
                            "labels": rule["labels"],
                            "annotations": rule["annotations"],
                            "health": "ok",
                            "state": states.get(rule["alert"], "inactive"),
                            "alerts": [a for a in alerts if a["labels"]["alertname"] == rule["alert"]],
                        }
                        for rule in group["rules"]
                    ],
                }
                for group in groups(self._current)
            ]
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                LOG.debug("alerts: %s", format % args)

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == "/api/v1/alerts":
                    self._send(200, {"status": "success", "data": {"alerts": outer._alerts()}})
                elif path == "/api/v1/rules":
                    self._send(200, {"status": "success", "data": outer._rules()})
                elif path in {"/-/ready", "/-/healthy"}:
                    self._send(200, {})
                else:
                    self._send(404, {"status": "error", "errorType": "not_found", "error": "no such route"})

            def _send(self, status: int, document: Any) -> None:
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def end_leftover(folder: Path) -> None:
    """End a Prometheus that a platform which was killed has left behind: it would hold the port."""
    mark = f"--config.file={folder / 'prometheus.yml'}"
    for process in psutil.process_iter(["cmdline"]):
        if mark in (process.info["cmdline"] or []):
            process.kill()
            process.wait(10)


def source(
    folder: Path, port: int, target: str, holding: Callable[[], dict[str, bool]]
) -> Prometheus | StandIn:
    """Prometheus when it is on the PATH, else the stand-in; the log says which."""
    program = shutil.which("prometheus")
    if program:
        LOG.info("alerts: %s on port %d", program, port)
        return Prometheus(program, folder, port, target)
    LOG.info("alerts: the small stand-in on port %d, because no program `prometheus` is installed", port)
    return StandIn(port, holding)
