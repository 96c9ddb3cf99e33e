# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The canary: Pods whose fate by a server's dry run shows that admission injects, and refuses thieves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .checks import Check
from .reservation_objects import CANARY, TAINT_KEY, TENANT_LABEL

CANARY_LABEL: Final = "gpuops.reservations/canary"
NEXT: Final = "run playbooks/install.yml with an administrator's identity, and see which policy is missing"
_STRANGER: Final = "gpuops-reservation-canary-stranger"


def canary_pod() -> dict[str, Any]:
    """An ordinary Pod of the canary's tenant, which has to come back injected."""
    amounts = {"cpu": "1m", "memory": "1Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "canary-",
            "namespace": CANARY,
            "labels": {CANARY_LABEL: "true"},
        },
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": "canary",
                    "image": "registry.k8s.io/pause",
                    "resources": {"requests": amounts, "limits": amounts},
                }
            ],
        },
    }


def thieves() -> dict[str, dict[str, Any]]:
    """Pods that have to be refused, by what each tries."""
    tolerating, naming = canary_pod(), canary_pod()
    tolerating["spec"]["tolerations"] = [{"key": TAINT_KEY, "operator": "Equal", "value": _STRANGER}]
    naming["spec"]["nodeName"] = _STRANGER
    return {
        "a Pod that tolerates another tenant's taint": tolerating,
        "a Pod that names a node at its creation": naming,
    }


def judge_injection(pod: Mapping[str, Any]) -> Check:
    """Whether the canary came back with the tenant's requirement in its one term, and the toleration."""
    spec = pod.get("spec", {})
    terms = _dig(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution").get(
        "nodeSelectorTerms", []
    )
    requirement = {"key": TENANT_LABEL, "operator": "In", "values": [CANARY]}
    toleration = {"key": TAINT_KEY, "operator": "Equal", "value": CANARY, "effect": "NoSchedule"}
    lacking = [
        what
        for what, there in (
            (
                "node affinity",
                bool(terms) and all(requirement in t.get("matchExpressions", []) for t in terms),
            ),
            ("toleration", toleration in spec.get("tolerations", [])),
        )
        if not there
    ]
    if lacking:
        return Check(
            id="admission-injects",
            status="fail",
            message=f"a canary Pod in {CANARY} was admitted without the {' and the '.join(lacking)} that its "
            "binding injects: tenants' Pods would land anywhere",
            next_action=NEXT,
            object=f"namespace/{CANARY}",
        )
    return Check(
        id="admission-injects",
        status="pass",
        message="a canary Pod came back with node affinity and toleration",
        object=f"namespace/{CANARY}",
    )


def judge_thief(what: str, refusal: str, *, may_place: bool) -> Check:
    """Whether a thief was refused, and by a policy of ours.

    Args:
        what: what the thief tries.
        refusal: the server's words; empty where it was admitted.
        may_place: whether this identity is allowed to place Pods, so that nothing refuses it.
    """
    subject = f"namespace/{CANARY}"
    if "gpuops-reservation-" in refusal:
        return Check(id="admission-refuses", status="pass", message=f"{what} is refused", object=subject)
    if may_place:
        return Check(
            id="admission-refuses",
            status="not_applicable",
            message=f"{what}: this identity has the verb place on reservations, and is refused nothing",
            object=subject,
        )
    return Check(
        id="admission-refuses",
        status="unknown" if refusal else "fail",
        message=f"{what} was {f'refused, but by no policy of ours: {refusal}' if refusal else 'admitted'}: "
        "nothing keeps tenants off each other's nodes",
        next_action=NEXT,
        object=subject,
    )


def judge_failure(refusal: str) -> Check:
    """The canary itself was refused."""
    return Check(
        id="admission-injects",
        status="fail",
        message=f"an ordinary canary Pod in namespace {CANARY} was refused: {refusal}",
        next_action=f"{NEXT}; right after a start of the API server, wait half a minute",
        object=f"namespace/{CANARY}",
    )


def _requirements(term: Mapping[str, Any]) -> list[Any]:
    return list(term.get("matchExpressions") or [])


def _dig(value: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    for key in keys:
        value = value.get(key) or {}
    return value
