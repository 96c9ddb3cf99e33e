# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Reservation from a module's options."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_spec import (
    new_reservation,
    spec_changes,
    wanted_spec,
)


def test_options_that_are_left_out_are_left_as_they_are() -> None:
    params = {"tenant": "foo", "apply_taint": False, "reserved_nodes": None, "evict_on_release": None}
    assert wanted_spec(params) == {"tenant": "foo", "applyTaint": False}


@pytest.mark.parametrize(
    "spec", [{}, {"tenant": "foo"}, {"reservedNodes": ["n1"]}, {"tenant": "foo", "reservedNodes": []}]
)
def test_a_new_one_needs_tenant_and_nodes(spec: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        new_reservation("foo", spec)
    assert caught.value.code == "option-missing"


def test_only_what_differs_is_changed() -> None:
    stored = {"tenant": "foo", "reservedNodes": ["n2", "n1"], "evictOnRelease": False}
    assert spec_changes("foo", stored, {"tenant": "foo", "reservedNodes": ["n1", "n2"]}) == {}
    assert spec_changes("foo", stored, {"evictOnRelease": True}) == {"evictOnRelease": True}


@pytest.mark.parametrize("field", ["tenant", "applyTaint", "taintEffect"])
def test_what_cannot_change_is_refused_by_name(field: str) -> None:
    with pytest.raises(InputError) as caught:
        spec_changes("foo", {field: "a"}, {field: "b"})
    assert caught.value.code == "field-immutable"
    assert f"spec.{field}" in caught.value.message
