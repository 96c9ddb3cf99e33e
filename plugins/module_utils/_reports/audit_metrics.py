# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit as metrics for Prometheus' textfile collector."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

Sample = tuple[dict[str, str], float]

_ESCAPED: Final = re.compile(r'[\\"\n]')
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}


@dataclass(frozen=True)
class Metric:
    """One metric; all of them are gauges.

    Attributes:
        name: with its unit.
        help: one sentence, naming the unit.
        samples: labels and value; what is unknown has no sample.
    """

    name: str
    help: str
    samples: tuple[Sample, ...]

    def lines(self) -> Iterator[str]:
        """The metric in the text format."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} gauge"
        for labels, value in self.samples:
            told = ",".join(f'{key}="{_escape(text)}"' for key, text in sorted(labels.items()))
            yield f"{self.name}{{{told}}} {_number(value)}"


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], text)


def _number(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


def _known(rows: Iterable[tuple[dict[str, str], Any]]) -> tuple[Sample, ...]:
    """Rows whose value is a number; words such as unknown leave no sample."""
    return tuple((labels, float(value)) for labels, value in rows if isinstance(value, (int, float)))


def _seconds(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _of_audit(bundle: Mapping[str, Any], cluster: dict[str, str]) -> Iterator[Metric]:
    yield Metric(
        "gpuops_audit_passed",
        "Whether the last audit passed, 1 for yes.",
        _known([(cluster, bundle["passed"])]),
    )
    yield Metric(
        "gpuops_audit_timestamp_seconds",
        "When the audit observed the cluster, in seconds since 1970 by the API server's clock.",
        _known([(cluster, _seconds(bundle["server_time"]))]),
    )
    counts = Counter((item["severity"], item["id"]) for item in bundle["findings"])
    rows = [
        ({**cluster, "severity": key[0], "finding": key[1]}, count) for key, count in sorted(counts.items())
    ]
    yield Metric("gpuops_audit_findings", "Findings of the last audit, by severity and id.", _known(rows))


def _of_pools(bundle: Mapping[str, Any], cluster: dict[str, str]) -> Iterator[Metric]:
    pools = [({**cluster, "profile": pool["profile"]}, pool) for pool in bundle["pools"]]

    def each(name: str, text: str, key: str) -> Metric:
        return Metric(name, text, _known((labels, pool["equation"][key]) for labels, pool in pools))

    yield each("gpuops_pool_healthy_devices", "Healthy schedulable devices of the pool.", "healthy")
    yield Metric(
        "gpuops_pool_reserved_devices",
        "Devices that records hold, by state.",
        _known(
            ({**labels, "state": state}, count)
            for labels, pool in pools
            for state, count in pool["equation"]["reserved"].items()
        ),
    )
    yield each(
        "gpuops_pool_non_reserved_devices",
        "Devices that organizations can claim beside records.",
        "non_reserved",
    )
    yield each("gpuops_pool_spare_devices", "Devices of the operator's spare.", "spare")
    yield each(
        "gpuops_pool_headroom_devices", "Devices left over by the equation, below 0 if oversold.", "headroom"
    )
    yield each("gpuops_pool_equation_holds", "Whether the equation is known to hold, 1 for yes.", "holds")
    yield Metric(
        "gpuops_pool_frozen",
        "Whether the pool's sales are frozen, 1 for yes.",
        _known((labels, pool["frozen"]) for labels, pool in pools),
    )
    yield Metric(
        "gpuops_pool_locked",
        "Whether somebody holds the pool's lock, 1 for yes.",
        _known((labels, bool(pool["lock"])) for labels, pool in pools),
    )


def _of_organizations(bundle: Mapping[str, Any], cluster: dict[str, str]) -> Iterator[Metric]:
    rows = [
        ({**cluster, "profile": pool["profile"], "organization": item["organization"]}, item)
        for pool in bundle["pools"]
        for item in pool["organizations"]
    ]
    for key, text in (
        ("hard", "Devices of the organization's hard quota."),
        ("used", "Devices that the organization's Pods use."),
        ("claim", "Devices that the organization can claim."),
    ):
        yield Metric(
            f"gpuops_organization_{key}_devices", text, _known((labels, item[key]) for labels, item in rows)
        )


def _of_reservations(bundle: Mapping[str, Any], cluster: dict[str, str]) -> Iterator[Metric]:
    rows = [
        (
            {
                **cluster,
                "profile": pool["profile"],
                "reservation": item["id"],
                "organization": item["organization"],
                "state": item["state"],
            },
            item,
        )
        for pool in bundle["pools"]
        for item in pool["reservations"] or ()
        if item["state"] in ("pending", "active", "releasing")
    ]
    yield Metric(
        "gpuops_reservation_devices",
        "Devices that a live record holds.",
        _known((labels, item["devices"]) for labels, item in rows),
    )
    yield Metric(
        "gpuops_reservation_end_timestamp_seconds",
        "When a live record ends, in seconds since 1970; open ends have no sample.",
        _known((labels, _seconds(item["ends_at"])) for labels, item in rows),
    )


def audit_metrics(bundle: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Every metric of an audit bundle.

    Args:
        bundle: what ``audit_bundle`` answers.
    """
    cluster = {"cluster": str(bundle["cluster"])}
    return (
        *_of_audit(bundle, cluster),
        *_of_pools(bundle, cluster),
        *_of_organizations(bundle, cluster),
        *_of_reservations(bundle, cluster),
    )


def render_metrics(bundle: Mapping[str, Any]) -> str:
    """The text that the textfile collector reads.

    Args:
        bundle: what ``audit_bundle`` answers.
    """
    return "".join(f"{line}\n" for metric in audit_metrics(bundle) for line in metric.lines())
