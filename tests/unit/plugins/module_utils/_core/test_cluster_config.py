# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""cluster-config.env: read as it stands, edited in one value only."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_config import (
    config_path,
    setting,
    unquoted,
    with_setting,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    InputError,
    ObservationError,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile

KEY = "GPU_VM_CREATION_ENABLED"


def file(content: bytes | str, mode: Any = "100644") -> FleetFile:
    return FleetFile.of(
        "clusters/lab/cluster-config.env", content.encode() if isinstance(content, str) else content, mode
    )


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (f"{KEY}=false\n", "false"),
        (f"{KEY}=false", "false"),
        (f'{KEY}="false"\n', "false"),
        (f"{KEY}='false'\n", "false"),
        (f"export {KEY}=false\n", "false"),
        (f"  {KEY}=false\n", "false"),
        (f"\ufeff{KEY}=false\r\n", "false"),
        (f"{KEY}=true\n{KEY}=false\n", "false"),
        (f"{KEY}=false\nexport {KEY}=true\n", "true"),
        (f"{KEY}=\n", ""),
        (f'{KEY}=""\n', ""),
        (f"{KEY}=False\n", "False"),
        (f"{KEY}=0\n", "0"),
        (f"{KEY}= false\n", " false"),
        (f"{KEY} =false\n", " false"),
        (f"{KEY}=false \n", "false "),
        (f'{KEY}="false\n', '"false'),
        (f"{KEY}=\"false'\n", "\"false'"),
        (f'{KEY}=""false""\n', '"false"'),
        (f"{KEY}=false # closed\n", "false # closed"),
        (f"{KEY}=a=b\n", "a=b"),
        (f"{KEY}=false\r{KEY}=true\n", f"false\r{KEY}=true"),
        (f"{KEY}=false\r\r\n", "false\r"),
        (f"# {KEY}=false\n", None),
        (f"#{KEY}=false\n", None),
        (f"X{KEY}=false\n", None),
        (f"{KEY}X=false\n", None),
        (f"{KEY.lower()}=false\n", None),
        (f"{KEY}\n", None),
        ("", None),
    ],
)
def test_reading_a_setting(content: str, value: str | None) -> None:
    assert setting(file(content), KEY) == value


@pytest.mark.parametrize(("content", "mode"), [(b"A=1\n\xff\n", "100644"), (b"elsewhere", "120000")])
def test_what_cannot_be_read_is_neither_read_nor_written(content: bytes, mode: str) -> None:
    for act in (
        lambda: setting(file(content, mode), KEY),
        lambda: with_setting(file(content, mode), KEY, "false"),
    ):
        with pytest.raises(ObservationError) as caught:
            act()
        assert caught.value.code == "cluster-config-unreadable"
        assert "clusters/lab/cluster-config.env" in caught.value.message


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"A=1\n{KEY}=true\nB=2\n", f"A=1\n{KEY}=false\nB=2\n"),
        (f"A=1\r\n{KEY}=true\r\nB=2", f"A=1\r\n{KEY}=false\r\nB=2"),
        (f'{KEY}="true"\n', f'{KEY}="false"\n'),
        (f"  export {KEY}='true'\n", f"  export {KEY}='false'\n"),
        (f"{KEY}=true", f"{KEY}=false"),
        (f"{KEY}=true\nA=1\n{KEY}='yes'\n", f"{KEY}=false\nA=1\n{KEY}='false'\n"),
        (f"{KEY} = true\n", f"{KEY}=false\n"),
        (f"{KEY}=true # open\n", f"{KEY}=false\n"),
        (f"{KEY}=\n", f"{KEY}=false\n"),
        (f"# {KEY}=true\n", f"# {KEY}=true\n{KEY}=false\n"),
        ("A=1", f"A=1\n{KEY}=false\n"),
        ("A=1\r\n", f"A=1\r\n{KEY}=false\r\n"),
        ("", f"{KEY}=false\n"),
        (f"\ufeff{KEY}=true\n", f"\ufeff{KEY}=false\n"),
        (f"{KEY}=false\n\n\n", f"{KEY}=false\n\n\n"),
        (f"é=ü\n{KEY}=true\n", f"é=ü\n{KEY}=false\n"),
    ],
)
def test_setting_a_value_keeps_every_other_byte(before: str, after: str) -> None:
    changed = with_setting(file(before), KEY, "false")
    assert changed.content == after.encode()
    assert setting(changed, KEY) == "false"
    assert with_setting(changed, KEY, "false") == changed


def test_the_files_mode_stays() -> None:
    assert with_setting(file(f"{KEY}=true\n", "100755"), KEY, "false").mode == "100755"


LINES = st.one_of(
    st.sampled_from(
        [
            f"{KEY}=true",
            f"export {KEY}='false'",
            f'{KEY}="true"',
            f"#{KEY}=true",
            "",
            "# x",
            f"{KEY} =x",
            f"{KEY}",
            "=",
            "a=b=c",
        ]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12),
)


@given(
    st.lists(LINES, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["true", "false"]),
)
def test_of_any_file_only_lines_that_set_the_key_change(
    lines: list[str], end: str, last: bool, value: str
) -> None:
    before = file(end.join(lines) + (end if last else ""))
    after = with_setting(before, KEY, value)
    assert setting(after, KEY) == value
    assert with_setting(after, KEY, value) == after
    old, new = before.content.split(b"\n"), after.content.split(b"\n")
    for old_line, new_line in zip(old, new, strict=False):
        if KEY.encode() not in old_line and (old_line or not new_line.startswith(KEY.encode())):
            assert new_line.rstrip(b"\r") == old_line.rstrip(b"\r")
    assert len(new) - len(old) in (0, 1, 2)


def test_quotes_are_taken_off_once_and_only_where_they_match() -> None:
    assert [unquoted(text) for text in ('"a"', "'a'", '"a', "a", '"', "''", "\"'a'\"")] == [
        "a",
        "a",
        '"a',
        "a",
        '"',
        "",
        "'a'",
    ]


def test_where_the_file_lies() -> None:
    assert config_path("eu/zrh") == "clusters/eu/zrh/cluster-config.env"
    with pytest.raises(InputError):
        config_path("../x")
