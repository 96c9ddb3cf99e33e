# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a creation gate is closed, in the fleet's file and in every copy of it that exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .checks import Check
from .cluster_config import setting, unquoted
from .cluster_objects import ConfigMap, GateCopies
from .errors import ObservationError
from .fleet_files import FleetFile
from .gate_use import GATE_KEYS, Gate

CopyState = Literal["open", "closed", "absent", "unknown"]

CLOSED: Final = "false"
OPEN: Final = "true"


@dataclass(frozen=True)
class GateState:
    """One gate in every place where it stands.

    ``closed`` is the literal ``false`` alone: a missing, empty or other value is ``open``. ``absent`` is
    a HelmRelease or Deployment that does not exist; ``unknown`` is what could not be read, and a
    Deployment whose Pods do not all run what it says.

    Attributes:
        gate: ``vm`` or ``shared``.
        file: the fleet's cluster-config.env.
        configmap: ConfigMap flux-system/cluster-config.
        helmrelease: HelmRelease kube-dc/kube-dc.
        deployment: Deployment kube-dc/kube-dc-backend, rolled out.
        said: the text that stands in each place that was read; None where the key is missing.
    """

    gate: Gate
    file: CopyState
    configmap: CopyState
    helmrelease: CopyState
    deployment: CopyState
    said: Mapping[str, str | None]

    @property
    def closed(self) -> bool:
        """Whether the file, the ConfigMap and every other copy that exists say ``false``."""
        return (
            self.file == "closed"
            and self.configmap == "closed"
            and self.helmrelease in ("closed", "absent")
            and self.deployment in ("closed", "absent")
        )

    @property
    def opened(self) -> bool:
        """Whether every copy that exists says the literal ``true``."""
        existing = [state for state in self.copies().values() if state != "absent"]
        return all(state == "open" for state in existing) and all(text == OPEN for text in self.said.values())

    @property
    def agree(self) -> bool:
        """Whether all copies that exist say the same, and all of them could be read."""
        existing = {state for state in self.copies().values() if state != "absent"}
        return len(existing) == 1 and "unknown" not in existing and len(set(self.said.values())) == 1

    @property
    def open_before(self) -> bool:
        """Whether the fleet's file says the literal ``true``: a missing key is not put "back" to it."""
        return self.said.get("file") == OPEN

    def copies(self) -> dict[str, CopyState]:
        """The state in each place, as a module returns it."""
        return {
            "file": self.file,
            "configmap": self.configmap,
            "helmrelease": self.helmrelease,
            "deployment": self.deployment,
        }

    def check(self) -> Check:
        """The check that a run asks for which needs the gate closed."""
        key = GATE_KEYS[self.gate]
        if self.closed:
            return Check(
                id="creation-gate", status="pass", message=f"{key} is false in every copy", object=key
            )
        faults = [
            f"{place} {self._told(place, state)}"
            for place, state in self.copies().items()
            if state not in ("closed", "absent")
        ]
        unknown = any(state == "unknown" for state in self.copies().values())
        surely_open = "open" in self.copies().values()
        return Check(
            id="creation-gate",
            status="unknown" if unknown and not surely_open else "fail",
            message=f"{key} is not closed: {'; '.join(faults)}",
            next_action=f"close it with playbooks/creation_gate.yml, or set {key}=false in the fleet, "
            "and wait until every copy says false",
            object=key,
        )

    def _told(self, place: str, state: CopyState) -> str:
        if state == "unknown":
            return "could not be read" if place != "deployment" else "is not rolled out"
        text = self.said.get(place)
        return "lacks the key" if text is None else f"says {text[:40]!r}"


def gate_state(
    gate: Gate,
    file: FleetFile | None,
    cluster_config: ConfigMap | None,
    copies: GateCopies,
) -> GateState:
    """The state of one gate from what was observed.

    Args:
        gate: ``vm`` or ``shared``.
        file: the cluster's cluster-config.env; None where it does not exist.
        cluster_config: ConfigMap flux-system/cluster-config; None where it does not exist.
        copies: what stands in HelmRelease and Deployment.
    """
    key = GATE_KEYS[gate]
    said: dict[str, str | None] = {}
    in_file: CopyState = "unknown"
    if file is not None:
        try:
            said["file"] = setting(file, key)
            in_file = _state(said["file"])
        except ObservationError:
            in_file = "unknown"
    in_configmap: CopyState = "unknown"
    if cluster_config is not None:
        said["configmap"] = _without_quotes(cluster_config.data.get(key))
        in_configmap = _state(said["configmap"])
    in_helmrelease = _copy("helmrelease", copies.helmrelease, key, said)
    in_deployment = _copy("deployment", copies.deployment, key, said)
    if in_deployment == "closed" and copies.deployment_rolled_out is not True:
        in_deployment = "unknown"
    return GateState(gate, in_file, in_configmap, in_helmrelease, in_deployment, said)


def _copy(place: str, values: Mapping[str, str] | None, key: str, said: dict[str, str | None]) -> CopyState:
    if values is None:
        return "absent"
    said[place] = _without_quotes(values.get(key))
    return _state(said[place])


def _without_quotes(value: str | None) -> str | None:
    return None if value is None else unquoted(value)


def _state(text: str | None) -> CopyState:
    return "closed" if text == CLOSED else "open"
