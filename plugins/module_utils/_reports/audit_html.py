# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .audit_chart import pool_chart
from .audit_page import PAGE, STYLE
from .jinja_library import environment


def render_html(bundle: Mapping[str, Any]) -> str:
    """The page of an audit bundle.

    Args:
        bundle: what ``audit_bundle`` answers.

    Raises:
        DependencyMissing: Jinja2 is not installed.
    """
    charts = [pool_chart(pool["equation"]) for pool in bundle["pools"]]
    errors = sum(1 for finding in bundle["findings"] if finding["severity"] == "error")
    page = environment().from_string(PAGE)
    return str(page.render(bundle=bundle, charts=charts, errors=errors, style=STYLE))
