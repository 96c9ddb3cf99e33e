# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate to PyYAML, with and without the library."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._core import yaml_library
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import DependencyMissing


def test_the_loader_and_dumper_are_safe_ones_on_libyaml() -> None:
    assert yaml_library.safe_loader() is yaml.CSafeLoader
    assert yaml_library.safe_dumper() is yaml.CSafeDumper


def test_without_libyaml_the_pure_ones_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")
    monkeypatch.delattr(yaml, "CSafeDumper")
    assert yaml_library.safe_loader() is yaml.SafeLoader
    assert yaml_library.safe_dumper() is yaml.SafeDumper


def test_without_pyyaml_any_use_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_library, "_library", None)
    monkeypatch.setattr(yaml_library, "YAML_IMPORT_ERROR", "no module named yaml")
    for use in (yaml_library.library, yaml_library.safe_loader, yaml_library.safe_dumper):
        with pytest.raises(DependencyMissing) as caught:
            use()
        assert caught.value.library == "PyYAML"
        assert caught.value.traceback == "no module named yaml"
