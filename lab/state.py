# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab remembers about itself between two commands."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from .directory import LabDirectory
from .private_file import write_private


@dataclass(frozen=True)
class State:
    """``embedded``: the control plane is ours, not somebody's cluster; ``bare``: no product around it.

    ``complete`` is set once a start came to its end; ``fixture`` names the sources it was filled from.
    """

    embedded: bool
    bare: bool
    complete: bool
    fixture: str
    ports: dict[str, int] = field(default_factory=dict)


def load(lab: LabDirectory) -> State | None:
    """What was remembered last, or None when there is no lab here or its file makes no sense."""
    try:
        return State(**json.loads(lab.state.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def save(lab: LabDirectory, state: State) -> None:
    """Remember ``state``."""
    write_private(lab.state, (json.dumps(asdict(state), indent=2) + "\n").encode())
