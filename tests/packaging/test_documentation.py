# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation site builds without a warning, has a page for everything, and a browser shows it."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from .conftest import CHECKOUT

GUIDES = sorted(path.stem for path in (CHECKOUT / "docs" / "docsite" / "rst").glob("*.rst"))
MODULES = sorted(path.stem for path in (CHECKOUT / "plugins" / "modules").glob("gpu_*.py"))
ROLES = sorted(path.parent.name for path in (CHECKOUT / "roles").glob("*/meta/"))
CHROMIUM = shutil.which("chromium")
BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]


@pytest.fixture(scope="module")
def site() -> Path:
    """The built site. A reference that leads nowhere, or a picture that is missing, fails the build."""
    done = subprocess.run(
        [str(CHECKOUT / "scripts" / "docs")], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return CHECKOUT / "docs" / "_build" / "html"


def test_everything_has_a_page(site: Path) -> None:
    wanted = [
        *(f"{module}_module.html" for module in MODULES),
        *(f"{role}_role.html" for role in ROLES),
        *(f"docsite/{guide}.html" for guide in GUIDES),
    ]
    assert [page for page in wanted if not (site / page).is_file()] == []


def test_every_guide_is_reached_from_the_front_page(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    assert [guide for guide in GUIDES if f"docsite/{guide}.html" not in front] == []


def pixels(picture: bytes) -> bytes:
    """The filtered scan lines of a PNG."""
    data, at = b"", 8
    while at < len(picture):
        length, kind = int.from_bytes(picture[at : at + 4]), picture[at + 4 : at + 8]
        data += picture[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    return zlib.decompress(data)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")
@pytest.mark.parametrize("page", ["docsite/concepts.html", "docsite/guide_on_call.html", "assign_role.html"])
def test_a_browser_shows_a_page(site: Path, tmp_path: Path, page: str) -> None:
    address = (site / page).as_uri()
    shot = tmp_path / "page.png"

    def browse(*options: str) -> str:
        command = [str(CHROMIUM), *BROWSER, f"--user-data-dir={tmp_path}", *options, address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    browse(f"--screenshot={shot}", "--window-size=1200,1600")
    assert "gpuops.reservations" in browse("--dump-dom")
    assert len(set(pixels(shot.read_bytes()))) > 50, "the page is blank"
