# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case says about pools: policy, records and the lock document, as the fleet's files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import NotUnderstood, Section

_API = "operations.kube-dc.com/v1alpha1"
POOL = "v100-vm"
_TIMES = {
    "pending": ("", "", "", "awaiting-activation"),
    "active": ("2026-01-02T00:00:00Z", "", "sha256:evidence", "active"),
    "releasing": ("2026-01-02T00:00:00Z", "", "sha256:evidence", "release-requested"),
    "released": ("2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", "sha256:evidence", "released"),
    "canceled": ("", "", "", "canceled-before-activation"),
}


class LedgerState:
    """Pools, records and locks of one case."""

    def __init__(self, cluster: str, uid: str) -> None:
        self.cluster = cluster
        self.uid = uid
        self.pools: dict[str, dict[str, int]] = {}
        self.records: dict[str, str] = {}
        self.locks: dict[str, dict[str, str]] = {}
        self.policy: str = "present"
        self.extra: dict[str, bytes] = {}

    @property
    def lock_branch(self) -> str:
        """The branch of the lock document."""
        return "gpu-lock/" + self.cluster.replace("/", "--")

    def files(self) -> dict[str, bytes | None]:
        """The files below gpu-reservations/."""
        root = f"gpu-reservations/{self.cluster}"
        found: dict[str, bytes | None] = {
            f"{root}/records/{name}.yaml": text.encode() for name, text in self.records.items()
        }
        found.update(self.extra)
        if self.policy == "present":
            found[f"{root}/policy.yaml"] = _yaml(self._policy())
        elif self.policy == "invalid":
            found[f"{root}/policy.yaml"] = b"kind: Nonsense\n"
        return found

    def lock_file(self) -> bytes | None:
        """The lock document; None where nobody ever locked anything."""
        if not self.locks:
            return None
        unused = {"openBefore": False, "closedFor": []}
        return _yaml({"pools": self.locks, "gate": {"vm": unused, "shared": dict(unused)}, "projectCaps": {}})

    def _policy(self) -> dict[str, Any]:
        return {
            "apiVersion": _API,
            "kind": "GPUReservationPolicy",
            "metadata": {"cluster": self.cluster},
            "spec": {
                "clusterUid": self.uid,
                "reviewMode": "direct",
                "entitlementTransport": "annotation",
                "projectCap": "observe",
                "pools": {
                    name: {"nodes": nodes, "reservationAddons": [f"gpu-{name}-reserved"]}
                    for name, nodes in self.pools.items()
                },
            },
        }

    def change(self, given: Section, node: str) -> None:
        """Apply ``pool``/``pools``, ``policy``, ``lock``/``locks`` and ``records`` of a case."""
        where = given.where
        pools = given.take("pools", "pool")
        if pools is not None:
            self.pools = _pools(pools, node, where)
        policy = given.take("policy")
        if policy is not None:
            if isinstance(policy, dict):
                self.pools = _pools(policy.get("pools", policy), node, where)
            elif policy in ("missing", "absent", "none"):
                self.policy = "missing"
            elif policy in ("invalid", "unreadable"):
                self.policy = "invalid"
            elif policy in ("names_node", "names_the_node"):
                self.pools.setdefault(POOL, {})[node] = 2
            elif policy not in ("present", "names_no_node", "other_nodes"):
                raise NotUnderstood(f"{where}.policy: does not know {policy!r}")
        uid = given.take("cluster_uid")
        if uid is not None:
            self.uid = str(uid)
        records = given.take("records", "record", "reservations", "reservation")
        if records is not None:
            self._records(records, node, where)
        if given.has("lock", "locks"):
            self._locks(given.take("lock", "locks"), node, where)

    def _records(self, records: Any, node: str, where: str) -> None:
        self.records = {}
        if records in ("invalid", "unreadable"):
            self.extra[f"gpu-reservations/{self.cluster}/records/gpu-res-odd.yaml"] = b"kind: Nonsense\n"
            return
        for number, entry in enumerate(records if isinstance(records, list) else [records], start=1):
            section = Section(f"{where}.records", {"state": entry} if isinstance(entry, str) else entry)
            ticket = str(section.take("ticket", "id", default=f"case-{number}")).removeprefix("gpu-res-")
            state = section.take("state")
            profile = str(section.take("profile", "profileId", "profile_id", "pool", default=POOL))
            if state not in _TIMES:
                raise NotUnderstood(f"{where}.records: does not know the state {state!r}")
            activated, released, evidence, reason = _TIMES[state]
            self.pools.setdefault(profile, {node: 2})
            record = {
                "apiVersion": _API,
                "kind": "GPUReservationRecord",
                "metadata": {"id": f"gpu-res-{ticket}"},
                "spec": {
                    "organization": str(section.take("organization", default="borealis")),
                    "project": str(section.take("project", default="")),
                    "profileId": profile,
                    "devices": int(section.take("devices", default=1)),
                    "state": state,
                    "requestedAt": "2026-01-01T00:00:00Z",
                    "startsAt": "2026-01-02T00:00:00Z",
                    "endsAt": "",
                    "addonId": f"gpu-{profile}-reserved",
                    "billingReference": "INV-1",
                    "approvedBy": {"product": "p.owner", "sre": "s.owner"},
                },
                "status": {
                    "activatedAt": activated,
                    "releasedAt": released,
                    "evidenceRevision": evidence,
                    "reason": reason,
                },
            }
            section.done()
            self.records[f"gpu-res-{ticket}"] = _yaml(record).decode()

    def _locks(self, locks: Any, node: str, where: str) -> None:
        if locks in (None, "free", "none", "nobody"):
            self.locks = {}
            self.pools.setdefault(POOL, {node: 2})
            return
        entries: dict[str, Any]
        if isinstance(locks, str):
            entries = {POOL: locks}
        elif isinstance(locks, dict) and not set(locks) & {"held_by", "ticket", "holder", "by", "pool"}:
            entries = locks
        else:
            entries = {str(locks.get("pool", POOL)): {k: v for k, v in locks.items() if k != "pool"}}
        for pool, entry in entries.items():
            section = Section(f"{where}.lock", {"ticket": entry} if isinstance(entry, str) else entry)
            holder = str(section.take("ticket", "held_by", "holder", "by"))
            if holder in ("earlier_run", "this_transition", "same_transition", "us"):
                holder = f"transition:{node}"
            self.locks[pool] = {
                "ticket": holder,
                "run": str(section.take("run", default="01JEARLIERRUN0000000000000")),
                "since": str(section.take("since", default="2026-01-02T03:04:05Z")),
                "step": str(section.take("step", default="cordon")),
            }
            section.done()
            self.pools.setdefault(pool, {node: 2})


def _pools(pools: Any, node: str, where: str) -> dict[str, dict[str, int]]:
    """Nodes with their device counts, by profile."""
    if pools in (None, "none", {}):
        return {}
    if isinstance(pools, str):
        return {pools: {node: 2}}
    if isinstance(pools, list):
        return {str(pool): {node: 2} for pool in pools}
    found: dict[str, dict[str, int]] = {}
    named_so = [key for key in ("profile", "pool", "name", "id") if isinstance(pools.get(key), str)]
    if named_so:
        pools = {pools[named_so[0]]: {key: value for key, value in pools.items() if key != named_so[0]}}
    for pool, nodes in pools.items():
        named = nodes.get("nodes") if isinstance(nodes, Mapping) and "nodes" in nodes else nodes
        if isinstance(named, Mapping):
            found[str(pool)] = {str(name): int(count) for name, count in named.items()}
        elif isinstance(named, list):
            found[str(pool)] = {str(name): 2 for name in named}
        else:
            raise NotUnderstood(f"{where}.pools.{pool}: nodes with device counts, not {nodes!r}")
    return found


def _yaml(document: Any) -> bytes:
    """JSON is YAML, and every text in it is quoted."""
    return (json.dumps(document, indent=1) + "\n").encode()
