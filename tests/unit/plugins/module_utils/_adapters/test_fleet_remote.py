# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses: what may be shown stands apart from what signs in."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet_remote import fleet_remote
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError


@pytest.mark.parametrize(
    "text",
    [
        "git@example.com:fleet/repo.git",
        "ssh://git@example.com:2222/fleet",
        "file:///srv/fleet.git",
        "/srv/fleet.git",
    ],
)
def test_addresses_without_secrets_stay_as_they_are(text: str) -> None:
    assert fleet_remote(text).url == text


def test_a_path_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert fleet_remote("fleet.git").url == str(tmp_path / "fleet.git")
    assert fleet_remote("~/fleet.git").url == str(Path("~/fleet.git").expanduser())


def test_a_password_goes_to_git_by_its_environment_alone() -> None:
    remote = fleet_remote("https://robot:p%40ss@example.com/fleet.git")
    assert remote.url == remote.shown == "https://example.com/fleet.git"
    header = f"Authorization: Basic {base64.b64encode(b'robot:p@ss').decode()}"
    assert remote.environment["GIT_CONFIG_KEY_0"] == "http.https://example.com/.extraHeader"
    assert remote.environment["GIT_CONFIG_VALUE_0"] == header
    assert "p@ss" not in repr(remote)
    assert "p%40ss" not in repr(remote)


def test_a_lone_user_name_may_be_a_token_and_is_not_shown() -> None:
    remote = fleet_remote("https://ghp_canary@example.com/fleet.git")
    assert remote.url == "https://example.com/fleet.git"
    assert "ghp_canary" not in repr(remote)
    assert remote.environment["GIT_CONFIG_VALUE_0"] == "ghp_canary"
    assert remote.environment["GIT_ASKPASS"] == "true"


def test_settings_that_were_in_the_environment_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "http.proxy")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "http://proxy:3128")
    environment = fleet_remote("https://robot:pw@example.com/fleet.git").environment
    assert environment["GIT_CONFIG_COUNT"] == "2"
    assert environment["GIT_CONFIG_VALUE_0"] == "http://proxy:3128"
    assert environment["GIT_CONFIG_KEY_1"].endswith("extraHeader")


def test_a_password_of_an_ssh_address_is_dropped() -> None:
    assert fleet_remote("ssh://git:pw@example.com/fleet").url == "ssh://git@example.com/fleet"


@pytest.mark.parametrize("text", ["", "  ", "--upload-pack=touch /tmp/x", "ext::sh -c id", "a\nb"])
def test_what_is_no_repository_is_refused(text: str) -> None:
    with pytest.raises(InputError) as raised:
        fleet_remote(text)
    assert raised.value.code == "fleet-repo-invalid"
