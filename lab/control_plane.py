# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts the control plane and the played kubelets, and says when they serve."""

from __future__ import annotations

import datetime
from pathlib import Path

import yaml

from . import audit_policy, certificates, components, identities, kubeconfig, processes, ready
from .api import Api
from .certificates import Pki
from .components import Component, Programs, api_server_url
from .directory import LabDirectory
from .identities import ADMINISTRATOR, EVERYBODY, KWOK
from .private_file import write_private

# They need nothing but a small environment: no proxy, no cluster of the person who starts the lab.
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GOMEMLIMIT": "1GiB"}


def new_credentials(lab: LabDirectory) -> None:
    """Write a new authority, new certificates and new tokens for everybody."""
    certificates.create(lab.pki, datetime.datetime.now(datetime.UTC))
    tokens = identities.new_tokens(EVERYBODY)
    write_private(_token_file(lab), identities.token_file(EVERYBODY, tokens))


def write_kubeconfigs(lab: LabDirectory, ports: dict[str, int]) -> None:
    """Write everybody's kubeconfig for the tokens there are, and the ports of this start."""
    ca = Pki(lab.pki).ca.read_bytes()
    tokens = identities.read_tokens(_token_file(lab).read_bytes())
    for identity in EVERYBODY:
        credentials = {"token": tokens[identity.user]}
        write_private(
            lab.kubeconfig(identity.name),
            kubeconfig.document(identity, api_server_url(ports), ca, credentials),
        )


def start(programs: Programs, lab: LabDirectory, ports: dict[str, int]) -> None:
    """Start everything, played kubelets too, and wait until it serves. Raises LabError."""
    write_private(lab.pki / "audit-policy.yaml", audit_policy.document())
    for component in (components.etcd(programs, lab, ports), components.api_server(programs, lab, ports)):
        _start(lab, component)
        _wait(lab, component)
    rest = [make(programs, lab, ports) for make in (components.controller_manager, components.scheduler)]
    for component in rest:
        _start(lab, component)
    start_kwok(programs, lab, ports)
    for component in rest:
        _wait(lab, component)
    # The first sign that controllers do their work; without it no Pod is admitted.
    ready.wait(
        "the service account of namespace default",
        ready.exists(
            Api(lab.kubeconfig(ADMINISTRATOR.name)), "/api/v1/namespaces/default/serviceaccounts/default"
        ),
        seconds=60,
        lab=lab,
        needs=[processes.recorded(lab)["kube-controller-manager"]],
    )


def start_kwok(programs: Programs, lab: LabDirectory, ports: dict[str, int]) -> None:
    """Give the played kubelets their role, drop the leases of an earlier run, and start them."""
    api = Api(lab.kubeconfig(ADMINISTRATOR.name))
    _allow_kwok(programs, api)
    # Another run of KWOK is another holder: it would leave a lease alone until that ran out.
    for lease in api.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")["items"]:
        api.delete(
            f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{lease['metadata']['name']}"
        )
    component = components.kwok(programs, lab, ports)
    _start(lab, component)
    _wait(lab, component)


def _start(lab: LabDirectory, component: Component) -> None:
    processes.start(lab, component.name, component.command, _ENVIRONMENT)


def _wait(lab: LabDirectory, component: Component) -> None:
    ready.wait(
        component.name,
        ready.serves(component, Pki(lab.pki).ca),
        seconds=60,
        lab=lab,
        needs=[processes.recorded(lab)[component.name]],
    )


def _allow_kwok(programs: Programs, api: Api) -> None:
    group = "/apis/rbac.authorization.k8s.io/v1"
    for role in yaml.safe_load_all(programs.kwok_role.read_text()):
        name = role["metadata"]["name"]
        api.apply(f"{group}/clusterroles/{name}", role)
        api.apply(
            f"{group}/clusterrolebindings/{name}",
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [
                    {
                        "apiGroup": "rbac.authorization.k8s.io",
                        "kind": "User",
                        "name": KWOK.user,
                    }
                ],
            },
        )


def _token_file(lab: LabDirectory) -> Path:
    return lab.pki / "tokens.csv"
