# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where one lab keeps its things: paths only, and which of them make up its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent

# Made new at every start, or about this very run: neither saved nor put back.
_OWN = frozenset(
    {
        "audit.log",
        "audit-previous.log",
        "env",
        "etcd",
        "lab.json",
        "lock",
        "log",
        "pki",
        "platform.env",
        "run",
        "saved",
        "saved.new",
    }
)


@dataclass(frozen=True)
class LabDirectory:
    """One lab's folder. Everything a lab writes is below it, so that labs can stand side by side."""

    root: Path

    @property
    def audit_log(self) -> Path:
        """The API server's audit log: one JSON event a line."""
        return self.root / "audit.log"

    @property
    def audit_log_previous(self) -> Path:
        """The audit log as it was before the last reset."""
        return self.root / "audit-previous.log"

    @property
    def env(self) -> Path:
        """What a person's shell sources."""
        return self.root / "env"

    @property
    def platform_env(self) -> Path:
        """KEY=VALUE lines that the product around the control plane adds to ``env``."""
        return self.root / "platform.env"

    @property
    def etcd(self) -> Path:
        """etcd's data."""
        return self.root / "etcd"

    @property
    def state(self) -> Path:
        """What was started, and with which ports."""
        return self.root / "lab.json"

    @property
    def lock(self) -> Path:
        """Held while a command changes this lab."""
        return self.root / "lock"

    @property
    def logs(self) -> Path:
        """One log a process."""
        return self.root / "log"

    @property
    def pki(self) -> Path:
        """Certificates, keys and tokens."""
        return self.root / "pki"

    @property
    def run(self) -> Path:
        """One record a process."""
        return self.root / "run"

    @property
    def saved(self) -> Path:
        """The fixture as it was after the first complete start."""
        return self.root / "saved"

    @property
    def fleet(self) -> Path:
        """The fleet's bare repository."""
        return self.root / "fleet.git"

    @property
    def evidence(self) -> Path:
        """Where bundles of evidence go."""
        return self.root / "evidence"

    def log(self, name: str) -> Path:
        """The log of process ``name``."""
        return self.logs / f"{name}.log"

    def kubeconfig(self, identity: str) -> Path:
        """The kubeconfig of one identity."""
        return self.root / f"kubeconfig-{identity}"

    def product_entries(self) -> list[Path]:
        """What the product and the fixture keep here (the fleet, evidence, tokens of theirs), sorted."""
        if not self.root.is_dir():
            return []
        return sorted(
            entry
            for entry in self.root.iterdir()
            if entry.name not in _OWN and not entry.name.startswith("kubeconfig-")
        )


def chosen_directory(environment: Mapping[str, str]) -> LabDirectory:
    """The folder that GPUOPS_LAB_DIR names, or ``.lab`` in the checkout."""
    named = environment.get("GPUOPS_LAB_DIR", "")
    return LabDirectory(Path(named).expanduser().resolve() if named else CHECKOUT / ".lab")
