# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that fragments document are the options that the shell's specifications accept."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._shell import argument_spec

FRAGMENTS = [
    ("connection", "DOCUMENTATION", "CONNECTION"),
    ("connection", "SNAPSHOT", "SNAPSHOT"),
    ("fleet", "DOCUMENTATION", "FLEET"),
    ("pool", "RUN", "RUN"),
    ("waiting", "DOCUMENTATION", "WAIT"),
    ("order", "DOCUMENTATION", "ORDER"),
]


def documented(fragment: str, part: str) -> dict[str, Any]:
    package = "ansible_collections.gpuops.reservations.plugins.doc_fragments"
    module = importlib.import_module(f"{package}.{fragment}")
    options = yaml.safe_load(getattr(module.ModuleDocFragment, part))["options"]
    assert isinstance(options, dict)
    return options


def shape(option: dict[str, Any], nested: str) -> dict[str, Any]:
    """What documentation and specification both say of an option."""
    return {
        "type": option["type"],
        "default": option.get("default"),
        "required": option.get("required", False),
        "aliases": sorted(option.get("aliases", [])),
        "choices": option.get("choices"),
        "elements": option.get("elements"),
        "options": {name: shape(sub, nested) for name, sub in option.get(nested, {}).items()},
    }


@pytest.mark.parametrize(("fragment", "part", "spec"), FRAGMENTS, ids=str)
def test_the_fragment_documents_what_the_specification_accepts(fragment: str, part: str, spec: str) -> None:
    accepted = getattr(argument_spec, spec).options
    told = documented(fragment, part)
    assert {name: shape(option, "suboptions") for name, option in told.items()} == {
        name: shape(option, "options") for name, option in accepted.items()
    }


@pytest.mark.parametrize(("fragment", "part", "spec"), FRAGMENTS, ids=str)
def test_every_environment_variable_is_documented(fragment: str, part: str, spec: str) -> None:
    told = documented(fragment, part)
    for name, option in getattr(argument_spec, spec).options.items():
        for variable in option.get("fallback", (None, []))[1]:
            assert f"E({variable})" in " ".join(told[name]["description"]), f"{name}: {variable} is missing"
