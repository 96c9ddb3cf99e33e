# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Event that carries a notice to a tenant."""

from __future__ import annotations

from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_notice import (
    bindings_to_tell,
    event_of,
    release_notice,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.tenant_nodes import (
    BAR,
    FOO,
    NOW,
    binding,
    world,
)


def test_the_event_is_about_the_binding_and_fits_the_api() -> None:
    seen = world(bindings=[binding()])
    notice = release_notice(
        seen, node="n" * 200, reservation="foo", tenant=FOO, version="u/1", why="w" * 2000, evict=False
    )
    event = event_of(notice, seen.bindings[0], NOW)
    assert event["regarding"] == {
        "apiVersion": "scheduling.coreweave.cloud/v1alpha1",
        "kind": "ReservationBinding",
        "namespace": FOO,
        "name": "binding",
        "uid": f"uid-{FOO}-binding",
        "resourceVersion": "1",
    }
    assert event["metadata"] == {"name": f"{notice.id}-binding", "namespace": FOO}
    assert event["eventTime"] == "2026-11-30T12:00:00.000000Z"
    assert len(event["note"]) == 1024
    assert event["type"] == "Warning"


def test_a_long_name_of_a_binding_still_makes_a_name() -> None:
    seen = world(bindings=[binding("b" * 252 + "x")])
    notice = release_notice(seen, node="n1", reservation="foo", tenant=FOO, version="u", why="x", evict=False)
    assert len(event_of(notice, seen.bindings[0], NOW)["metadata"]["name"]) <= 253


def test_who_is_told() -> None:
    """Every binding of the tenant: its Pods use all of its nodes, whichever Reservation they name."""
    seen = world(
        bindings=[
            binding(),
            binding("other", reservation_name="another"),
            binding(namespace=BAR),
            binding(namespace="leaving"),
        ],
        tenants={FOO: FOO, BAR: BAR, "leaving": FOO},
        terminating=["leaving"],
    )
    assert [one.shown for one in bindings_to_tell(seen, FOO)] == [f"{FOO}/binding", f"{FOO}/other"]
    assert bindings_to_tell(seen, "") == ()
