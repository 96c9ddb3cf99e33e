# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the connection options to an API server, with no ambient default.

The Kubernetes client library reads kubeconfig files, runs their credential programs and knows their
certificates and proxies. Requests then go through its connection pool, without its own retries.
"""

from __future__ import annotations

import importlib
import os
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .._core.errors import DependencyMissing, InputError

_DEFAULT_KUBECONFIG: Final = "~/.kube/config"
_POOL_SIZE: Final = 16


@dataclass(frozen=True)
class ConnectionOptions:
    """How a run names its cluster, as in the collection kubernetes.core.

    Attributes:
        kubeconfig: path of a kubeconfig file, or several with the system's path separator.
        context: a context of that file; its own current one where None.
        host: the API server's URL, instead of or above the file's.
        api_key: bearer token.
        ca_cert: path of the authority's certificate.
        validate_certs: False to take any certificate.
    """

    kubeconfig: str | None = None
    context: str | None = None
    host: str | None = None
    api_key: str | None = field(default=None, repr=False)
    ca_cert: str | None = None
    validate_certs: bool | None = None


@dataclass(frozen=True)
class ApiServer:
    """A connection to one API server.

    Attributes:
        url: its address, without a slash at the end.
        pool: urllib3's pool manager, configured for it.
        configuration: the client library's, which renews tokens.
    """

    url: str
    pool: Any = field(repr=False)
    configuration: Any = field(repr=False)

    def headers(self) -> dict[str, str]:
        """Headers that sign a request in; asked for anew each time, because tokens expire."""
        settings: Mapping[str, Mapping[str, str]] = self.configuration.auth_settings()
        return {
            setting["key"]: setting["value"]
            for setting in settings.values()
            if setting.get("in") == "header" and setting.get("value")
        }


def start_importing() -> threading.Thread:
    """Imports the client library, which takes most of a second, while the caller does something else."""
    thread = threading.Thread(target=_try_import, daemon=True, name="import-kubernetes")
    thread.start()
    return thread


def _try_import() -> None:
    try:
        importlib.import_module("kubernetes.config")
    except ImportError:
        return  # told by connect()


def connect(options: ConnectionOptions) -> ApiServer:
    """The API server that the options name. Nothing is contacted, but a credential program may run.

    Raises:
        InputError: connection-not-named where nothing names a cluster; connection-unusable where what
            names it cannot be used.
        DependencyMissing: the kubernetes library is not installed.
    """
    files = _kubeconfig_files(options)
    try:
        config = importlib.import_module("kubernetes.config")
        client = importlib.import_module("kubernetes.client")
    except ImportError as error:
        raise DependencyMissing("kubernetes", traceback.format_exc()) from error
    configuration = client.Configuration()
    configuration.host = ""  # the library's own default is this machine
    if files is not None:
        _load(config, configuration, files, options.context)
    if options.host:
        configuration.host = options.host
    if options.api_key:
        configuration.api_key = {"authorization": f"Bearer {options.api_key}"}
        configuration.refresh_api_key_hook = None
    if options.ca_cert:
        configuration.ssl_ca_cert = _readable(options.ca_cert, "ca_cert")
        configuration.ca_cert_data = None
    if options.validate_certs is not None:
        configuration.verify_ssl = options.validate_certs
    if not str(configuration.host).lower().startswith(("http://", "https://")):
        raise InputError(
            "connection-unusable",
            f"the API server's address {configuration.host!r} is no http or https URL",
            next_action="correct host, or the cluster's server in the kubeconfig",
        )
    configuration.connection_pool_maxsize = _POOL_SIZE
    configuration.retries = False
    _silence_certificate_warnings(verify=configuration.verify_ssl)
    pool = client.ApiClient(configuration=configuration).rest_client.pool_manager
    return ApiServer(str(configuration.host).rstrip("/"), pool, configuration)


def _kubeconfig_files(options: ConnectionOptions) -> str | None:
    """The kubeconfig to load, or None where ``host`` alone names the cluster."""
    named = options.kubeconfig or os.environ.get("KUBECONFIG")
    if named and not (options.host and not options.kubeconfig and not options.context):
        for path in named.split(os.pathsep):
            if path:
                _readable(path, "kubeconfig")
        return os.pathsep.join(str(Path(path).expanduser()) for path in named.split(os.pathsep) if path)
    if options.host:
        return None
    if options.context:
        # The default file is read for a context that was named; its current one is nobody's choice.
        return _readable(_DEFAULT_KUBECONFIG, "context")
    raise InputError(
        "connection-not-named",
        "no cluster was named: neither kubeconfig, context nor host is set, and there is no KUBECONFIG; "
        "a default file's current context is never used",
        next_action="set kubeconfig (or context, or host and api_key), or export KUBECONFIG",
    )


def _load(config: Any, configuration: Any, files: str, context: str | None) -> None:
    try:
        config.load_kube_config(
            config_file=files, context=context, client_configuration=configuration, persist_config=False
        )
    except Exception as error:  # the library raises whatever the file's faults cause
        raise InputError(
            "connection-unusable",
            f"kubeconfig {files} cannot be used{f' with context {context}' if context else ''}: "
            f"{type(error).__name__}: {_first_line(error)}",
            next_action="check the file with: kubectl --kubeconfig FILE config view",
        ) from error


def _readable(path: str, option: str) -> str:
    file = Path(path).expanduser()
    if not file.is_file() or not os.access(file, os.R_OK):
        raise InputError(
            "connection-unusable",
            f"{option}: {file} is no file that can be read",
            next_action=f"correct {option}",
        )
    return str(file)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:300]


def _silence_certificate_warnings(*, verify: bool) -> None:
    """With validate_certs: false, urllib3 would print a warning for every request."""
    if not verify:
        urllib3 = importlib.import_module("urllib3")
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
