# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """How a module reaches the cluster, or the saved snapshot that stands in for it."""

    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file.
      - If not set, the value of the environment variable E(K8S_AUTH_KUBECONFIG) or E(KUBECONFIG) is used.
      - There is no ambient default. A default file in the home folder is never read, so that no other
        cluster can be meant by mistake.
    type: path
  context:
    description:
      - Name of the context in the kubeconfig file.
      - If not set, the value of the environment variable E(K8S_AUTH_CONTEXT), or else the file's own current
        context is used.
    type: str
  host:
    description:
      - URL of the API server, in place of a kubeconfig file.
      - If not set, the value of the environment variable E(K8S_AUTH_HOST) is used.
    type: str
  api_key:
    description:
      - Bearer token for the API server. Never written to logs, results or diffs.
      - If not set, the value of the environment variable E(K8S_AUTH_API_KEY) is used.
    type: str
  ca_cert:
    description:
      - Path of the certificate that signs the API server's.
      - If not set, the value of the environment variable E(K8S_AUTH_SSL_CA_CERT) is used.
    type: path
    aliases: [ssl_ca_cert]
  validate_certs:
    description:
      - Whether the API server's certificate is checked.
      - If not set, the value of the environment variable E(K8S_AUTH_VERIFY_SSL), or else V(true) is used.
    type: bool
    aliases: [verify_ssl]
  cluster:
    description:
      - Name of the cluster, which is also its folder below C(clusters/) in the fleet repository, possibly two
        levels deep, for example V(eu/one).
      - Must equal C(CLUSTER_NAME) in ConfigMap C(flux-system/cluster-config), and the UID of namespace
        C(kube-system) must be the one that the policy names. Otherwise nothing more is read.
      - If not set, the value of the environment variable E(GPUOPS_CLUSTER) is used.
    type: str
  alerts_url:
    description:
      - Base URL of a Prometheus, whose C(/api/v1/alerts) and C(/api/v1/rules) are read.
      - If not set, the value of the environment variable E(GPUOPS_ALERTS_URL) is used, or else the service
        C(monitoring/prom-operator-prometheus) is asked through the API server's service proxy.
      - When it cannot be reached, or has no rules loaded, everything that needs alerts stops.
    type: str
requirements:
  - kubernetes >= 32.0.0
  - pydantic >= 2.10
  - jmespath >= 1.0
  - PyYAML >= 6.0.2
"""

    SNAPSHOT = r"""
options:
  snapshot:
    description:
      - Path of a saved snapshot, in place of connection and fleet repository. The module then works offline
        and gives the result that it gave when the snapshot was saved.
      - Where it is set, nothing is contacted, whatever else is set.
    type: path
"""
