# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The proxy's rules: which acts, how often, and what a stale answer is."""

from __future__ import annotations

import json
from typing import Any

from lab.platform import proxy


def rules(*entries: dict[str, Any]) -> proxy.Rules:
    return proxy.Rules(lambda: json.dumps(entries))


def acts(book: proxy.Rules, request: str) -> str | None:
    picked = book.pick(request)
    return picked[1]["action"] if picked else None


def test_a_rule_acts_as_often_as_it_says_and_then_the_next_does() -> None:
    book = rules(
        {"match": "GET /api/v1/nodes", "action": "status", "count": 2}, {"match": "^GET ", "action": "slow"}
    )
    assert [acts(book, "GET /api/v1/nodes") for _ in range(3)] == ["status", "status", "slow"]
    assert acts(book, "PUT /api/v1/nodes") is None


def test_a_rule_lets_the_first_requests_pass() -> None:
    book = rules({"match": "nodes", "action": "reset", "after": 2, "count": 1})
    assert [acts(book, "GET /api/v1/nodes") for _ in range(4)] == [None, None, "reset", None]


def test_new_rules_count_anew_and_none_is_none() -> None:
    text = [json.dumps([{"match": "x", "action": "reset", "count": 1}])]
    book = proxy.Rules(lambda: text[0])
    assert acts(book, "GET /x") == "reset"
    assert acts(book, "GET /x") is None
    text[0] = json.dumps([{"match": "x", "action": "slow", "count": 1}])
    assert acts(book, "GET /x") == "slow"
    text[0] = ""
    assert acts(book, "GET /x") is None


def test_a_stale_answer_is_the_first_one_of_that_request() -> None:
    book = rules({"match": "x", "action": "stale"})
    book.pick("GET /x?a")
    assert book.remembered(0, "GET /x?a") is None
    book.remember(0, "GET /x?a", (200, [], b"old"))
    book.remember(0, "GET /x?a", (200, [], b"new"))
    assert book.remembered(0, "GET /x?a") == (200, [], b"old")
    assert book.remembered(0, "GET /x?b") is None
