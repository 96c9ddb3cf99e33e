# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all controllers of the played product share: the API under each part's identity, and what was seen."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from . import faults
from .api import Api, ApiError
from .store import Store
from .worker import Lag

LOG = logging.getLogger("lab.platform")
Item = TypeVar("Item")

# Objects with this annotation are a test's or a benchmark's own: no controller touches them.
UNMANAGED = "lab.gpuops.reservations/unmanaged"


@dataclass(frozen=True)
class Identities:
    """The API server, as seen by each part of the product."""

    admin: Api
    manager: Api
    backend: Api
    hnc: Api
    flux: Api
    helm: Api
    nfd: Api
    kubevirt: Api

    @classmethod
    def of(cls, state_dir: Path) -> Identities:
        """The two that policies treat apart have kubeconfigs; the others are impersonated."""
        admin = state_dir / "kubeconfig-admin"

        def account(namespace: str, name: str) -> Api:
            own = state_dir / f"kubeconfig-{name}"
            user = f"system:serviceaccount:{namespace}:{name}"
            return Api(own) if own.exists() else Api(admin, user)

        return cls(
            admin=Api(admin),
            manager=account("kube-dc", "kube-dc-manager"),
            backend=account("kube-dc", "kube-dc-backend"),
            hnc=account("hnc-system", "hnc-manager"),
            flux=account("flux-system", "kustomize-controller"),
            helm=account("flux-system", "helm-controller"),
            nfd=account("node-feature-discovery", "nfd-master"),
            kubevirt=account("kubevirt", "kubevirt-controller"),
        )


@dataclass
class Product:
    """What a controller is given."""

    api: Identities
    store: Store
    lag: Lag = field(default_factory=Lag)

    def faults(self) -> faults.Faults:
        """What is set at this moment."""
        return faults.current(self.store)


def utc_now() -> datetime.datetime:
    """The time, with its zone."""
    return datetime.datetime.now(datetime.UTC)


def stamp(moment: datetime.datetime) -> str:
    """A time as Kubernetes writes it, to the second."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def each(name: str, items: Iterable[Item], act: Callable[[Item], None]) -> None:
    """Act on every item; one that the API server refuses does not keep the others waiting."""
    for item in items:
        try:
            act(item)
        except ApiError as err:
            if err.status not in {404, 409}:
                LOG.warning("%s: %s", name, err)
