# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each permission is named when it is missing."""

from __future__ import annotations

from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_access import (
    READS,
    WRITES,
    Permission,
    judge_permission,
)


def test_a_missing_permission_says_what_and_how_to_see_it() -> None:
    check = judge_permission(Permission("patch", "nodes"), allowed=False)
    assert (check.status, check.object) == ("fail", "patch nodes")
    assert "kubectl auth can-i patch nodes -A" in check.next_action


def test_what_only_a_real_run_needs_stops_no_check_mode() -> None:
    one = Permission("create", "pods", subresource="eviction")
    assert judge_permission(one, allowed=False, needed=False).status == "not_applicable"
    assert judge_permission(one, allowed=True).status == "pass"
    assert one.trial == "kubectl auth can-i create pods --subresource=eviction -A"


def test_reads_hold_no_write_but_the_canary() -> None:
    writing = [one.text for one in READS if one.verb not in ("get", "list", "watch")]
    assert writing == ["create pods in namespace gpuops-reservation-canary"]
    assert {one.verb for one in WRITES} == {"get", "patch", "create"}
