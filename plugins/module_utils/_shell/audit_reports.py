# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes an audit's reports: JSON bundle, HTML page, Markdown, and metrics for a textfile collector."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._core.errors import InputError
from .._reports.audit_html import render_html
from .._reports.audit_markdown import render_markdown
from .._reports.audit_metrics import render_metrics
from .observation import save_text

COLLECTOR_MODE = 0o644
"""The collector runs as another user; metrics hold no identifiers."""


def write_reports(folder: str, bundle: Mapping[str, Any]) -> tuple[str, ...]:
    """Write every report, each whole or not at all.

    Args:
        folder: an existing folder.
        bundle: what ``audit_bundle`` answers.

    Returns:
        The files' names.

    Raises:
        InputError: ``report-dir-missing``, or a file cannot be written.
    """
    target = Path(folder)
    if not target.is_dir():
        raise InputError(
            "report-dir-missing",
            f"report_dir: {folder} is no folder",
            next_action=f"create it: mkdir -p {folder}",
        )
    texts = {
        "audit.json": json.dumps(bundle, indent=1, sort_keys=True, ensure_ascii=False) + "\n",
        "audit.html": render_html(bundle),
        "audit.md": render_markdown(bundle),
        "gpuops_reservations.prom": render_metrics(bundle),
    }
    for name, text in texts.items():
        save_text(str(target / name), text)
    (target / "gpuops_reservations.prom").chmod(COLLECTOR_MODE)
    return tuple(str(target / name) for name in texts)
