# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Markdown with findings first, the bundle's numbers, and no text that becomes markup."""

from __future__ import annotations

from ansible_collections.gpuops.reservations.plugins.module_utils._reports.audit_markdown import (
    render_markdown,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._reports.bundles import (
    DEVICE_UUID,
    HOSTILE,
    bundle_of,
    failing,
    healthy,
)


def test_a_passed_audit() -> None:
    text = render_markdown(healthy())
    assert text.startswith("# GPU capacity audit of lab\n\n**Passed**, observed 2026-11-10T12:00:00Z")
    assert "| headroom | 17 |" in text
    assert "| cumulus | 8 | 0 | 0 | 8 | 8 | 8 |" in text
    assert "Not in service: nothing is sold from it." in text


def test_findings_first_with_their_next_step() -> None:
    text = render_markdown(bundle_of(failing()))
    assert "**Failed, errors: 5**" in text
    assert text.index("## Findings") < text.index("## Pool h100-vm")
    assert "- **error** `degraded-capacity` node/gpu-02: " in text
    assert "  Next: find the missing devices of gpu-02" in text


def test_text_does_not_become_markup() -> None:
    text = render_markdown(bundle_of(failing()))
    assert HOSTILE not in text
    assert DEVICE_UUID not in text
    for line in text.splitlines():
        if line.startswith("| ") and "gpu-" in line:
            assert line.endswith(" |")


def test_a_bar_in_a_value_does_not_end_its_cell() -> None:
    bundle = healthy()
    bundle["pools"][0]["nodes"][0]["message"] = "a|b\nc"
    assert "| a\\|b c |" in render_markdown(bundle)
