# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges the smoke cycle: create, attach, guest verification, stop, start, release.

Each function answers checks about what stands in the cluster at one stage of the cycle. A check that
is ``fail`` cannot come true by waiting; ``unknown`` means "not yet": a caller polls until none is left
or its time is up.

Runbook heading: Assignment procedure, 4. Create the hold and entitlement, step 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .amount import QuantityError, device_count
from .checks import Check, Status
from .cluster_objects import Condition, Pod, VirtualMachine, VirtualMachineInstance

NOT_MIGRATABLE: Final = "HostDeviceNotLiveMigratable"
STAGES: Final = ("before", "running", "stopped", "restarted", "gone")
"""The stages of a whole cycle, in order; each has a result of its own."""


@dataclass(frozen=True)
class SmokeWorld:
    """What stands in the smoke VM's namespace in the VM's name.

    Attributes:
        name: the VM's name.
        namespace: its namespace.
        resource: the device resource that the profile names.
        vm: the VirtualMachine, None where there is none.
        vmi: the VirtualMachineInstance, None where there is none.
        launchers: the Pods that a VirtualMachineInstance of that name controls, in any phase.
    """

    name: str
    namespace: str
    resource: str
    vm: VirtualMachine | None
    vmi: VirtualMachineInstance | None
    launchers: tuple[Pod, ...]

    @property
    def object(self) -> str:
        """How messages name the VM."""
        return f"virtualmachine/{self.namespace}/{self.name}"


def _check(world: SmokeWorld, name: str, status: Status, message: str, next_action: str = "") -> Check:
    return Check(
        id=f"smoke-{name}", status=status, message=message, next_action=next_action, object=world.object
    )


def _condition(vmi: VirtualMachineInstance, name: str) -> Condition | None:
    return next((condition for condition in vmi.conditions if condition.type == name), None)


def _device_text(pod: Pod, resource: str) -> str:
    """The Pod's devices as text: ``nvidia.com/X: 1``, every nvidia resource named."""
    asked: dict[str, int] = {}
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        for key, value in {**container.resources.requests, **container.resources.limits}.items():
            if key == resource or key.startswith("nvidia.com/"):
                try:
                    asked[key] = asked.get(key, 0) + device_count(value)
                except QuantityError:
                    asked[key] = -1
    return ", ".join(f"{key}: {'unreadable' if count < 0 else count}" for key, count in sorted(asked.items()))


def _launcher_checks(world: SmokeWorld, vmi: VirtualMachineInstance) -> tuple[Check, ...]:
    live = [pod for pod in world.launchers if pod.status.phase not in ("Succeeded", "Failed")]
    mine = [
        pod for pod in live if pod.metadata.controller and pod.metadata.controller.uid == vmi.metadata.uid
    ]
    if not mine:
        return (_check(world, "launcher", "unknown", "no launcher Pod of this VM instance yet"),)
    if len(mine) > 1:
        names = ", ".join(sorted(pod.metadata.name for pod in mine))
        return (_check(world, "launcher", "unknown", f"more than one launcher Pod: {names}"),)
    asked = _device_text(mine[0], world.resource)
    exact = asked == f"{world.resource}: 1"
    return (
        _check(
            world,
            "launcher",
            "pass" if exact else "fail",
            f"launcher Pod {mine[0].metadata.name} asks for {asked or 'no device'}",
            ""
            if exact
            else f"it has to ask for exactly {world.resource}: 1; see which policy changed the VM",
        ),
    )


def _migration_check(world: SmokeWorld, vmi: VirtualMachineInstance) -> Check:
    condition = _condition(vmi, "LiveMigratable")
    if condition is None:
        return _check(world, "not-migratable", "unknown", "condition LiveMigratable is not reported yet")
    said = f"LiveMigratable is {condition.status} ({condition.reason or 'no reason'})"
    if condition.status == "False" and condition.reason == NOT_MIGRATABLE:
        return _check(world, "not-migratable", "pass", said)
    if condition.status == "True":
        return _check(
            world,
            "not-migratable",
            "fail",
            said,
            "a passthrough device must pin the guest; see the VM's devices",
        )
    return _check(world, "not-migratable", "unknown", f"{said}, expected False ({NOT_MIGRATABLE})")


def _guest_check(world: SmokeWorld, vmi: VirtualMachineInstance) -> Check:
    ready = _condition(vmi, "Ready")
    said = f"condition Ready is {ready.status if ready else 'not reported'}"
    sees = ready is not None and ready.status == "True"
    return _check(
        world,
        "guest",
        "pass" if sees else "unknown",
        f"the guest sees its device ({said})" if sees else f"the guest has not reported its device ({said})",
        "" if sees else "look at the guest's console for the count of PCI devices",
    )


def judge_running(world: SmokeWorld, previous_uid: str = "") -> tuple[Check, ...]:
    """The VM runs, owns exactly one device, and its guest has seen it.

    The readiness probe passes only after the guest's start script has counted the vendor's PCI devices,
    so Ready is the guest's own word and no agent or identity is needed.

    Args:
        world: what stands in the cluster.
        previous_uid: UID of the instance before the stop; after a start it has to be another.
    """
    vmi = world.vmi
    if vmi is None or vmi.metadata.deletion_timestamp:
        return (_check(world, "instance", "unknown", "the VM has no running instance yet"),)
    if vmi.phase in ("Failed", "Succeeded"):
        return (
            _check(
                world,
                "instance",
                "fail",
                f"the instance ended: {vmi.phase}",
                "read the launcher Pod's events",
            ),
        )
    fresh = vmi.metadata.uid != previous_uid
    checks = [
        _check(
            world,
            "instance",
            "pass" if fresh else "unknown",
            f"instance is {vmi.phase or 'not scheduled'}"
            + ("" if fresh else ", still the one from before the stop"),
        ),
        *_launcher_checks(world, vmi),
        _migration_check(world, vmi),
    ]
    return (*checks, _guest_check(world, vmi))


def judge_free(world: SmokeWorld) -> tuple[Check, ...]:
    """After a stop: no instance and no launcher Pod is left, so the device is free."""
    left = [
        f"pod/{pod.metadata.name}"
        for pod in world.launchers
        if pod.status.phase not in ("Succeeded", "Failed")
    ]
    if world.vmi is not None:
        left.insert(0, f"virtualmachineinstance/{world.vmi.metadata.name}")
    if left:
        return (
            _check(
                world,
                "device-free",
                "unknown",
                f"still there after the stop: {', '.join(left)}",
                "see why the launcher Pod does not end; the device is in use until it is gone",
            ),
        )
    return (
        _check(world, "device-free", "pass", "no instance and no launcher Pod is left; the device is free"),
    )


def judge_gone(world: SmokeWorld) -> tuple[Check, ...]:
    """At the end: nothing of the smoke VM is left."""
    free = judge_free(world)
    if world.vm is None:
        return (*free, _check(world, "vm-gone", "pass", "the smoke VM is deleted"))
    return (
        *free,
        _check(
            world,
            "vm-gone",
            "unknown",
            "the smoke VM is still there",
            f"delete {world.object} when it is stuck",
        ),
    )


def cycle_problem(results: Mapping[str, Any]) -> str:
    """Why the results of a cycle's stages are no passed cycle; empty where they are.

    Args:
        results: by stage, the result with ``passed``, ``checks`` and ``uid``.
    """
    for stage in STAGES:
        result = results.get(stage)
        if not isinstance(result, Mapping):
            return f"there is no result of stage {stage}"
        checks = result.get("checks")
        if not isinstance(checks, list) or not checks:
            return f"stage {stage} has no checks"
        if result.get("passed") is not True or any(check.get("status") != "pass" for check in checks):
            return f"stage {stage} did not pass"
    first, second = results["running"].get("uid"), results["restarted"].get("uid")
    if not first or not second or first == second:
        return "the instance after the start is not another one than before the stop"
    return ""
