# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node reservations: what admission adds to a Pod, and how soon a change of a Reservation is on a node.

``python -m bench.reservations`` on a running lab (GPUOPS_LAB_DIR, or .lab in the checkout); writes
bench/results/reservations.json and prints a table. The second part needs ansible-rulebook on the PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.api import Api, ApiError
from lab.directory import CHECKOUT, chosen_directory
from lab.environment import exports

Json = dict[str, Any]
GROUP = "/apis/scheduling.coreweave.cloud/v1alpha1"
ROUNDS, CHANGES, ELSEWHERE = 200, 20, 500
LAB = chosen_directory(os.environ)
PREFIX = "bench-res"
LOCALHOST = {
    "ansible_connection": "local",
    "ansible_python_interpreter": "{{ ansible_playbook_python }}",
}


def namespace(api: Api, name: str, *, tenant: str = "", bindings: int = 0) -> None:
    """A namespace, of a tenant where one is given, with so many bindings that select its Pods."""
    labels = {"reserved.tenant": tenant} if tenant else {}
    api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    for number in range(bindings):
        document = {
            "apiVersion": GROUP.removeprefix("/apis/"),
            "kind": "ReservationBinding",
            "metadata": {"name": f"binding-{number}", "namespace": name},
            "spec": {"reservationName": "bench", "podSelector": {"matchLabels": {"bench": "yes"}}},
        }
        api.create(f"{GROUP}/namespaces/{name}/reservationbindings", document)


def admit(api: Api, name: str) -> float:
    """Milliseconds of one Pod's creation, by the server's dry run."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "bench-", "labels": {"bench": "yes"}},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "example.com/bench"}],
        },
    }
    begun = time.perf_counter()
    api.create(f"/api/v1/namespaces/{name}/pods?dryRun=All", pod)
    return (time.perf_counter() - begun) * 1000


def ready(api: Api, name: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            admit(api, name)
        except ApiError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def medians(api: Api, names: dict[str, str]) -> dict[str, float]:
    """The median of each namespace, asked in turns so that all see the same machine."""
    for name in names.values():
        ready(api, name)
    found: dict[str, list[float]] = {what: [] for what in names}
    for _ in range(ROUNDS):
        for what, name in names.items():
            found[what].append(admit(api, name))
    return {what: round(statistics.median(times), 2) for what, times in found.items()}


def admission(api: Api) -> Json:
    """Pods with no binding, 1 and 20 in their namespace; then the same with 500 in other namespaces."""
    made = [f"{PREFIX}-{what}" for what in ("plain", "none", "one", "twenty")]
    others = [f"{PREFIX}-other-{number}" for number in range(10)]
    try:
        namespace(api, made[0])
        for name, count in zip(made[1:], (0, 1, 20), strict=True):
            namespace(api, name, tenant=name, bindings=count)
        names = {"no tenant": made[0], "0 bindings": made[1], "1 binding": made[2], "20 bindings": made[3]}
        alone = medians(api, names)
        for name in others:
            namespace(api, name, tenant=name, bindings=ELSEWHERE // len(others))
        crowded = medians(api, names)
    finally:
        for name in (*made, *others):
            try:
                api.delete(f"/api/v1/namespaces/{name}")
            except ApiError as error:
                if error.status != 404:
                    raise
    return {
        "rounds": ROUNDS,
        "median_ms": alone,
        "median_ms_with_500_elsewhere": crowded,
        "one_binding_adds_ms": round(alone["1 binding"] - alone["no tenant"], 2),
        "twenty_bindings_add_ms": round(alone["20 bindings"] - alone["no tenant"], 2),
        "500_elsewhere_add_ms": round(crowded["1 binding"] - alone["1 binding"], 2),
    }


@contextmanager
def rulebook() -> Iterator[None]:
    """ansible-rulebook with the collection's rulebook, as an operator runs it."""
    inventory = LAB.root / "bench-inventory.yml"
    inventory.write_text(json.dumps({"all": {"hosts": {"localhost": LOCALHOST}}}))
    environment = {
        **os.environ,
        **exports(LAB),
        "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".collections"),
    }
    log = (LAB.root / "bench-rulebook.log").open("w")
    process = subprocess.Popen(
        ["ansible-rulebook", "--rulebook", "gpuops.reservations.reservations", "--inventory", inventory],
        cwd=LAB.root,
        env=environment,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)
        log.close()


def labelled(api: Api, node: str) -> bool:
    return "reserved.tenant" in api.get(f"/api/v1/nodes/{node}")["metadata"].get("labels", {})


def seconds_until(condition: Callable[[], bool], limit: float) -> float:
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > limit:
            raise TimeoutError(f"not within {limit:.0f} s; see {LAB.root}/bench-rulebook.log")
        time.sleep(0.05)
    return time.monotonic() - begun


def reaction(api: Api, changes: int) -> Json:
    """Seconds from the change of a Reservation to the label on its node."""
    path, one, both = f"{GROUP}/reservations/bench", ["train-01"], ["train-01", "train-02"]
    document: Json = {
        "apiVersion": GROUP.removeprefix("/apis/"),
        "kind": "Reservation",
        "metadata": {"name": "bench"},
        "spec": {"tenant": "tenant-foo", "reservedNodes": one},
    }
    times: list[float] = []
    api.create(f"{GROUP}/reservations", document)
    try:
        with rulebook():
            seconds_until(lambda: labelled(api, "train-01"), 180)
            for _ in range(changes):
                time.sleep(6)
                _want(api, path, both)
                times.append(seconds_until(lambda: labelled(api, "train-02"), 120))
                print(f"change to label: {times[-1]:.2f} s, load {os.getloadavg()[0]:.1f}", flush=True)
                time.sleep(6)
                _want(api, path, one)
                seconds_until(lambda: not labelled(api, "train-02"), 120)
            api.delete(path)
            seconds_until(lambda: not labelled(api, "train-01"), 120)
    finally:
        stuck = [
            one for one in api.get(f"{GROUP}/reservations")["items"] if one["metadata"]["name"] == "bench"
        ]
        if stuck:
            print(
                f"left behind: Reservation bench; delete it and run playbooks/reservations.yml on {LAB.root}"
            )
    times.sort()
    return {
        "changes": changes,
        "p50_s": round(statistics.median(times), 2),
        "p95_s": round(times[max(0, -(-len(times) * 95 // 100) - 1)], 2),
        "worst_s": round(times[-1], 2),
    }


def _want(api: Api, path: str, nodes: list[str]) -> None:
    document = api.get(path)
    document["spec"]["reservedNodes"] = nodes
    api.replace(path, document)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.reservations", description=__doc__)
    parser.add_argument("--changes", type=int, default=CHANGES, help="of a Reservation, each timed")
    parser.add_argument("--only", choices=["admission", "reaction"], help="one part alone")
    arguments = parser.parse_args()
    api = Api(LAB.kubeconfig("admin"))
    result: Json = {"load_before": round(os.getloadavg()[0], 1)}
    if arguments.only != "reaction":
        result["admission"] = admission(api)
        print(json.dumps(result["admission"], indent=2), flush=True)
    if arguments.only != "admission" and shutil.which("ansible-rulebook"):
        result["reaction"] = reaction(api, arguments.changes)
    elif arguments.only != "admission":
        result["reaction"] = "not measured: ansible-rulebook is not on the PATH"
    result["load_after"] = round(os.getloadavg()[0], 1)
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "reservations.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
