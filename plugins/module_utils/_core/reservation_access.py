# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The permissions that a reconcile needs, each named when it is missing.

Runbook: Reservations and ReservationBindings, "Operator unable to label nodes after a tenant change".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .checks import Check
from .reservation_objects import CANARY

_GROUP: Final = "scheduling.coreweave.cloud"


@dataclass(frozen=True)
class Permission:
    """One thing that RBAC has to allow, in one namespace where it names one."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""

    @property
    def text(self) -> str:
        """The permission as an administrator looks for it: ``patch nodes``."""
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        group = f".{self.group}" if self.group else ""
        return f"{self.verb} {what}{group}" + (f" in namespace {self.namespace}" if self.namespace else "")

    @property
    def trial(self) -> str:
        """The command that shows it."""
        what = f"{self.resource}{f'.{self.group}' if self.group else ''}"
        sub = f" --subresource={self.subresource}" if self.subresource else ""
        where = f" -n {self.namespace}" if self.namespace else " -A"
        return f"kubectl auth can-i {self.verb} {what}{sub}{where}"


READS: Final = (
    Permission("list", "reservations", _GROUP),
    Permission("list", "reservationbindings", _GROUP),
    Permission("list", "nodes"),
    Permission("list", "pods"),
    Permission("list", "namespaces"),
    Permission("list", "daemonsets", "apps"),
    Permission("create", "pods", namespace=CANARY),
)
"""What check mode needs as well."""

WRITES: Final = (
    Permission("get", "nodes"),  # read again after a conflict, as Reservations are
    Permission("patch", "nodes"),
    Permission("get", "reservations", _GROUP),
    Permission("patch", "reservations", _GROUP),
    Permission("patch", "reservations", _GROUP, "status"),
    Permission("patch", "reservationbindings", _GROUP, "status"),
    Permission("create", "pods", subresource="eviction"),
    Permission("create", "events", "events.k8s.io"),
)
CREATES: Final = (Permission("create", "reservations", _GROUP),)
DELETES: Final = (Permission("delete", "reservations", _GROUP),)


def judge_permission(permission: Permission, *, allowed: bool, needed: bool = True) -> Check:
    """The check of one permission; one that only a real run needs is told, and stops no check mode."""
    if allowed:
        return Check(id="permission", status="pass", message=f"may {permission.text}", object=permission.text)
    return Check(
        id="permission",
        status="fail" if needed else "not_applicable",
        message=f"this identity may not {permission.text}"
        + ("" if needed else "; check mode does not need it, a real run does"),
        next_action="run playbooks/install.yml as an administrator, or bind a role that allows: "
        f"{permission.text}; see: {permission.trial}",
        object=permission.text,
    )
