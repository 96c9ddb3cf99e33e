# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page is one file, escapes what it shows, leads with findings, and says the bundle's numbers."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import DependencyMissing
from ansible_collections.gpuops.reservations.plugins.module_utils._reports import jinja_library
from ansible_collections.gpuops.reservations.plugins.module_utils._reports.audit_html import render_html
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._reports.bundles import (
    DEVICE_UUID,
    HOSTILE,
    bundle_of,
    failing,
    healthy,
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """What a reader sees: the texts, the headings, each pool's headroom, each organization's numbers."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.numbers: dict[tuple[str, str], list[str]] = {}
        self.headrooms: dict[str, str] = {}
        self._pool = self._organization = self._of = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append((tag, values))
        self._pool = values.get("data-profile") or self._pool
        if tag == "tr":
            self._organization = values.get("data-organization") or ""
        self._of = values.get("class") or ""

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._of == "headroom" and data.strip():
            self.headrooms[self._pool] = data.strip()
        if self._of == "number" and self._organization and data.strip():
            self.numbers.setdefault((self._pool, self._organization), []).append(data.strip())
        self._of = ""


def hold_against(page: Page, bundle: dict[str, Any]) -> None:
    """The page's numbers equal the bundle's."""
    for pool in bundle["pools"]:
        if pool["in_service"]:
            assert page.headrooms[pool["profile"]] == str(pool["equation"]["headroom"])
        for item in pool["organizations"]:
            shown = page.numbers[pool["profile"], item["organization"]]
            keys = ("hard", "used", "ordinary", "granted", "reserved", "claim")
            assert shown == [str(item[key]) for key in keys]


@pytest.mark.parametrize("bundle", [healthy(), bundle_of(failing())], ids=["passed", "failed"])
def test_the_numbers_are_the_bundles(bundle: dict[str, Any]) -> None:
    hold_against(Page(render_html(bundle)), bundle)


def test_findings_come_first_and_errors_before_the_rest() -> None:
    page = render_html(bundle_of(failing()))
    assert page.index(">Findings<") < page.index("Pool h100-vm")
    severities = re.findall(r'class="finding (\w+)"', page)
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert set(severities) == {"error", "warning", "note"}
    assert "Failed, errors: 5" in page


def test_nothing_is_loaded_from_outside_and_no_script_runs() -> None:
    page = Page(render_html(bundle_of(failing())))
    names = {tag for tag, _attributes in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "video"}
    for _tag, attributes in page.tags:
        assert not set(attributes) & {"src", "href", "srcset", "xlink:href"}
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in render_html(healthy())
    assert "@import" not in render_html(healthy())


def test_what_wants_to_be_markup_is_text_and_identifiers_are_masked() -> None:
    page = render_html(bundle_of(failing()))
    assert HOSTILE not in page
    assert any(HOSTILE in text for text in Page(page).texts) or "&lt;script&gt;" in page
    assert DEVICE_UUID not in page


def test_it_is_made_for_a_phone_and_for_paper() -> None:
    page = render_html(healthy())
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "@media print" in page
    assert "@media screen and (prefers-color-scheme: dark)" in page, "paper is never dark"
    assert "Passed" in page


def test_a_pool_that_is_not_in_service_says_so() -> None:
    assert "Not in service: nothing is sold from it." in render_html(healthy())


def test_without_the_library_the_usual_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jinja_library, "_library", None)
    with pytest.raises(DependencyMissing, match="Jinja2"):
        render_html(healthy())


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, which draws the page")
@pytest.mark.parametrize("width", [1200, 390], ids=["desk", "phone"])
def test_a_browser_draws_it_without_errors_and_shows_the_same_numbers(tmp_path: Path, width: int) -> None:
    bundle = bundle_of(failing())
    file, picture = tmp_path / "audit.html", tmp_path / "audit.png"
    file.write_text(render_html(bundle), encoding="utf-8")
    common = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},2000",
        "--enable-logging=stderr",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ]
    drawn = subprocess.run(
        [*common, f"--screenshot={picture}", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in drawn.stderr
    assert picture.stat().st_size > 20_000
    dumped = subprocess.run(
        [*common, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    page = Page(dumped.stdout)
    hold_against(page, bundle)
    assert sum(1 for tag, _attributes in page.tags if tag == "rect") >= 4


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, which prints the page")
def test_a_browser_prints_it(tmp_path: Path) -> None:
    file, paper = tmp_path / "audit.html", tmp_path / "audit.pdf"
    file.write_text(render_html(bundle_of(failing())), encoding="utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    plain = ["--headless", "--no-sandbox", "--disable-gpu", profile, "--enable-logging=stderr"]
    printed = subprocess.run(
        [str(CHROMIUM), *plain, f"--print-to-pdf={paper}", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in printed.stderr
    content = paper.read_bytes()
    assert content.startswith(b"%PDF-")
    pages = re.search(rb"/Count (\d+)", content)
    assert pages is not None
    assert 1 <= int(pages[1]) <= 6, "findings, two pools, gates"
    assert len(content) > 10_000
