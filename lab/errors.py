# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error that ends a lab command."""

from __future__ import annotations


class LabError(Exception):
    """The lab cannot go on.

    The text says the cause and the facts; ``next_action`` is what a person does about it.
    """

    def __init__(self, message: str, next_action: str) -> None:
        super().__init__(message)
        self.next_action = next_action
