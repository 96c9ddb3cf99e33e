# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``.lab/env``, which a shell sources before it runs playbooks, and the environment of the lab's programs."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from .directory import CHECKOUT, LabDirectory
from .errors import LabError
from .identities import ADMINISTRATOR, OPERATOR, READER
from .private_file import write_private

CLUSTER = "lab"

# What playbooks take their defaults from; a lab that cannot give one of these is not complete.
PROMISED = (
    "KUBECONFIG",
    "GPUOPS_ADMIN_KUBECONFIG",
    "GPUOPS_READER_KUBECONFIG",
    "GPUOPS_FLEET_REPO",
    "GPUOPS_CLUSTER",
    "GPUOPS_EVIDENCE_DIR",
    "GPUOPS_BACKEND_URL",
    "GPUOPS_BACKEND_TOKEN_FILE",
    "GPUOPS_ALERTS_URL",
)

_KEY = re.compile(r"[A-Z][A-Z0-9_]*")
# Kept for the lab's programs; a person's own cluster settings must not reach them.
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME", "SSL_CERT_FILE")


def own_exports(lab: LabDirectory) -> dict[str, str]:
    """The variables that the control plane and the folder settle."""
    return {
        "GPUOPS_LAB_DIR": str(lab.root),
        "GPUOPS_CLUSTER": CLUSTER,
        "KUBECONFIG": str(lab.kubeconfig(OPERATOR.name)),
        "GPUOPS_ADMIN_KUBECONFIG": str(lab.kubeconfig(ADMINISTRATOR.name)),
        "GPUOPS_READER_KUBECONFIG": str(lab.kubeconfig(READER.name)),
        "GPUOPS_FLEET_REPO": str(lab.fleet),
        "GPUOPS_EVIDENCE_DIR": str(lab.evidence),
    }


def read_assignments(text: str, source: Path) -> dict[str, str]:
    """KEY=VALUE lines; empty lines and lines that begin with # are passed over, values are taken as they are.

    Raises LabError for any other line.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        if not equals or _KEY.fullmatch(key) is None:
            raise LabError(
                f"{source}, line {number}: not KEY=VALUE", "correct what writes that file, and start again"
            )
        found[key] = value
    return found


def exports(lab: LabDirectory) -> dict[str, str]:
    """Everything ``.lab/env`` exports: ours, then what the product wrote, which wins."""
    added = (
        read_assignments(lab.platform_env.read_text(), lab.platform_env) if lab.platform_env.is_file() else {}
    )
    return {**own_exports(lab), **added}


def missing(values: Mapping[str, str]) -> list[str]:
    """Names of PROMISED that have no value."""
    return [name for name in PROMISED if not values.get(name)]


def shell_text(values: Mapping[str, str]) -> bytes:
    """``export`` lines, quoted for a POSIX shell."""
    return "".join(f"export {key}={shlex.quote(value)}\n" for key, value in values.items()).encode()


def write(lab: LabDirectory) -> None:
    """Write ``.lab/env``, 0600."""
    write_private(lab.env, shell_text(exports(lab)))


def for_programs(lab: LabDirectory) -> dict[str, str]:
    """The environment of platform, fixture and install.yml: the administrator's, nothing of a person's."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    beside = str(Path(sys.executable).parent)
    return {
        **kept,
        **exports(lab),
        "PATH": f"{beside}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT / ".collections"), str(CHECKOUT)]),
        "PYTHONUNBUFFERED": "1",
        "KUBECONFIG": str(lab.kubeconfig(ADMINISTRATOR.name)),
        # Everything that is talked to listens on this machine.
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }
