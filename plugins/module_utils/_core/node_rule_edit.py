# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves one node's rule to another mode in place: its name and three labels, and no other byte."""

from __future__ import annotations

from .errors import ObservationError
from .fleet_files import FleetFile
from .modes import ACTIVE_LABEL, CONFIG_LABEL, CONFIG_WRITTEN, EXPECTED_LABEL
from .node_rule import NodeRule, NodeRules, read_rules
from .yaml_positions import Scalar


def moved_rule_file(file: FleetFile, cluster: str, node: str, to_mode: str) -> FleetFile:
    """The rule file with one node's rule moved.

    Each of the four scalars keeps its quotes. The new text is read again before it is answered: it must
    say what was meant for this node, and the same as before for all others.

    Args:
        file: the file as it was read.
        cluster: the cluster's name.
        node: the node.
        to_mode: the mode to move it to.

    Raises:
        ObservationError: the node's rule cannot be relied on, or is written so that it cannot be edited
            without touching something else (anchors and aliases, escapes in plain text).
    """
    before = read_rules(file, cluster)
    rule = before.lookup(node)
    if not isinstance(rule, NodeRule):
        raise rule.error()
    text = file.text or ""
    for scalar, value in sorted(_wanted(rule, to_mode), key=lambda edit: edit[0].start, reverse=True):
        text = text[: scalar.start] + _written(before.path, text, scalar, value) + text[scalar.end :]
    after = FleetFile(path=file.path, mode=file.mode, text=text)
    if not _only_moved(before, read_rules(after, cluster), node, to_mode):
        raise ObservationError(
            "node-rule-not-editable",
            f"{before.path}: the rule of {node} cannot be edited so that it says {to_mode} and nothing else "
            "changes",
            next_action=f"write name and labels of that rule out plainly in {before.path}, then run again",
        )
    return after


def _wanted(rule: NodeRule, to_mode: str) -> tuple[tuple[Scalar, str], ...]:
    edits = (
        (rule.name, f"{rule.node}-{to_mode}"),
        (rule.labels[ACTIVE_LABEL], to_mode),
        (rule.labels[EXPECTED_LABEL], to_mode),
        (rule.labels[CONFIG_LABEL], CONFIG_WRITTEN[to_mode]),
    )
    # What says the right thing already keeps its bytes.
    return tuple((scalar, value) for scalar, value in edits if scalar.value != value)


def _written(path: str, text: str, scalar: Scalar, value: str) -> str:
    """How the new value stands in place of the old one, in the same quotes."""
    source = text[scalar.start : scalar.end]
    if scalar.shared:
        raise _not_editable(path, scalar, "an alias repeats it, so that the edit would show elsewhere too")
    if source.count(scalar.value) == 1:
        return source.replace(scalar.value, value)
    if scalar.quoted and source.startswith('"'):
        return f'"{value}"'
    raise _not_editable(path, scalar, "it is not written in one piece")


def _not_editable(path: str, scalar: Scalar, why: str) -> ObservationError:
    return ObservationError(
        "node-rule-not-editable",
        f"{path}, line {scalar.line}: {scalar.value!r} cannot be edited in place: {why}",
        next_action=f"write that value out plainly in {path}, then run again",
    )


def _only_moved(before: NodeRules, after: NodeRules, node: str, to_mode: str) -> bool:
    moved = after.lookup(node)
    others = {name: rule.mode for name, rule in before.rules.items() if name != node}
    same = others == {name: rule.mode for name, rule in after.rules.items() if name != node}
    troubles = {name: trouble.code for name, trouble in before.troubles.items()}
    same = same and troubles == {name: trouble.code for name, trouble in after.troubles.items()}
    return isinstance(moved, NodeRule) and moved.mode == to_mode and same
