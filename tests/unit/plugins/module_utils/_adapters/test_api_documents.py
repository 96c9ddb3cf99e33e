# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documents come out of bytes whole, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_documents import (
    Groups,
    Review,
    Version,
    from_bytes,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError


def test_documents() -> None:
    assert from_bytes("/version", Version, b'{"gitVersion":"v1","x":1}').git_version == "v1"
    assert from_bytes("/apis", Groups, b'{"groups":[{"name":"a"}]}').groups[0].name == "a"
    assert from_bytes("/r", Review, b'{"status":{"allowed":false}}').status.allowed is False
    assert from_bytes("/x", dict[str, Any], b'{"a":[1]}') == {"a": [1]}


@pytest.mark.parametrize(
    "body", [b"", b'{"status":{"allowed"', b'{"status":{}}', b'{"status":{"allowed":"canary"}}']
)
def test_what_is_cut_off_or_of_another_shape(body: bytes) -> None:
    with pytest.raises(ObservationError) as raised:
        from_bytes("/r", Review, body)
    assert raised.value.code == "body-unreadable"
    assert "/r" in raised.value.message
    assert "canary" not in raised.value.message + str(raised.value.details)
