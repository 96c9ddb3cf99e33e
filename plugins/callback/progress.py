# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows what a module waits for while it waits."""

from __future__ import annotations

DOCUMENTATION = r"""
---
name: progress
type: notification
short_description: Show what a module waits for, while it waits
version_added: 0.1.0
description:
  - Modules of this collection that wait for the platform write what they wait for, and what they saw last,
    to a file. This callback shows those lines below the running task, each at most every few seconds.
  - It works for modules that run on the machine where the playbook runs, as this collection's do.
author:
  - The gpuops.reservations contributors (@gpuops)
options:
  interval:
    description: Seconds between two lines that say the same thing is still waited for.
    type: float
    default: 5.0
    env:
      - name: GPUOPS_PROGRESS_INTERVAL
    ini:
      - section: callback_gpuops_progress
        key: interval
requirements:
  - set C(callbacks_enabled=gpuops.reservations.progress) in ansible.cfg
"""

import contextlib
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

VARIABLE = "GPUOPS_PROGRESS_FILE"
"""Modules find the file by this environment variable, which their processes inherit."""

LOOK_SECONDS = 0.5


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """Follows the file from the start of the playbook to its end."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "gpuops.reservations.progress"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._follower: Follower | None = None

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Begin: from here on, modules have somewhere to write."""
        del playbook
        handle, name = tempfile.mkstemp(prefix="gpuops-progress-")
        os.close(handle)
        os.environ[VARIABLE] = name
        self._follower = Follower(Path(name), float(self.get_option("interval")), self._display.display)
        self._follower.start()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """End: show what is left, and leave nothing behind."""
        del stats
        if self._follower is not None:
            self._follower.end()
            os.environ.pop(VARIABLE, None)


class Follower:
    """Shows lines as they are added to a file.

    Args:
        path: the file.
        interval: seconds between two lines about the same wait.
        show: shows one line.
    """

    def __init__(self, path: Path, interval: float, show: Any) -> None:
        self._path = path
        self._interval = interval
        self._show = show
        self._offset = 0
        self._said: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True, name="gpuops-progress")

    def start(self) -> None:
        """Follow in a thread of its own."""
        self._thread.start()

    def end(self) -> None:
        """Stop following, and remove the file."""
        self._ended.set()
        self._thread.join(timeout=5)
        self.look(0.0)
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _follow(self) -> None:
        clock = 0.0
        while not self._ended.wait(LOOK_SECONDS):
            clock += LOOK_SECONDS
            self.look(clock)

    def look(self, clock: float) -> None:
        """Show whole lines that were added; the same wait again only after the interval.

        Args:
            clock: seconds since following began.
        """
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                content = file.read()
        except OSError:
            return
        whole = content[: content.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode("utf-8", "replace").splitlines():
            subject = line.partition(" since ")[0].partition(": ")[0]
            last = self._said.get(subject)
            if last is None or clock - last >= self._interval:
                self._said[subject] = clock
                self._show(f"    ... {line}")
