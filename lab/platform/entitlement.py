# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an organization may use at once, from its annotations and the catalogue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from . import quantities
from .catalogue import Catalogue

PREFIX = "billing.kube-dc.com/"
PLAN = PREFIX + "plan-id"
SUBSCRIPTION = PREFIX + "subscription"
ADDONS = PREFIX + "addons"
AUTO_MANAGED = PREFIX + "auto-managed"
MINIMAL = frozenset({"suspended", "canceled"})


class UnreadableOrder(Exception):
    """The organization's annotations do not say what it has bought."""


def hard_quota(annotations: Mapping[str, str], catalogue: Catalogue) -> dict[str, str] | None:
    """The organization's hard quota, key by key; None when no plan was ever bought.

    GPU keys of every profile that is for sale are always there, `"0"` when there is no entitlement: a
    missing key would be no limit. Raises UnreadableOrder.
    """
    plan_id = annotations.get(PLAN)
    if not plan_id:
        return None
    bought = _bought(annotations)
    if annotations.get(SUBSCRIPTION, "active") in MINIMAL:
        return _amounts(_flat(catalogue.suspended), [], catalogue)
    plan = catalogue.plans.get(plan_id)
    if plan is None:
        raise UnreadableOrder(f"plan {plan_id} is not in the catalogue")
    addons = [
        (entry, quantity)
        for name, quantity in bought
        if (entry := catalogue.addons.get(name)) is not None and not entry.get("disabled", False)
    ]
    return _amounts(_flat(plan), addons, catalogue)


def _bought(annotations: Mapping[str, str]) -> list[tuple[str, int]]:
    text = annotations.get(ADDONS)
    if text is None:
        return []
    try:
        entries = json.loads(text)
        bought = [(entry["addonId"], entry["quantity"]) for entry in entries]
    except (ValueError, TypeError, KeyError) as err:
        raise UnreadableOrder(f"annotation {ADDONS}: {err!r}") from err
    for name, quantity in bought:
        if not isinstance(quantity, int) or isinstance(quantity, bool) or quantity < 0:
            raise UnreadableOrder(f"annotation {ADDONS}: quantity of {name} is {quantity!r}")
    return bought


def _flat(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan nests cpu, memory and storage under `requests`; the suspended plan does not."""
    return {**plan, **(plan.get("requests") or {})}


def _amounts(
    plan: Mapping[str, Any], addons: list[tuple[Mapping[str, Any], int]], catalogue: Catalogue
) -> dict[str, str]:
    def total(key: str) -> Decimal:
        own = quantities.parse(plan.get(key, "0"))
        return own + sum((quantities.parse(entry.get(key, "0")) * n for entry, n in addons), Decimal(0))

    burst = Decimal(str(plan.get("burstRatio", 1)))
    cpu, ram = total("cpu"), total("memory")
    hard = {
        "requests.cpu": quantities.count(cpu),
        "requests.memory": quantities.memory(ram),
        "limits.cpu": quantities.count(cpu * burst),
        "limits.memory": quantities.memory(ram * burst),
        "requests.storage": quantities.memory(total("storage")),
        "pods": str(plan.get("pods", 0)),
        "services.loadbalancers": str(plan.get("servicesLB", 0)),
    }
    for profile in catalogue.profiles.values():
        if not profile.billing_eligible:
            continue
        for dimension, key in profile.quota_keys().items():
            grants = [(plan, 1), *addons]
            granted = sum(_grant(entry, profile.id, dimension) * n for entry, n in grants)
            # Two Shared profiles may count in one resource.
            hard[key] = str(int(hard.get(key, "0")) + granted)
    return hard


def _grant(entry: Mapping[str, Any], profile_id: str, dimension: str) -> int:
    return int(((entry.get("gpu") or {}).get(profile_id) or {}).get(dimension, 0))
