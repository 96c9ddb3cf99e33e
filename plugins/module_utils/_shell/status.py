# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_status_info: the sentence that is true for a tenant now, and a check of a plain add-on's copy."""

from __future__ import annotations

from pathlib import Path

from .._core.checks import Check
from .._core.errors import InputError
from .._core.ledger import load_ledger
from .._core.names import normalise_ticket, record_id
from .._core.record_summary import summary_lines
from .._core.tenant_wording import RefusedWord, refused_words, wording
from .ledger_info import ledger_tree
from .outcome import Outcome
from .run import Invocation


def tell_status(invocation: Invocation) -> Outcome:
    """The module's work."""
    copy = invocation.params["check_copy"]
    return _checked(Path(copy)) if copy else _told(invocation)


def _told(invocation: Invocation) -> Outcome:
    ticket = normalise_ticket(invocation.params["ticket"])
    tree, cluster = ledger_tree(invocation)
    record = load_ledger(tree, cluster).records.get(record_id(ticket))
    said = wording(record.state if record else None)
    about = summary_lines(record) if record else [f"the ledger has no record {record_id(ticket)}"]
    return Outcome(
        changed=False,
        msg=f"{said.title}: {said.sentence}",
        result={
            "title": said.title,
            "sentence": said.sentence,
            "record": record.value() if record else {},
            "revision": tree.revision,
            "passed": True,
            "refused": [],
            "summary": [said.title, said.sentence, *about],
        },
    )


def _checked(path: Path) -> Outcome:
    """Refuse words that promise more than a plain add-on gives (runbook: Tenant and commercial copy)."""
    found = refused_words(_text(path))
    told = [f"{path}:{word.line}: {word.written!r} says {word.word!r}" for word in found]
    answer = wording(None)
    msg = f"{path} promises nothing that a plain add-on does not give"
    if found:
        msg = (
            f"{path} uses words that a plain add-on may not use: {'; '.join(told)}. "
            f"Next: say what is true: {answer.sentence}"
        )
    return Outcome(
        changed=False,
        msg=msg,
        checks=tuple(_check(path, word) for word in found) or (_passed(path, msg),),
        result={
            "passed": not found,
            "refused": [{"line": word.line, "word": word.word, "written": word.written} for word in found],
            "summary": told or [msg],
        },
    )


def _check(path: Path, word: RefusedWord) -> Check:
    return Check(
        id="tenant-wording",
        status="fail",
        message=f"{path}: line {word.line}: {word.written!r} says {word.word!r}",
        next_action="leave the word out: a plain add-on reserves nothing",
        object=f"file/{path}",
    )


def _passed(path: Path, msg: str) -> Check:
    return Check(id="tenant-wording", status="pass", message=msg, object=f"file/{path}")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeDecodeError as error:
        why = f"it is no UTF-8 text: {error.reason} at byte {error.start}"
    raise InputError(
        "copy-unreadable",
        f"check_copy: {path} cannot be read: {why}",
        next_action="name a UTF-8 text file, with its full path",
    )
