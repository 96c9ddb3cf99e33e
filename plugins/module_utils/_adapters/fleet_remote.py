# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the fleet repository is, with what signs in kept apart from what may be shown."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from .._core.errors import InputError

_SCP_LIKE: Final = re.compile(r"^[^/\s:]+:(?!//)")
_WITH_SECRETS: Final = ("http", "https")


@dataclass(frozen=True)
class FleetRemote:
    """A repository's address, as git takes it.

    Attributes:
        url: without a password, and for HTTP without a user name either: it stands in arguments.
        environment: variables that make git sign in; their values are secret.
    """

    url: str
    environment: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> str:
        """The address as messages name it."""
        return self.url


def fleet_remote(text: str) -> FleetRemote:
    """The address of any Git URL or path.

    A password or token in an HTTP address goes to git by its environment: its helper programs are
    started with the address as an argument, which everybody on the machine can read.

    Raises:
        InputError: fleet-repo-invalid; empty, an option, or a transport that runs programs.
    """
    if not text.strip() or text.startswith("-") or "::" in text.split("/", 1)[0] or "\n" in text:
        raise InputError(
            "fleet-repo-invalid",
            "fleet_repo names no Git repository",
            next_action="set fleet_repo to a Git URL, or to the path of a repository",
        )
    if "://" not in text:
        if _SCP_LIKE.match(text):
            return FleetRemote(text)
        return FleetRemote(str(Path(text).expanduser().absolute()))
    parts = urlsplit(text)
    user, separator, secret = parts.netloc.rpartition("@")[0].partition(":")
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme.lower() not in _WITH_SECRETS:
        account = f"{user}@" if user else ""
        return FleetRemote(urlunsplit((parts.scheme, account + host, parts.path, parts.query, "")))
    url = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
    scope = f"{parts.scheme}://{host}"
    if separator:
        pair = f"{unquote(user)}:{unquote(secret)}".encode()
        header = f"Authorization: Basic {base64.b64encode(pair).decode('ascii')}"
        return FleetRemote(url, _settings({f"http.{scope}/.extraHeader": header}))
    if user:
        # A lone user name may be a token. With a credential helper it finds the password, without one
        # it is sent with an empty password.
        signing_in = _settings({f"credential.{scope}.username": unquote(user)})
        return FleetRemote(url, {"GIT_ASKPASS": os.environ.get("GIT_ASKPASS", "true"), **signing_in})
    return FleetRemote(url, _settings({}))


def _settings(added: dict[str, str]) -> dict[str, str]:
    """Variables of git's configuration by environment: those that were set, then ours."""
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    given = int(count) if count.isdecimal() else 0
    settings: dict[str, str] = {}
    for position in range(given):
        for part in ("KEY", "VALUE"):
            name = f"GIT_CONFIG_{part}_{position}"
            settings[name] = os.environ.get(name, "")
    for position, (key, value) in enumerate(added.items(), start=given):
        settings[f"GIT_CONFIG_KEY_{position}"] = key
        settings[f"GIT_CONFIG_VALUE_{position}"] = value
    settings["GIT_CONFIG_COUNT"] = str(given + len(added))
    return settings
