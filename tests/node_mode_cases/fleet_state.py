# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case says about the fleet repository, as the text of its files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import (
    NotUnderstood,
    Section,
    boolean,
)

GATES = ("GPU_SHARED_CREATION_ENABLED", "GPU_VM_CREATION_ENABLED")
_CONFIG = {"pod-hami": "container", "pod-hami-dra": "container"}
_REMOTES = {
    "in_sync": "in_sync", "ok": "in_sync", "reachable": "in_sync",
    "refuses_push": "refuses_push", "rejects_push": "refuses_push", "protected": "refuses_push",
    "unreachable": "unreachable", "missing": "unreachable",
    "read_only": "read_only", "not_pushable": "read_only", "no_push": "read_only",
    "ahead": "ahead", "moved": "ahead", "newer": "ahead", "stale_checkout": "ahead", "stale": "ahead",
    "behind": "ahead",
}  # fmt: skip
_STYLES = {
    "block": "block", "plain": "block", "default": "block",
    "flow": "flow", "flow_style": "flow", "json": "flow",
    "crlf": "crlf", "windows": "crlf", "dos": "crlf",
    "single_quoted": "single", "single_quotes": "single", "single": "single",
    "double_quoted": "double", "double_quotes": "double", "double": "double", "quoted": "double",
    "commented": "commented", "comments": "commented", "with_comments": "commented",
    "bom": "bom", "byte_order_mark": "bom",
    "no_final_newline": "no_newline", "expanded": "expanded", "block_lists": "expanded",
}  # fmt: skip
_ORDER = ("block", "expanded", "flow", "single", "double", "commented", "no_newline", "crlf", "bom")
_STYLE_KEYS = (
    "style", "styles", "rule_style", "file_style", "format", "file_format", "line_ends", "line_endings",
    "line_end", "eol", "newlines", "quoting", "quotes", "layout", "rule_file_style", "rule_format", "written",
)  # fmt: skip
_TEXT_KEYS = (
    "rule_text", "rule_file_text", "text", "rule_file", "file", "raw", "content", "yaml", "rule_yaml",
)  # fmt: skip
_RULES = {
    "present": "present", "ok": "present", "single": "present", "normal": "present",
    "none_for_node": "none", "absent": "none", "missing": "none", "none": "none",
    "two_blocks_for_node": "two", "two_rules_for_node": "two", "duplicate": "two",
    "file_missing": "file_missing", "no_file": "file_missing",
    "several_nodes": "several", "two_nodes_in_block": "several", "names_several_nodes": "several",
    "block_for_two_nodes": "several", "two_nodes_in_one_block": "several", "two_nodes": "several",
    "one_block_for_two_nodes": "several",
    "unparsable": "unparsable", "unreadable": "unparsable", "not_yaml": "unparsable", "broken": "unparsable",
    "invalid": "unparsable", "invalid_yaml": "unparsable", "empty": "empty", "file_empty": "empty",
    "foreign_feature": "foreign", "other_feature": "foreign", "wrong_feature": "foreign",
    "vendor_value": "vendor", "vendor_only": "vendor", "name_in_vendor": "vendor",
    "node_in_other_feature": "vendor", "value_of_other_feature": "vendor",
    "wrong_name": "wrong_name", "name_mismatch": "wrong_name", "other_name": "wrong_name",
    "wrong_object": "wrong_object", "wrong_object_name": "wrong_object",
    "wrong_metadata_name": "wrong_object",
    "other_kind": "wrong_kind", "wrong_kind": "wrong_kind",
    "two_documents": "two_documents", "duplicate_key": "duplicate_key", "duplicate_keys": "duplicate_key",
    "regexp": "regexp", "in_regexp": "regexp", "not_in": "not_in", "unbound": "unbound",
    "without_nodename": "unbound", "aliases": "aliases", "anchors": "aliases", "not_utf8": "not_utf8",
}  # fmt: skip


@dataclass
class FleetState:
    """The files of one case's fleet, and how its remote behaves."""

    cluster: str = "cases"
    folder: bool = True
    remote: str = "in_sync"
    rules: dict[str, str] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    rule: str = "present"
    rule_name: str | None = None
    styles: tuple[str, ...] = ()
    rule_text: str | None = None
    node_modes: str | None = None
    settings: dict[str, Any] | None = field(default_factory=dict)
    settings_text: str | None = None
    settings_style: str = "block"

    @property
    def rule_path(self) -> str:
        """Where the rule file stands."""
        return f"clusters/{self.cluster}/gpu-node-modes/nodefeaturerule.yaml"

    @property
    def settings_path(self) -> str:
        """Where the settings stand."""
        return f"clusters/{self.cluster}/cluster-config.env"

    def files(self, node: str) -> dict[str, bytes]:
        """The files below clusters/<cluster>/."""
        if not self.folder:
            return {"clusters/another/README": b"another cluster\n"}
        found = {f"clusters/{self.cluster}/README": b"one cluster\n"}
        settings = self._settings()
        if settings is not None:
            found[self.settings_path] = settings.encode()
        if self.rule_text is not None:
            found[self.rule_path] = self.rule_text.encode()
        elif self.rule == "not_utf8":
            found[self.rule_path] = b"\xff\xfe" + self._rule_file(node).encode()
        elif self.rule != "file_missing":
            found[self.rule_path] = self._rule_file(node).encode()
        return found

    def _settings(self) -> str | None:
        if self.settings_text is not None:
            return self.settings_text
        if self.settings is None:
            return None
        lines = [f"CLUSTER_NAME={self.cluster}", "GPU_ENABLED=true"]
        for key, value in self.settings.items():
            values = value if isinstance(value, list) else [value]
            lines += [f"{key}={_shown(one)}" for one in values if one is not None]
        if self.node_modes is not None:
            lines.append(f"GPU_NODE_MODES={self.node_modes}")
        lines.append("GPU_PROFILES=v100")
        end = "\r\n" if self.settings_style == "crlf" else "\n"
        return end.join(lines) + end

    def _rule_file(self, node: str) -> str:
        if self.rule == "unparsable":
            return "kind: [NodeFeatureRule\n  spec: {"
        if self.rule == "empty":
            return ""
        name = (
            "other" if self.rule == "wrong_object" else self.cluster.replace("/", "-")
        ) + "-gpu-node-modes"
        kind = "ConfigMap" if self.rule == "wrong_kind" else "NodeFeatureRule"
        blocks = []
        for each, mode in self.rules.items():
            blocks += self._blocks(each, mode, mine=each == node)
        text = (
            f"apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: {kind}\n"
            f"metadata:\n  name: {name}\nspec:\n  rules:\n" + "".join(blocks)
        )
        if not blocks:
            text = text[:-1] + " []\n"
        if self.rule == "two_documents":
            text += "---\n" + text
        for style in self.styles:
            text = _styled(text, style)
        return text

    def _blocks(self, node: str, mode: str, *, mine: bool) -> list[str]:
        labels = {"active": mode, "expected": mode, "config": _CONFIG.get(mode, mode)}
        name = f"{node}-{mode}"
        match = _match(node)
        if not mine:
            return [_block(name, labels, match)]
        labels = {**labels, **self.labels}
        if self.rule_name is not None:
            name = self.rule_name
        others = {
            "none": [],
            "two": [_block(name, labels, match)] * 2,
            "several": [_block(name, labels, match.replace(f'["{node}"]', f'["{node}", "{node}-twin"]'))],
            "foreign": [_block(name, labels, match.replace("system.name", "local.label"))],
            "vendor": [_block("pci", labels, _match("another").replace('"10de"', f'"{node}"'))],
            "wrong_name": [_block("another-" + mode, labels, match)],
            "duplicate_key": [
                _block(name, labels, match).replace("      labels:", "      labels: {}\n      labels:")
            ],
            "regexp": [_block(name, labels, match.replace("op: In", "op: InRegexp", 1))],
            "not_in": [_block(name, labels, match.replace("op: In", "op: NotIn", 1))],
            "unbound": [_block(name, labels, match), _block("any", labels, "        - feature: cpu.cpuid\n")],
            "aliases": [
                _block(name, labels, match)
                .replace(f"workload-mode: {mode}", f"workload-mode: &m {mode}", 1)
                .replace(f"expected-workload-mode: {mode}", "expected-workload-mode: *m")
            ],
        }
        return others.get(self.rule, [_block(name, labels, match)])


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _match(node: str) -> str:
    return f"""\
        - feature: system.name
          matchExpressions:
            nodename: {{op: In, value: ["{node}"]}}
        - feature: pci.device
          matchExpressions:
            vendor: {{op: In, value: ["10de"]}}
            class: {{op: In, value: ["0300", "0302"]}}
"""


def _block(name: str, labels: Mapping[str, Any], match: str) -> str:
    keys = {
        "active": "kube-dc.com/gpu.workload-mode",
        "expected": "kube-dc.com/gpu.expected-workload-mode",
        "config": "nvidia.com/gpu.workload.config",
    }
    lines = [f"        {keys[key]}: {value}\n" for key, value in labels.items() if value is not None]
    return f"    - name: {name}\n      labels:\n{''.join(lines)}      matchFeatures:\n{match}"


def _styled(text: str, style: str) -> str:
    if style == "crlf":
        return text.replace("\n", "\r\n")
    if style == "bom":
        return "\ufeff" + text
    if style == "no_newline":
        return text.rstrip("\n")
    if style == "expanded":
        return _expanded(text)
    if style == "commented":
        lines = text.splitlines()
        return "# written by the installer\n" + "".join(
            line + ("   # keep pod-hami" if ("name:" in line or "mode:" in line) else "") + "\n"
            for line in lines
        )
    if style in ("single", "double"):
        quote = "'" if style == "single" else '"'
        return "".join(_quoted(line, quote) + "\n" for line in text.splitlines())
    if style == "flow":
        return _flow(text)
    return text


def _expanded(text: str) -> str:
    """Node names as block lists, one key a line."""
    return re.sub(
        r'nodename: \{op: (\w+), value: \["([^]]*)"\]\}',
        lambda found: (
            f"nodename:\n              op: {found[1]}\n              value:\n"
            + "\n".join(f'                - "{name}"' for name in found[2].split('", "'))
        ),
        text,
    )


def _quoted(line: str, quote: str) -> str:
    key, separator, value = line.partition(": ")
    if not separator or value.startswith(("{", "[")):
        return line
    return f"{key}: {quote}{value}{quote}"


def _flow(text: str) -> str:
    document = yaml.safe_load(text)
    rules = document["spec"].pop("rules")
    head = json.dumps(document)[: -len('"spec": {}}')]
    return head + '"spec": {"rules": [\n' + ",\n".join(" " + json.dumps(rule) for rule in rules) + "\n]}}\n"


def fleet_state(mapping: Any, gates: Any, node: str, cluster: str) -> FleetState:
    """The fleet that a case starts from. Raises NotUnderstood."""
    state = FleetState(cluster=cluster)
    change_fleet(state, Section("given.fleet", mapping), node)
    change_settings(state, gates, "given.gates_file")
    return state


def change_fleet(state: FleetState, section: Section, node: str) -> None:
    """Apply keys of ``fleet`` to a state."""
    mode = section.take("mode")
    rules = section.take("rules")
    if rules is not None:
        state.rules = {str(name): str(value) for name, value in rules.items()}
    elif mode is not None:
        state.rules = {**state.rules, node: str(mode)}
    state.remote = _word(section, _REMOTES, state.remote, "remote")
    # A case may say under "rule" that it is written in another style, as it says that it is missing.
    written = section.take("rule")
    if isinstance(written, str) and written not in _RULES and written in _STYLES:
        state.styles = _styles(written, section.where)
    elif written is not None:
        state.rule = _word(Section(section.where, {"rule": written}), _RULES, state.rule, "rule")
    styles = section.take(*_STYLE_KEYS)
    if styles is not None:
        state.styles = _styles(styles, section.where)
    labels = section.take("rule_labels")
    if labels is not None:
        unknown = set(labels) - {"active", "expected", "config"}
        if unknown:
            raise NotUnderstood(f"{section.where}.rule_labels: does not know {', '.join(sorted(unknown))}")
        state.labels = dict(labels)
    state.rule_name = section.take("rule_name", default=state.rule_name)
    state.rule_text = section.take(*_TEXT_KEYS, default=state.rule_text)
    if section.has("node_modes", "GPU_NODE_MODES"):
        modes = section.take("node_modes", "GPU_NODE_MODES")
        state.node_modes = (
            ",".join(f"{k}={v}" for k, v in modes.items()) if isinstance(modes, dict) else modes
        )
    state.settings_style = _word(section, _STYLES, state.settings_style, "config_style", "env_style")
    folder = section.take("cluster_folder", "cluster")
    if folder is not None:
        if folder in ("missing", "absent", False):
            state.folder = False
        elif folder not in ("present", True):
            raise NotUnderstood(f"{section.where}.cluster_folder: present or missing, not {folder!r}")
    section.take("note")
    section.done()


def _styles(value: Any, where: str) -> tuple[str, ...]:
    """One style or several, in the order in which they are put on: line ends last."""
    words = value if isinstance(value, list) else [value]
    unknown = [word for word in words if word not in _STYLES]
    if unknown:
        raise NotUnderstood(f"{where}.style: does not know {unknown[0]!r}; known are {', '.join(_STYLES)}")
    return tuple(sorted((_STYLES[word] for word in words), key=_ORDER.index))


def _word(section: Section, known: Mapping[str, str], default: str, *names: str) -> str:
    value = section.take(*names)
    if value is None:
        return default
    if str(value) not in known:
        raise NotUnderstood(
            f"{section.where}.{names[0]}: does not know {value!r}; known are {', '.join(known)}"
        )
    return known[str(value)]


def change_settings(state: FleetState, gates: Any, where: str) -> None:
    """Apply ``gates_file``: settings by key, a list for a key that stands several times, or a word."""
    if gates is None or gates in ("missing", "absent", "file_missing"):
        state.settings, state.settings_text = None, None
        return
    if isinstance(gates, str):
        if gates != "empty" and "=" not in gates:
            raise NotUnderstood(f"{where}: does not know {gates!r}; settings, or one of missing, empty")
        state.settings_text = "" if gates == "empty" else gates
        return
    section = Section(where, gates)
    state.settings_text = section.take("text", "raw", default=state.settings_text)
    if boolean(section.take("crlf", default=False), where):
        state.settings_style = "crlf"
    for key, value in section.rest().items():
        if not str(key).isupper() or isinstance(value, dict):
            raise NotUnderstood(f"{where}: does not know {key}: {value!r}")
        if key == "GPU_NODE_MODES":
            state.node_modes = value
        else:
            state.settings = {**(state.settings or {}), key: value}
