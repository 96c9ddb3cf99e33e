# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_smoke_info: wait until the smoke VM is at a stage of its cycle, and judge it."""

from __future__ import annotations

from .._core.amount import QuantityError, device_count
from .._core.checks import Check, passed, stopping
from .._core.smoke import SmokeWorld, judge_free, judge_gone, judge_running
from .holders import holders_in, resource_of
from .observation import Observation, observe_parts
from .outcome import Outcome
from .run import Invocation
from .sources import Reach
from .waiting import wait_until

PARTS = (
    "pods",
    "vms",
    "vmis",
    "kubevirts",
    "billing_plans",
    "gpu_profiles",
    "organizations",
    "projects",
    "resource_quotas",
)


def judge_stage(invocation: Invocation) -> Outcome:
    """The module's work."""
    params = invocation.params
    reach = Reach(params)
    if params["stage"] == "before":
        return _answer(params["name"], _before(invocation, observe_parts(reach, PARTS)), "")
    waited = wait_until(
        f"smoke VM {params['name']} to be {params['stage']}",
        lambda: _world(invocation, observe_parts(reach, PARTS)),
        lambda world: _still_missing(_judge(invocation, world)),
        timeout=params["wait_timeout"],
        interval=params["poll_interval"],
    )
    world = waited.seen
    uid = world.vmi.metadata.uid if world.vmi else ""
    return _answer(params["name"], _judge(invocation, world), uid)


def _judge(invocation: Invocation, world: SmokeWorld) -> tuple[Check, ...]:
    stage = invocation.params["stage"]
    if stage == "running":
        return judge_running(world, invocation.params["previous_uid"])
    return judge_free(world) if stage == "stopped" else judge_gone(world)


def _still_missing(checks: tuple[Check, ...]) -> str:
    """What a wait goes on for; a check that failed cannot come true by waiting."""
    if any(check.status == "fail" for check in checks):
        return ""
    return "; ".join(check.message for check in checks if check.status == "unknown")


def _world(invocation: Invocation, seen: Observation) -> SmokeWorld:
    name, namespace = invocation.params["name"], invocation.params["namespace"]
    observed = seen.snapshot.observed
    vm = next(
        (vm for vm in observed.vms if (vm.metadata.namespace, vm.metadata.name) == (namespace, name)), None
    )
    vmi = next(
        (vmi for vmi in observed.vmis if (vmi.metadata.namespace, vmi.metadata.name) == (namespace, name)),
        None,
    )
    launchers = tuple(
        pod
        for pod in observed.pods
        if pod.metadata.namespace == namespace
        and (owner := pod.metadata.controller) is not None
        and (owner.kind, owner.name) == ("VirtualMachineInstance", name)
    )
    return SmokeWorld(name, namespace, resource_of(seen, invocation.params["profile_id"]), vm, vmi, launchers)


def _before(invocation: Invocation, seen: Observation) -> tuple[Check, ...]:
    profile, namespace = invocation.params["profile_id"], invocation.params["namespace"]
    name = invocation.params["name"]
    _, claimants = holders_in(seen, profile)
    waiting = [claimant for claimant in claimants if claimant.name != f"{namespace}/VirtualMachine/{name}"]
    named = ", ".join(claimant.name for claimant in waiting)
    nobody = Check(
        id="pending-claimant",
        status="fail" if waiting else "pass",
        message=f"waiting for a device of {profile}: {named}"
        if waiting
        else f"nobody waits for a device of {profile}",
        next_action=f"have {named} stopped or served first: the smoke VM would take its device"
        if waiting
        else "",
        object=f"pool/{profile}",
    )
    return (nobody, _free_quota(seen, namespace, resource_of(seen, profile)))


def _free_quota(seen: Observation, namespace: str, resource: str) -> Check:
    """Every quota of the namespace that names the resource has room for one device."""
    key = f"requests.{resource}"
    for quota in seen.snapshot.observed.resource_quotas:
        if quota.metadata.namespace != namespace or key not in quota.spec.hard:
            continue
        where = f"resourcequota/{namespace}/{quota.metadata.name}"
        try:
            hard = device_count(quota.spec.hard[key])
            used = device_count((quota.status.used or {}).get(key))
        except QuantityError as error:
            return _quota(where, "unknown", f"{where} cannot be read: {error}")
        if used >= hard:
            return _quota(where, "fail", f"{where} has no room for a smoke VM: {used} of {hard} devices used")
    return _quota(
        f"namespace/{namespace}", "pass", f"quota in {namespace} has room for one device of {resource}"
    )


def _quota(where: str, status: str, message: str) -> Check:
    action = (
        ""
        if status == "pass"
        else "ask the owner for one free device, or name another project (smoke_project)"
    )
    return Check.model_validate(
        {"id": "smoke-quota", "status": status, "message": message, "next_action": action, "object": where}
    )


def _answer(name: str, checks: tuple[Check, ...], uid: str) -> Outcome:
    stops = stopping(checks)
    said = "; ".join(check.message for check in stops or checks)
    steps = "; ".join(dict.fromkeys(check.next_action for check in stops if check.next_action))
    return Outcome(
        changed=False,
        msg=f"{name}: {said}" + (f" Next: {steps}" if steps else ""),
        checks=checks,
        result={"passed": passed(checks), "uid": uid},
    )
