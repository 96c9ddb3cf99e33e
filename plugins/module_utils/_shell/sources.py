# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""From a module's options to its adapters: fleet repository, API server, and what is read of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .._adapters.connection import ConnectionOptions, start_importing
from .._adapters.fleet import FleetRepository
from .._adapters.kube import KubeClient
from .._adapters.observe_snapshot import Sources
from .._core.errors import InputError
from .._core.names import LEDGER_ROOT, lock_branch, require_cluster


@dataclass(frozen=True)
class Reach:
    """How one invocation reaches the world; nothing is contacted before it is used.

    Attributes:
        params: the module's options.
    """

    params: Mapping[str, Any]

    @cached_property
    def cluster(self) -> str:
        """The cluster's name.

        Raises:
            InputError: it was not given, or is no cluster's name.
        """
        return require_cluster(required(self.params, "cluster", "GPUOPS_CLUSTER"))

    @cached_property
    def fleet(self) -> FleetRepository:
        """The fleet repository."""
        return FleetRepository(
            required(self.params, "fleet_repo", "GPUOPS_FLEET_REPO"), self.params["fleet_branch"]
        )

    @property
    def lock_branch(self) -> str:
        """The branch of the cluster's lock document."""
        return lock_branch(self.cluster)

    @cached_property
    def client(self) -> KubeClient:
        """The API server.

        Raises:
            InputError: no connection was named.
        """
        return KubeClient.connect(connection_options(self.params))

    def sources(self) -> Sources:
        """Where a whole observation comes from; names what is missing before anything is contacted."""
        cluster, fleet = self.cluster, self.fleet
        start_importing()
        return Sources(
            connect=lambda: self.client,
            fleet=fleet,
            folders=(LEDGER_ROOT, f"clusters/{cluster}"),
            lock_branch=lock_branch(cluster),
            alerts=self.params.get("alerts_url") or "",
        )


def connection_options(params: Mapping[str, Any]) -> ConnectionOptions:
    """The connection that the options name."""
    return ConnectionOptions(
        kubeconfig=params["kubeconfig"],
        context=params["context"],
        host=params["host"],
        api_key=params["api_key"],
        ca_cert=params["ca_cert"],
        validate_certs=params["validate_certs"],
    )


def required(params: Mapping[str, Any], option: str, variable: str) -> str:
    """An option's text.

    Raises:
        InputError: ``option-missing``: neither option nor environment variable is set.
    """
    value = params.get(option)
    if not value:
        raise InputError(
            "option-missing",
            f"{option} is not set",
            next_action=f"set {option}, or export {variable}",
            details={"option": option},
        )
    return str(value)
