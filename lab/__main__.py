# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m lab up|down|reset|status``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from .api import ApiError
from .directory import LabDirectory, chosen_directory
from .down import down
from .errors import LabError
from .occupied import occupied
from .progress import Progress
from .reset import reset
from .status import status
from .up import up


def main() -> int:
    """Run one command. Returns the exit code: 0 done, 1 failed, 3 does not run, 128 + n for signal n."""
    arguments = _parser().parse_args()
    lab = chosen_directory(os.environ)
    progress = Progress()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    try:
        return _run(arguments, lab, progress)
    except LabError as error:
        progress.complain(f"FAILED: {error}\n           next: {error.next_action}")
    except ApiError as error:
        progress.complain(
            f"FAILED: the API server answers {error.status}: {error}\n           next: read {lab.logs}"
        )
    except KeyboardInterrupt:
        progress.complain("interrupted")
        return 130
    return 1


def _run(arguments: argparse.Namespace, lab: LabDirectory, progress: Progress) -> int:
    if arguments.command == "status":
        return status(lab)
    with occupied(lab, progress):
        if arguments.command == "up":
            up(lab, progress, bare=arguments.bare)
        elif arguments.command == "down":
            down(lab, progress)
        else:
            reset(lab, progress)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab",
        description="A real control plane with played GPU nodes. GPUOPS_LAB_DIR names the lab's folder.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("up", help="start the lab, or what is missing of it")
    start.add_argument(
        "--bare", action="store_true", help="the control plane alone: no product, no fixture, no roles"
    )
    commands.add_parser("down", help="stop the lab and remove it, logs aside")
    commands.add_parser("reset", help="put the lab back to its fixture")
    commands.add_parser("status", help="say what runs")
    return parser


def _interrupted(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
