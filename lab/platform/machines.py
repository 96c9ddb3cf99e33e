# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual machines as KubeVirt runs them: machine to instance, instance to launcher Pod, Pod to conditions.

Guests are played: a readiness probe succeeds when the guest has its device, as the smoke test's start
script would open its port; a guest that was asked for no device is ready once it runs.
"""

from __future__ import annotations

import logging
import secrets
import string
from typing import Any

from .api import INSTANCES, KUBEVIRTS, MACHINES, PODS, ApiError, JsonObject
from .faults import Faults
from .product import Product, each, stamp, utc_now
from .store import dig

LOG = logging.getLogger("lab.platform")
MACHINE_FINALIZER = "kubevirt.io/virtualMachineControllerFinalize"
INSTANCE_FINALIZER = "foregroundDeleteVirtualMachine"
STUCK_FINALIZER = "lab.gpuops.reservations/device-stuck"
WATCHED = (INSTANCES, KUBEVIRTS, MACHINES, PODS)
RETRY_SECONDS = 1.0


def reference(owner: JsonObject) -> JsonObject:
    """An owner reference to the controller of an object."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owned_by(item: JsonObject, owner: JsonObject) -> bool:
    """Whether an object's controller is this very owner."""
    return any(
        entry.get("controller") and entry["uid"] == owner["metadata"]["uid"]
        for entry in item["metadata"].get("ownerReferences", [])
    )


def devices_of(spec: JsonObject) -> dict[str, int]:
    """How many of which device an instance asks for."""
    asked: dict[str, int] = {}
    devices = dig(spec, "domain", "devices", default={})
    for entry in [*(devices.get("gpus") or []), *(devices.get("hostDevices") or [])]:
        asked[entry["deviceName"]] = asked.get(entry["deviceName"], 0) + 1
    return asked


def wants_to_run(machine: JsonObject, instance: JsonObject | None) -> bool:
    """Whether a machine is to have an instance now, by its run strategy and what was asked of it."""
    spec = machine["spec"]
    strategy = spec.get("runStrategy") or ("Always" if spec.get("running") else "Halted")
    if strategy == "Always":
        return True
    if strategy == "Halted":
        return False
    finished = dig(instance, "status", "phase") in {"Succeeded", "Failed"}
    if strategy == "RerunOnFailure":
        return bool(dig(instance, "status", "phase") != "Succeeded")
    for request in dig(machine, "status", "stateChangeRequests", default=[]):
        if request["action"] == "Start":
            return True
        if request["action"] == "Stop" and request.get("uid") == dig(instance, "metadata", "uid"):
            return False
    return instance is not None and not finished


def launcher(instance: JsonObject, machine_name: str, suffix: str) -> JsonObject:
    """The Pod in which an instance runs: it asks for exactly the instance's devices."""
    meta, spec = instance["metadata"], instance["spec"]
    cores = dig(spec, "domain", "cpu", "cores", default=1) * dig(spec, "domain", "cpu", "sockets", default=1)
    memory = (
        dig(spec, "domain", "memory", "guest")
        or dig(spec, "domain", "resources", "requests", "memory")
        or "256Mi"
    )
    asked = {name: str(number) for name, number in devices_of(spec).items()}
    amounts = {
        "cpu": str(dig(spec, "domain", "resources", "requests", "cpu", default=cores)),
        "memory": memory,
    }
    pod: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"virt-launcher-{meta['name']}-{suffix}",
            "namespace": meta["namespace"],
            "labels": {
                **(meta.get("labels") or {}),
                "kubevirt.io": "virt-launcher",
                "kubevirt.io/created-by": meta["uid"],
                "vm.kubevirt.io/name": machine_name,
            },
            "annotations": {"kubevirt.io/domain": meta["name"]},
            "ownerReferences": [reference(instance)],
        },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": spec.get("terminationGracePeriodSeconds", 30),
            "containers": [
                {
                    "name": "compute",
                    "image": "lab.invalid/virt-launcher:1",
                    "resources": {"requests": {**amounts, **asked}, "limits": {**amounts, **asked}},
                }
            ],
        },
    }
    for key in ("nodeSelector", "affinity", "tolerations", "schedulerName", "priorityClassName"):
        if spec.get(key):
            pod["spec"][key] = spec[key]
    return pod


class Machines:
    """The controllers of virtual machines and their instances."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._failures: dict[str, str] = {}
        self._ready_since: dict[str, str] = {}

    def deployed(self) -> None:
        """An installation without a phase is deployed; one with another phase is a test's."""
        for item in self._product.store.list(KUBEVIRTS):
            if not dig(item, "status", "phase"):
                meta = item["metadata"]
                status = {"status": {"phase": "Deployed"}}
                self._product.api.kubevirt.patch(KUBEVIRTS, meta["name"], status, meta["namespace"], "status")

    # ---- machines

    def machines(self) -> None:
        """Machines to instances, and instances to the status of machines."""
        each("machines", self._product.store.list(MACHINES), self._machine)

    def _machine(self, machine: JsonObject) -> None:
        meta = machine["metadata"]
        current = self._product.faults()
        if current.hits("freeze-vm", _name(machine)):
            return
        instance = self._product.store.get(INSTANCES, meta["name"], meta["namespace"])
        if instance is not None and not owned_by(instance, machine):
            instance = None
        if meta.get("deletionTimestamp"):
            self._delete_machine(machine, instance)
            return
        if MACHINE_FINALIZER not in meta.get("finalizers", []):
            finalizers = [*meta.get("finalizers", []), MACHINE_FINALIZER]
            patch = {"metadata": {"finalizers": finalizers, "resourceVersion": meta["resourceVersion"]}}
            written = self._product.api.kubevirt.patch(MACHINES, meta["name"], patch, meta["namespace"])
            self._product.store.wrote(MACHINES, written)
            machine = written
        wanted = wants_to_run(machine, instance)
        if wanted and instance is None:
            instance = self._start(machine, current)
        elif instance is not None and not instance["metadata"].get("deletionTimestamp"):
            finished = dig(instance, "status", "phase") in {"Succeeded", "Failed"}
            if (not wanted or finished) and self._product.lag.due(
                f"stop/{instance['metadata']['uid']}", "stop", current.seconds("delay-stop")
            ):
                self._product.api.kubevirt.delete(INSTANCES, meta["name"], meta["namespace"])
        self._machine_status(machine, instance, wanted=wanted)

    def _delete_machine(self, machine: JsonObject, instance: JsonObject | None) -> None:
        meta = machine["metadata"]
        if instance is not None:
            if not instance["metadata"].get("deletionTimestamp"):
                self._product.api.kubevirt.delete(INSTANCES, meta["name"], meta["namespace"])
            self._machine_status(machine, instance, wanted=False)
            return
        if MACHINE_FINALIZER in meta.get("finalizers", []):
            self._drop_finalizer(MACHINES, machine, MACHINE_FINALIZER)

    def _start(self, machine: JsonObject, current: Faults) -> JsonObject | None:
        meta = machine["metadata"]
        key = f"start/{meta['uid']}"
        failed = self._failures.get(meta["uid"])
        delay = RETRY_SECONDS if failed else current.seconds("delay-vmi")
        if not self._product.lag.due(key, failed or "start", delay):
            return None
        self._product.lag.forget(key)
        template = machine["spec"].get("template") or {}
        document: JsonObject = {
            "apiVersion": INSTANCES.api_version,
            "kind": INSTANCES.kind,
            "metadata": {
                "name": meta["name"],
                "namespace": meta["namespace"],
                "labels": dict(dig(template, "metadata", "labels", default={})),
                "annotations": dict(dig(template, "metadata", "annotations", default={})),
                "finalizers": [INSTANCE_FINALIZER],
                "ownerReferences": [reference(machine)],
            },
            "spec": template.get("spec") or {},
        }
        try:
            written = self._product.api.kubevirt.create(INSTANCES, document)
        except ApiError as err:
            if err.status != 409:
                self._failures[meta["uid"]] = err.message
                LOG.info("machine %s: no instance: %s", _name(machine), err.message)
            return None
        self._failures.pop(meta["uid"], None)
        self._product.store.wrote(INSTANCES, written)
        LOG.info("machine %s: instance made", _name(machine))
        return written

    def _machine_status(self, machine: JsonObject, instance: JsonObject | None, *, wanted: bool) -> None:
        meta = machine["metadata"]
        old = machine.get("status") or {}
        ready = _condition(instance, "Ready")
        is_ready = dig(ready, "status") == "True"
        conditions = [
            _settled(
                old,
                "Ready",
                "True" if is_ready else "False",
                ""
                if is_ready
                else dig(ready, "reason", default="VMINotExists" if instance is None else "GuestNotRunning"),
                "" if instance is not None else "VMI does not exist",
            )
        ]
        failure = self._failures.get(meta["uid"])
        if failure and instance is None and wanted:
            conditions.append(_settled(old, "Failure", "True", "FailedCreate", failure))
        unmovable = _condition(instance, "LiveMigratable")
        if unmovable:
            conditions.append(
                _settled(
                    old,
                    "LiveMigratable",
                    unmovable["status"],
                    unmovable.get("reason", ""),
                    unmovable.get("message", ""),
                )
            )
        requests = [
            request
            for request in old.get("stateChangeRequests", [])
            if not (request["action"] == "Start" and instance is not None)
            and not (request["action"] == "Stop" and request.get("uid") != dig(instance, "metadata", "uid"))
        ]
        status: JsonObject = {
            "created": instance is not None,
            "ready": is_ready,
            "printableStatus": printable(machine, instance, wanted=wanted),
            "conditions": conditions,
            "observedGeneration": meta.get("generation", 1),
            "desiredGeneration": meta.get("generation", 1),
        }
        if requests:
            status["stateChangeRequests"] = requests
        if status != old:
            document = {**machine, "status": status}
            written = self._product.api.kubevirt.replace(MACHINES, document, "status")
            self._product.store.wrote(MACHINES, written)

    # ---- instances

    def instances(self) -> None:
        """Instances to launcher Pods, and Pods to the status of instances."""
        pods: dict[str, list[JsonObject]] = {}
        for pod in self._product.store.list(PODS):
            created_by = dig(pod, "metadata", "labels", default={}).get("kubevirt.io/created-by")
            if created_by:
                pods.setdefault(created_by, []).append(pod)
        items = self._product.store.list(INSTANCES)
        each("instances", items, lambda item: self._instance(item, pods.get(item["metadata"]["uid"], [])))
        living = {item["metadata"]["uid"] for item in items}
        each("launchers", [pod for uid in pods.keys() - living for pod in pods[uid]], self._orphan)

    def _instance(self, instance: JsonObject, pods: list[JsonObject]) -> None:
        meta = instance["metadata"]
        current = self._product.faults()
        if current.hits("freeze-vm", _name(instance)):
            return
        mine = [pod for pod in pods if owned_by(pod, instance)]
        if meta.get("deletionTimestamp"):
            self._delete_instance(instance, mine, current)
            return
        if INSTANCE_FINALIZER not in meta.get("finalizers", []):
            finalizers = [*meta.get("finalizers", []), INSTANCE_FINALIZER]
            patch = {"metadata": {"finalizers": finalizers, "resourceVersion": meta["resourceVersion"]}}
            instance = self._product.api.kubevirt.patch(INSTANCES, meta["name"], patch, meta["namespace"])
            self._product.store.wrote(INSTANCES, instance)
        phase = dig(instance, "status", "phase")
        if not mine and phase in {None, "Pending"}:
            mine = self._launch(instance, current)
        self._instance_status(instance, mine[0] if mine else None, current)

    def _launch(self, instance: JsonObject, current: Faults) -> list[JsonObject]:
        uid = instance["metadata"]["uid"]
        key, failed = f"launch/{uid}", self._failures.get(uid)
        delay = RETRY_SECONDS if failed else current.seconds("delay-launcher")
        if not self._product.lag.due(key, failed or "launch", delay):
            return []
        self._product.lag.forget(key)
        suffix = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(5))
        owners = [entry["name"] for entry in instance["metadata"].get("ownerReferences", [])]
        name = owners[0] if owners else instance["metadata"]["name"]
        try:
            pod = self._product.api.kubevirt.create(PODS, launcher(instance, name, suffix))
        except ApiError as err:
            self._failures[uid] = err.message
            LOG.info("instance %s: no launcher: %s", _name(instance), err.message)
            return []
        self._failures.pop(uid, None)
        self._product.store.wrote(PODS, pod)
        return [pod]

    def _delete_instance(self, instance: JsonObject, pods: list[JsonObject], current: Faults) -> None:
        stuck = current.hits("device-stuck", _name(instance))
        for pod in pods:
            if not pod["metadata"].get("deletionTimestamp"):
                self._end_launcher(pod, stuck=stuck)
        left = [pod for pod in pods if STUCK_FINALIZER not in pod["metadata"].get("finalizers", [])]
        if (not left or (stuck and pods)) and INSTANCE_FINALIZER in instance["metadata"].get(
            "finalizers", []
        ):
            if stuck and not all(pod["metadata"].get("deletionTimestamp") for pod in pods):
                return
            self._drop_finalizer(INSTANCES, instance, INSTANCE_FINALIZER)

    def _end_launcher(self, pod: JsonObject, *, stuck: bool) -> None:
        meta = pod["metadata"]
        if stuck and STUCK_FINALIZER not in meta.get("finalizers", []):
            patch = {"metadata": {"finalizers": [*meta.get("finalizers", []), STUCK_FINALIZER]}}
            pod = self._product.api.kubevirt.patch(PODS, meta["name"], patch, meta["namespace"])
            self._product.store.wrote(PODS, pod)
        self._product.api.kubevirt.delete(PODS, meta["name"], meta["namespace"])

    def _orphan(self, pod: JsonObject) -> None:
        """A launcher whose instance is gone: it stays only while its device is stuck."""
        meta = pod["metadata"]
        domain = (
            f"{meta['namespace']}/{dig(pod, 'metadata', 'annotations', default={}).get('kubevirt.io/domain')}"
        )
        if STUCK_FINALIZER in meta.get("finalizers", []) and not self._product.faults().hits(
            "device-stuck", domain
        ):
            self._drop_finalizer(PODS, pod, STUCK_FINALIZER)

    def _instance_status(self, instance: JsonObject, pod: JsonObject | None, current: Faults) -> None:
        old = instance.get("status") or {}
        uid = instance["metadata"]["uid"]
        phase = _phase(pod, old.get("phase"))
        conditions = []
        ready, reason = self._readiness(instance, pod, phase, current)
        conditions.append(_settled(old, "Ready", "True" if ready else "False", "" if ready else reason, ""))
        if devices_of(instance["spec"]):
            message = "VMI uses a PCI host devices"
            conditions.append(
                _settled(old, "LiveMigratable", "False", "HostDeviceNotLiveMigratable", message)
            )
        else:
            conditions.append(_settled(old, "LiveMigratable", "True", "", ""))
        placed = _condition(pod, "PodScheduled")
        if placed and placed["status"] == "False":
            conditions.append(
                _settled(old, "PodScheduled", "False", placed.get("reason", ""), placed.get("message", ""))
            )
        failure = self._failures.get(uid)
        if failure and pod is None:
            conditions.append(_settled(old, "Synchronized", "False", "FailedCreate", failure))
        status: JsonObject = {"phase": phase, "conditions": conditions}
        node = dig(pod, "spec", "nodeName")
        if node and phase in {"Scheduled", "Running"}:
            status["nodeName"] = node
        if pod is not None:
            status["activePods"] = {pod["metadata"]["uid"]: node or ""}
        address = dig(pod, "status", "podIP")
        if address and phase == "Running":
            status["interfaces"] = [{"name": "default", "ipAddress": address, "ipAddresses": [address]}]
        if dig(pod, "status", "qosClass"):
            status["qosClass"] = pod["status"]["qosClass"] if pod else None
        times = list(old.get("phaseTransitionTimestamps", []))
        if old.get("phase") != phase:
            times.append({"phase": phase, "phaseTransitionTimestamp": stamp(utc_now())})
        status["phaseTransitionTimestamps"] = times
        if status != old:
            document = {**instance, "status": status}
            written = self._product.api.kubevirt.replace(INSTANCES, document, "status")
            self._product.store.wrote(INSTANCES, written)

    def _readiness(
        self, instance: JsonObject, pod: JsonObject | None, phase: str, current: Faults
    ) -> tuple[bool, str]:
        if pod is None or phase != "Running" or pod["metadata"].get("deletionTimestamp"):
            return False, "PodTerminating" if dig(pod, "metadata", "deletionTimestamp") else "GuestNotRunning"
        probed = "readinessProbe" in instance["spec"]
        if probed and (
            not devices_of(instance["spec"]) or current.hits("guest-without-device", _name(instance))
        ):
            return False, "ContainersNotReady"
        uid = instance["metadata"]["uid"]
        if not self._product.lag.due(f"ready/{uid}", "ready", current.seconds("delay-ready")):
            return False, "ContainersNotReady" if probed else "GuestNotRunning"
        return True, ""

    def _drop_finalizer(self, kind: Any, item: JsonObject, finalizer: str) -> None:
        meta = item["metadata"]
        left = [name for name in meta.get("finalizers", []) if name != finalizer]
        patch = {"metadata": {"finalizers": left or None, "resourceVersion": meta["resourceVersion"]}}
        self._product.api.kubevirt.patch(kind, meta["name"], patch, meta["namespace"])


def printable(machine: JsonObject, instance: JsonObject | None, *, wanted: bool) -> str:
    """The one word that KubeVirt shows for a machine."""
    if machine["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if instance is None:
        return "Starting" if wanted else "Stopped"
    if instance["metadata"].get("deletionTimestamp"):
        return "Stopping"
    if dig(_condition(instance, "PodScheduled"), "status") == "False":
        return "ErrorUnschedulable"
    if dig(instance, "status", "phase") == "Running":
        return "Running"
    return "Starting"


def _phase(pod: JsonObject | None, before: str | None) -> str:
    if pod is None:
        return "Failed" if before in {"Scheduled", "Running"} else before or "Pending"
    pod_phase = dig(pod, "status", "phase")
    if pod_phase in {"Succeeded", "Failed"}:
        return str(pod_phase)
    if pod_phase == "Running":
        return "Running"
    return "Scheduled" if dig(pod, "spec", "nodeName") else "Scheduling"


def _condition(item: JsonObject | None, kind: str) -> JsonObject | None:
    for entry in dig(item, "status", "conditions", default=[]):
        if entry["type"] == kind:
            return dict(entry)
    return None


def _settled(old_status: JsonObject, kind: str, status: str, reason: str, message: str) -> JsonObject:
    """A condition; its transition time moves only with its status."""
    old = _condition({"status": old_status}, kind)
    moved = stamp(utc_now())
    if old is not None and old["status"] == status:
        moved = old["lastTransitionTime"]
    entry = {"type": kind, "status": status, "lastTransitionTime": moved, "lastProbeTime": None}
    if reason:
        entry["reason"] = reason
    if message:
        entry["message"] = message
    return entry


def _name(item: JsonObject) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"
