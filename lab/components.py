# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of the control plane: what each is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .certificates import Pki
from .directory import LabDirectory
from .identities import CONTROLLER_MANAGER, KWOK, SCHEDULER

NODE_ANNOTATION = "kwok.x-k8s.io/node=fake"
NODE_LEASE_SECONDS = 40


@dataclass(frozen=True)
class Programs:
    """The built programs: each component as the beginning of a command line; KWOK with its files."""

    components: Mapping[str, tuple[str, ...]]
    kwok: Path
    kwok_stages: Path
    kwok_role: Path


@dataclass(frozen=True)
class Component:
    """One process: ``command`` is the whole command line, ``health`` a URL that answers 200 in service."""

    name: str
    command: Sequence[str]
    health: str


def api_server_url(ports: Mapping[str, int]) -> str:
    """Where the API server listens."""
    return f"https://127.0.0.1:{ports['kube-apiserver']}"


def etcd(programs: Programs, lab: LabDirectory, ports: Mapping[str, int]) -> Component:
    """One member that never syncs to disk: a lab that loses power is made again."""
    client = f"http://127.0.0.1:{ports['etcd']}"
    peer = f"http://127.0.0.1:{ports['etcd-peer']}"
    return Component(
        "etcd",
        (
            *programs.components["etcd"],
            "--name=lab",
            f"--data-dir={lab.etcd}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=lab={peer}",
            "--unsafe-no-fsync",
            "--quota-backend-bytes=4294967296",
            "--log-level=warn",
        ),
        f"{client}/health?serializable=true",
    )


def api_server(programs: Programs, lab: LabDirectory, ports: Mapping[str, int]) -> Component:
    """The API server: tokens from a file, RBAC, every write with its object in the audit log."""
    pki = Pki(lab.pki)
    return Component(
        "kube-apiserver",
        (
            *programs.components["kube-apiserver"],
            f"--etcd-servers=http://127.0.0.1:{ports['etcd']}",
            "--bind-address=127.0.0.1",
            # A loopback address is no valid endpoint of the kubernetes Service, and nothing here uses it.
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={ports['kube-apiserver']}",
            f"--tls-cert-file={pki.server}",
            f"--tls-private-key-file={pki.server_key}",
            f"--client-ca-file={pki.ca}",
            f"--token-auth-file={lab.pki / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction,ServiceAccount",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki.accounts_key}",
            f"--service-account-signing-key-file={pki.accounts_key}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--allow-privileged=true",
            f"--audit-policy-file={lab.pki / 'audit-policy.yaml'}",
            f"--audit-log-path={lab.audit_log}",
            # An event is in the file before the next request of the same client can be answered.
            "--audit-log-mode=blocking",
            "--audit-log-maxsize=2048",
            "--profiling=false",
        ),
        f"{api_server_url(ports)}/readyz",
    )


def controller_manager(programs: Programs, lab: LabDirectory, ports: Mapping[str, int]) -> Component:
    """The controller manager: each controller as its own service account, as in a cluster."""
    pki = Pki(lab.pki)
    return Component(
        "kube-controller-manager",
        (
            *programs.components["kube-controller-manager"],
            f"--kubeconfig={lab.kubeconfig(CONTROLLER_MANAGER.name)}",
            "--bind-address=127.0.0.1",
            f"--secure-port={ports['kube-controller-manager']}",
            f"--tls-cert-file={pki.server}",
            f"--tls-private-key-file={pki.server_key}",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={pki.accounts_key}",
            f"--root-ca-file={pki.ca}",
            f"--cluster-signing-cert-file={pki.ca}",
            f"--cluster-signing-key-file={pki.ca_key}",
            "--leader-elect=false",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ),
        f"https://127.0.0.1:{ports['kube-controller-manager']}/healthz",
    )


def scheduler(programs: Programs, lab: LabDirectory, ports: Mapping[str, int]) -> Component:
    """The scheduler, with its own identity."""
    pki = Pki(lab.pki)
    return Component(
        "kube-scheduler",
        (
            *programs.components["kube-scheduler"],
            f"--kubeconfig={lab.kubeconfig(SCHEDULER.name)}",
            "--bind-address=127.0.0.1",
            f"--secure-port={ports['kube-scheduler']}",
            f"--tls-cert-file={pki.server}",
            f"--tls-private-key-file={pki.server_key}",
            "--leader-elect=false",
        ),
        f"https://127.0.0.1:{ports['kube-scheduler']}/readyz",
    )


def kwok(programs: Programs, lab: LabDirectory, ports: Mapping[str, int]) -> Component:
    """The played kubelets of the nodes that carry NODE_ANNOTATION."""
    return Component(
        "kwok",
        (
            str(programs.kwok),
            f"--kubeconfig={lab.kubeconfig(KWOK.name)}",
            f"--config={programs.kwok_stages}",
            f"--manage-nodes-with-annotation-selector={NODE_ANNOTATION}",
            f"--node-lease-duration-seconds={NODE_LEASE_SECONDS}",
            f"--server-address=127.0.0.1:{ports['kwok']}",
        ),
        f"http://127.0.0.1:{ports['kwok']}/healthz",
    )
