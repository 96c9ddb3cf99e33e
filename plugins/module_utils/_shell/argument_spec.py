# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Argument specifications that merge with their constraints, and the options that modules share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ansible.module_utils.basic import env_fallback

Options = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class ArgumentSpec:
    """Options of a module with the constraints between them, as AnsibleModule takes them."""

    options: Options = field(default_factory=dict)
    mutually_exclusive: tuple[tuple[str, ...], ...] = ()
    required_together: tuple[tuple[str, ...], ...] = ()
    required_one_of: tuple[tuple[str, ...], ...] = ()
    required_if: tuple[tuple[Any, ...], ...] = ()

    def merge(self, *others: ArgumentSpec) -> ArgumentSpec:
        """All options and constraints of this one and the others; a repeated option is an error."""
        merged = self
        for other in others:
            twice = merged.options.keys() & other.options.keys()
            if twice:
                raise ValueError(f"options given twice: {sorted(twice)}")
            merged = ArgumentSpec(
                options={**merged.options, **other.options},
                mutually_exclusive=merged.mutually_exclusive + other.mutually_exclusive,
                required_together=merged.required_together + other.required_together,
                required_one_of=merged.required_one_of + other.required_one_of,
                required_if=merged.required_if + other.required_if,
            )
        return merged

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for AnsibleModule."""
        return {
            "argument_spec": self.options,
            "mutually_exclusive": self.mutually_exclusive,
            "required_together": self.required_together,
            "required_one_of": self.required_one_of,
            "required_if": self.required_if,
        }


def environment(*names: str) -> tuple[Any, list[str]]:
    """The fallback of an option: the first of these environment variables that is set."""
    return (env_fallback, list(names))


CONNECTION = ArgumentSpec(
    options={
        "kubeconfig": {"type": "path", "fallback": environment("K8S_AUTH_KUBECONFIG", "KUBECONFIG")},
        "context": {"type": "str", "fallback": environment("K8S_AUTH_CONTEXT")},
        "host": {"type": "str", "fallback": environment("K8S_AUTH_HOST")},
        "api_key": {"type": "str", "no_log": True, "fallback": environment("K8S_AUTH_API_KEY")},
        "ca_cert": {
            "type": "path",
            "aliases": ["ssl_ca_cert"],
            "fallback": environment("K8S_AUTH_SSL_CA_CERT"),
        },
        "validate_certs": {
            "type": "bool",
            "aliases": ["verify_ssl"],
            "fallback": environment("K8S_AUTH_VERIFY_SSL"),
        },
        "cluster": {"type": "str", "fallback": environment("GPUOPS_CLUSTER")},
        "alerts_url": {"type": "str", "fallback": environment("GPUOPS_ALERTS_URL")},
    },
)

FLEET = ArgumentSpec(
    options={
        "fleet_repo": {"type": "str", "fallback": environment("GPUOPS_FLEET_REPO")},
        "fleet_branch": {"type": "str", "default": "main"},
    },
)

OBSERVER = CONNECTION.merge(FLEET)
"""What every module that reads the world takes."""

SNAPSHOT = ArgumentSpec(options={"snapshot": {"type": "path"}})
"""Read-only modules: a saved snapshot in place of fleet and connection; where set, nothing is contacted."""

PROFILE = ArgumentSpec(options={"profile_id": {"type": "str", "required": True}})

RUN = ArgumentSpec(
    options={
        "ticket": {"type": "str", "required": True},
        "run_id": {"type": "str", "required": True},
    },
)
"""Writing modules: whose lock, and which run of it (the fencing token)."""

WAIT = ArgumentSpec(
    options={
        "wait_timeout": {"type": "int", "default": 600},
        "poll_interval": {"type": "float", "default": 5.0},
    },
)
"""Seconds to wait for the platform to converge, and between two looks."""

HEALTH = ArgumentSpec(options={"health_interval": {"type": "float", "default": 10.0}})
"""Seconds between two reads of node health, before a finding of health stops anything."""

ORDER = ArgumentSpec(
    options={
        "order": {
            "type": "dict",
            "options": {
                "organization": {"type": "str"},
                "project": {"type": "str"},
                "profileId": {"type": "str", "aliases": ["profile_id"]},
                "devices": {"type": "str"},
                "addonId": {"type": "str", "aliases": ["addon_id"]},
                "requestedAt": {"type": "str", "aliases": ["requested_at"]},
                "startsAt": {"type": "str", "aliases": ["starts_at"]},
                "endsAt": {"type": "str", "aliases": ["ends_at"]},
                "billingReference": {"type": "str", "aliases": ["billing_reference"]},
                "supportOwner": {"type": "str", "aliases": ["support_owner"]},
                "maintenanceTerms": {"type": "str", "aliases": ["maintenance_terms"]},
                "approvedByProduct": {"type": "str", "aliases": ["approved_by_product"]},
                "approvedBySre": {"type": "str", "aliases": ["approved_by_sre"]},
            },
        },
    },
)
"""Survey variables of an order: all of it, or what repeats the order file. Values are judged as text."""
