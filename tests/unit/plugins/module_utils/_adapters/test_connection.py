# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster is named, or nothing is contacted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import connection
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
    connect,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    DependencyMissing,
    InputError,
)


def kubeconfig(path: Path, server: str, token: str = "file-token", **user: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    contexts = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("first", "second")]
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "first",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": contexts,
        "users": [{"name": "u", "user": user or {"token": token}}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def code_of(options: ConnectionOptions) -> str:
    with pytest.raises(InputError) as raised:
        connect(options)
    assert raised.value.next_action
    return raised.value.code


@pytest.mark.parametrize(
    "options",
    [
        ConnectionOptions(),
        ConnectionOptions(api_key="token"),
        ConnectionOptions(validate_certs=False),
        ConnectionOptions(ca_cert="/etc/hosts"),
    ],
)
def test_a_default_kubeconfig_alone_names_no_cluster(tmp_path: Path, options: ConnectionOptions) -> None:
    kubeconfig(Path("~/.kube/config").expanduser(), "https://production.example.com")
    assert code_of(options) == "connection-not-named"


def test_a_pods_own_account_names_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert code_of(ConnectionOptions()) == "connection-not-named"


def test_a_context_by_name_is_found_in_the_default_file() -> None:
    kubeconfig(Path("~/.kube/config").expanduser(), "https://named.example.com")
    assert connect(ConnectionOptions(context="second")).url == "https://named.example.com"


def test_the_variable_names_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "k", "https://a.example.com/")))
    server = connect(ConnectionOptions())
    assert server.url == "https://a.example.com"
    assert server.headers() == {"authorization": "Bearer file-token"}


def test_the_option_goes_before_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "k", "https://a.example.com")))
    named = kubeconfig(tmp_path / "named", "https://b.example.com")
    assert connect(ConnectionOptions(kubeconfig=str(named))).url == "https://b.example.com"


def test_host_and_token_need_no_file() -> None:
    server = connect(ConnectionOptions(host="https://h.example.com", api_key="secret-token"))
    assert server.url == "https://h.example.com"
    assert server.headers() == {"authorization": "Bearer secret-token"}
    assert "secret-token" not in repr(server)
    assert "secret-token" not in repr(ConnectionOptions(api_key="secret-token"))


def test_host_alone_goes_before_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials of one cluster must not go to another."""
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "k", "https://a.example.com")))
    server = connect(ConnectionOptions(host="https://h.example.com"))
    assert server.url == "https://h.example.com"
    assert server.headers() == {}


def test_options_go_before_what_the_file_says(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", "https://a.example.com")
    options = ConnectionOptions(kubeconfig=str(file), host="https://h.example.com", api_key="mine")
    server = connect(options)
    assert server.url == "https://h.example.com"
    assert server.headers() == {"authorization": "Bearer mine"}


def test_certificates_are_checked_unless_it_is_said(tmp_path: Path) -> None:
    file = str(kubeconfig(tmp_path / "k", "https://a.example.com"))
    assert connect(ConnectionOptions(kubeconfig=file)).configuration.verify_ssl is True
    unchecked = connect(ConnectionOptions(kubeconfig=file, validate_certs=False))
    assert unchecked.configuration.verify_ssl is False


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        connect(ConnectionOptions(kubeconfig=str(tmp_path / "absent")))
    assert raised.value.code == "connection-unusable"
    assert str(tmp_path / "absent") in raised.value.message


@pytest.mark.parametrize(
    "text",
    ["", "a: [", "apiVersion: v1\nkind: Config\n", "- 1\n"],
)
def test_a_file_that_is_no_kubeconfig(tmp_path: Path, text: str) -> None:
    (tmp_path / "k").write_text(text)
    assert code_of(ConnectionOptions(kubeconfig=str(tmp_path / "k"))) == "connection-unusable"


def test_a_context_that_the_file_lacks(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", "https://a.example.com")
    assert code_of(ConnectionOptions(kubeconfig=str(file), context="third")) == "connection-unusable"


def test_a_cluster_without_a_server_is_not_this_machine(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", "")
    assert code_of(ConnectionOptions(kubeconfig=str(file))) == "connection-unusable"
    text = file.read_text().replace("server: ''", "tls-server-name: x")
    file.write_text(text)
    assert code_of(ConnectionOptions(kubeconfig=str(file))) == "connection-unusable"


def test_two_files_are_merged(tmp_path: Path) -> None:
    first = kubeconfig(tmp_path / "one", "https://a.example.com")
    second = tmp_path / "two"
    second.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config"}))
    assert connect(ConnectionOptions(kubeconfig=f"{first}:{second}")).url == "https://a.example.com"


def test_a_credential_program_is_asked(tmp_path: Path) -> None:
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "from-program"},
    }
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", f"print({json.dumps(json.dumps(answer))})"],
        "interactiveMode": "Never",
    }
    file = kubeconfig(tmp_path / "k", "https://a.example.com", exec=program)
    assert connect(ConnectionOptions(kubeconfig=str(file))).headers() == {
        "authorization": "Bearer from-program"
    }


def test_the_file_is_never_written(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", "https://a.example.com")
    before = file.read_bytes()
    file.chmod(0o400)
    connect(ConnectionOptions(kubeconfig=str(file)))
    assert file.read_bytes() == before


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes.config", None)
    connection.start_importing().join()
    with pytest.raises(DependencyMissing) as raised:
        connect(ConnectionOptions(host="https://h.example.com"))
    assert raised.value.library == "kubernetes"


def test_a_cluster_that_is_not_named_is_noticed_without_the_library() -> None:
    """The import takes most of a second, and a wrong request needs no library."""
    script = (
        "import sys\n"
        f"from {connection.__name__} import ConnectionOptions, connect\n"
        "try:\n    connect(ConnectionOptions())\n"
        "except Exception as error:\n    print(error.code, 'kubernetes' in sys.modules)\n"
    )
    paths = ":".join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": paths, "HOME": "/nowhere"},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"connection-not-named False\n"
