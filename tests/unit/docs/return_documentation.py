# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds what a module returned against what its documentation says that it returns."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

import yaml

PREFIX = "gpuops.reservations."
# What Ansible itself, or every module, adds to a result.
NOT_OF_THE_MODULE = {
    "action", "attempts", "changed", "deprecations", "diff", "failed", "invocation", "plan", "plan_digest",
    "retries", "warnings",
}  # fmt: skip
TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "dict": (dict,),
    "float": (float, int),
    "int": (int,),
    "list": (list,),
    "str": (str,),
}


def documented(module: str) -> dict[str, dict[str, Any]]:
    """The RETURN documentation of a module, by key."""
    package = "ansible_collections.gpuops.reservations.plugins.modules"
    loaded = yaml.safe_load(importlib.import_module(f"{package}.{module}").RETURN)
    assert isinstance(loaded, dict)
    return loaded


def results(output: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Module and result of each task of ours that ran and did not fail, from the output of callback json."""
    for play in json.loads(output[output.index("{") :])["plays"]:
        for task in play["tasks"]:
            for result in task["hosts"].values():
                module = str(result.get("action")).removeprefix(PREFIX)
                ran = not result.get("skipped") and not result.get("failed")
                if str(result.get("action")).startswith(PREFIX) and ran:
                    yield module, result


def differences(module: str, result: dict[str, Any]) -> list[str]:
    """Where result and documentation disagree; empty where they agree."""
    told = documented(module)
    found = [
        f"{module}: {key} is returned and not documented"
        for key in result.keys() - told.keys() - NOT_OF_THE_MODULE
        if not key.startswith("_")
    ]
    for key, entry in told.items():
        if key not in result:
            if entry["returned"] == "always":
                found.append(f"{module}: {key} is documented as always returned, and is missing")
            continue
        value = result[key]
        if value is not None and not isinstance(value, TYPES[entry["type"]]):
            found.append(f"{module}: {key} is documented as {entry['type']}, and is {type(value).__name__}")
        else:
            found += [f"{module}: {key}: {difference}" for difference in _unlike(entry.get("sample"), value)]
    return found


def _unlike(sample: Any, value: Any) -> Iterator[str]:
    """Keys that a sample shows and that the real value does not have."""
    if isinstance(sample, list) and isinstance(value, list) and sample and value:
        yield from _unlike(sample[0], value[0])
    elif isinstance(sample, dict) and isinstance(value, dict) and value:
        for key in sample:
            if key in value:
                yield from _unlike(sample[key], value[key])
            else:
                yield f"the sample has {key}, a real result has {sorted(value)}"
    elif isinstance(sample, (dict, list)) and value is not None and not isinstance(value, type(sample)):
        yield f"the sample is a {type(sample).__name__}, a real result a {type(value).__name__}"
