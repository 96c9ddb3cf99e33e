# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything on the runbook's retention list, as one JSON document ("Audit and reconciliation")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .audit import AuditReport
from .claims import OrganizationTerms
from .cluster_config import config_path
from .gate import gate_state
from .gate_use import Gate, use_of
from .modes import ACTIVE_LABEL, EXPECTED_LABEL
from .proof import Proof
from .record import Record
from .redaction import mask
from .tenant_status import StatusReading, read_status
from .world import World

FORMAT: Final = "gpuops.reservations/audit/v1"

_NOT_OBSERVED: Final = "not observed"


def _reservation(record: Record) -> dict[str, Any]:
    spec, status = record.spec, record.status
    return {
        "id": record.id,
        "organization": spec.organization,
        "project": spec.project,
        "devices": spec.devices,
        "state": spec.state,
        "add_on": spec.addon_id,
        "requested_at": spec.requested_at,
        "starts_at": spec.starts_at,
        "ends_at": spec.ends_at,
        "activated_at": status.activated_at,
        "released_at": status.released_at,
        "reason": status.reason,
        "billing_reference": spec.billing_reference,
        "approved_by": {"product": spec.approved_by.product, "sre": spec.approved_by.sre},
        "evidence_revision": status.evidence_revision,
    }


def _status(reading: StatusReading) -> dict[str, Any]:
    if not reading.present:
        return {"hard": "absent", "used": "absent"}
    hard = "unreadable" if reading.hard is None else reading.hard
    return {"hard": hard, "used": "unreadable" if reading.used is None else reading.used}


def _organization(terms: OrganizationTerms, profile_id: str, world: World) -> dict[str, Any]:
    """Terms, and what each place says: add-on assignment, quota, Organization and Project status."""
    quota = terms.quota
    return {
        **terms.result(),
        "add_ons": dict(terms.entitlement.quantities),
        "quota_objects": {
            "source": quota.source or "none",
            "hard": terms.result()["hard"],
            "used": _NOT_OBSERVED if quota.used is None else quota.used,
            "in_force": _NOT_OBSERVED if quota.in_force is None else quota.in_force,
        },
        "organization_status": _status(terms.status),
        "projects": {
            project.metadata.name: _status(read_status(project.status, profile_id))
            for project in world.tenancy.projects.get(terms.organization, ())
        },
        "admin_ui": _NOT_OBSERVED,
    }


def _nodes(proof: Proof, world: World) -> list[dict[str, Any]]:
    rows = []
    for row in proof.nodes:
        node = world.nodes.get(row.node)
        labels = node.metadata.labels if node else {}
        modes = {"active": labels.get(ACTIVE_LABEL, ""), "expected": labels.get(EXPECTED_LABEL, "")}
        rows.append({**row.result(), "mode": modes})
    return rows


def _pool(proof: Proof, world: World, before: Mapping[str, Any] | None) -> dict[str, Any]:
    records = world.ledger.of_pool(proof.profile_id)
    equation = proof.equation.result()
    return {
        "profile": proof.profile_id,
        "resource": proof.resource,
        "in_service": proof.in_service,
        "frozen": world.ledger.frozen(proof.profile_id),
        "lock": proof.lock_ticket,
        "healthy": equation["healthy"],
        "spare": equation["spare"],
        "active_reserved": equation["reserved"]["active"],
        "equation_before": dict(before) if before else None,
        "equation": equation,
        "reservations": None if records is None else [_reservation(record) for record in records],
        "organizations": [
            _organization(terms, proof.profile_id, world) for terms in proof.organizations if terms.matters
        ],
        "nodes": _nodes(proof, world),
        "holders": [holder.result() for holder in proof.holders],
        "limits": dict(proof.limits),
    }


def _alerts(world: World) -> dict[str, Any]:
    alerts = world.snapshot.alerts
    return {
        "readable": alerts.readable,
        "rules": len(alerts.rules),
        "active": [
            {"name": alert.labels.get("alertname", ""), "state": alert.state, "since": alert.active_at}
            for alert in alerts.alerts
        ],
    }


def _gates(world: World) -> dict[str, Any]:
    observed, lock = world.snapshot.observed, world.ledger.lock
    file = world.snapshot.fleet.file(config_path(world.snapshot.cluster))
    gates: tuple[Gate, ...] = ("vm", "shared")
    found: dict[str, Any] = {}
    for gate in gates:
        state = gate_state(gate, file, observed.cluster_config, observed.gate_copies)
        users = list(use_of(lock, gate).closed_for) if lock is not None else None
        found[gate] = {"copies": dict(state.copies()), "closed_for": users}
    return found


def audit_bundle(
    report: AuditReport,
    world: World,
    *,
    equations_before: Mapping[str, Mapping[str, Any]] | None = None,
    platform_revision: str = "",
    smoked: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The retention list of one audit, JSON-able, without physical identifiers.

    Args:
        report: the audit.
        world: the observation that it was made on.
        equations_before: the equation before the change that the audit follows, by pool.
        platform_revision: the product's own revision, where somebody knows it.
        smoked: time of the last good smoke run by pool, as evidence has it.
    """
    before = equations_before or {}
    bundle = {
        "format": FORMAT,
        "cluster": report.cluster,
        "server_time": report.server_time,
        "passed": report.passed,
        "revisions": {
            "fleet": report.revision or "unknown",
            "kube_dc": platform_revision or _NOT_OBSERVED,
            "kubernetes": world.snapshot.observed.server_version or _NOT_OBSERVED,
            "catalogue": world.catalogue.version or "unknown",
        },
        "findings": [finding.result() for finding in report.findings],
        "pools": [_pool(proof, world, before.get(name)) for name, proof in sorted(report.proofs.items())],
        "alerts": _alerts(world),
        "gates": _gates(world),
        "smoke": dict(smoked or {}),
    }
    masked, _hits = mask(bundle)
    return dict(masked)
