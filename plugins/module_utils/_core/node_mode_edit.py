# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The change of the fleet's files that moves one node: its rule, and its entry in GPU_NODE_MODES."""

from __future__ import annotations

from dataclasses import dataclass

from .cluster_config import config_path
from .errors import ObservationError
from .fleet_files import FleetFile
from .node_mode_facts import ModeFacts, ModeRequest
from .node_modes_entry import EntryUnclear, moved_entry
from .node_rule import rule_path
from .node_rule_edit import moved_rule_file


@dataclass(frozen=True)
class ModeEdit:
    """Files before and after, and the commit that carries them.

    Attributes:
        base: the revision that the change was made upon.
        files: pairs of a file before and after.
        message: the commit's message.
    """

    base: str
    files: tuple[tuple[FleetFile, FleetFile], ...]
    message: str

    def changes(self) -> dict[str, bytes | None]:
        """New content by path."""
        return {after.path: after.content for _before, after in self.files}


def mode_edit(request: ModeRequest, facts: ModeFacts) -> ModeEdit:
    """The change that moves the node in the fleet's files; every other byte stays.

    Raises:
        ObservationError: rule or entry cannot be edited in place without touching something else.
    """
    files: list[tuple[FleetFile, FleetFile]] = []
    rule_file = facts.fleet.file(rule_path(request.cluster))
    if rule_file is not None:
        files.append((rule_file, moved_rule_file(rule_file, request.cluster, request.node, request.to_mode)))
    config = facts.fleet.file(config_path(request.cluster))
    if config is not None and config.text is not None:
        try:
            text = moved_entry(config.text, request.node, request.to_mode)
        except EntryUnclear as error:
            raise ObservationError(
                "node-modes-entry-unclear",
                f"{config.path}: {error}",
                next_action=f"correct {config.path}, then run again",
            ) from error
        if text != config.text:
            files.append((config, FleetFile(path=config.path, mode=config.mode, text=text)))
    message = (
        f"Move node {request.node} from {request.from_mode} to {request.to_mode}\n\n"
        f"Cluster {request.cluster}: name and labels of the node's rule, and its entry in GPU_NODE_MODES.\n"
    )
    return ModeEdit(facts.fleet.revision, tuple(files), message)
