# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys under ``then``: each is compared with what happened, and none is passed over."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.gpuops.reservations.plugins.modules import gpu_node_mode
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import NotUnderstood
from ansible_collections.gpuops.reservations.tests.node_mode_cases.node_state import (
    ACTIVE,
    CONFIG,
    CORDON,
    EXPECTED,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.outcomes import OUTCOMES, Problems
from ansible_collections.gpuops.reservations.tests.node_mode_cases.what_happened import WhatHappened

_NOTHING = (None, "none", "", "nothing", "absent", "empty", False)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SAME = ("unchanged", "byte_identical", "identical", "same", "untouched", "byte_for_byte")


Again = Callable[..., WhatHappened]
"""Runs the same command once more, with changed options."""


def problems_of(then: Mapping[str, Any], happened: WhatHappened, again: Again) -> Problems:
    """Everything that is not as the case has it. Raises NotUnderstood for a key or value it cannot check."""
    then = dict(then)
    later = {
        "second_run": (then.pop("second_run", then.pop("rerun", None)), {}),
        "resumed": (then.pop("resumed", then.pop("resume", None)), {"resume_cordoned": True}),
    }
    if "outcome" not in then:
        raise NotUnderstood("then.outcome is missing")
    found: Problems = []
    for key, expected in then.items():
        check = _CHECKS.get(key)
        if check is None and key.startswith("rule_"):
            found += _named(key, _rule(key.removeprefix("rule_"), expected, happened))
        elif check is None:
            found += _named(key, _other(key, expected, happened))
        else:
            found += _named(key, check(expected, happened))
    for key, (expected, changes) in later.items():
        if expected is not None:
            found += _named(key, _outcome(expected, again(**changes)))
    left = happened.world.script_left()
    if left and then["outcome"] in ("changed", "stopped_cordoned") and _came_that_far(happened, left):
        found.append(f"script: {', '.join(left)} never came, so the case did not test what it says")
    return found


def _came_that_far(happened: WhatHappened, left: list[str]) -> bool:
    """Whether a moment of the script should have come: the defaults' push may well not."""
    return "after_cordon" in left and bool(happened.patches("cordon"))


def _named(key: str, problems: Problems) -> Problems:
    return [f"{key}: {problem}" for problem in problems]


def _outcome(expected: Any, happened: WhatHappened) -> Problems:
    if expected not in OUTCOMES:
        raise NotUnderstood(f"then.outcome: does not know {expected!r}; known are {', '.join(OUTCOMES)}")
    return OUTCOMES[str(expected)](happened)


def _count(operation: str) -> Callable[[Any, WhatHappened], Problems]:
    def check(expected: Any, happened: WhatHappened) -> Problems:
        counted = happened.counted(operation)
        allowed = counted if happened.world.faults else {max(counted)}
        return [] if _number(expected) in allowed else [f"{sorted(counted)}, not {expected}"]

    return check


def _number(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise NotUnderstood(f"a number is expected, not {value!r}")


def _pushed_commits(expected: Any, happened: WhatHappened) -> Problems:
    return [] if len(happened.commits) == _number(expected) else [f"{len(happened.commits)}, not {expected}"]


def _head(expected: Any, happened: WhatHappened) -> Problems:
    if expected != "advanced" and expected not in _SAME:
        raise NotUnderstood(f"then.head: same or advanced, not {expected!r}")
    moved = bool(happened.commits)
    return [] if moved == (expected == "advanced") else ["advanced" if moved else "same"]


def _writes(expected: Any, happened: WhatHappened) -> Problems:
    """Requests that could change the cluster."""
    wanted = 0 if expected in _NOTHING else _number(expected)
    sent = [f"{request.method} {request.path} {request.operation}" for request in happened.writes]
    return [] if len(sent) == wanted else [f"{sent}"]


def _plan(expected: Any, happened: WhatHappened) -> Problems:
    """Words of the plan, in its order."""
    plan = happened.outcome.result.get("plan") or []
    if expected in _NOTHING:
        return [] if not plan else [f"{plan}"]
    if expected in ("present", "set", "any"):
        return [] if plan else ["there is none"]
    words = expected if isinstance(expected, list) else [expected]
    text, at = " ; ".join(map(str, plan)).lower(), 0
    for word in words:
        at = text.find(str(word).lower(), at)
        if at < 0:
            return [f"{word!r} does not come where it should in {plan}"]
    return []


def _warnings(expected: Any, happened: WhatHappened) -> Problems:
    """Words of the warnings."""
    said = " ; ".join(map(str, happened.outcome.result.get("warnings") or [])).lower()
    if expected in _NOTHING:
        return [] if not said else [said]
    words = expected if isinstance(expected, list) else [expected]
    return [f"{word!r} is not in: {said}" for word in words if str(word).lower() not in said]


def _node_ends(expected: Any, happened: WhatHappened) -> Problems:
    known = {"cordoned": True, "unschedulable": True, "schedulable": False, "uncordoned": False}
    if expected not in known:
        raise NotUnderstood(f"then.node_ends: cordoned or schedulable, not {expected!r}")
    return _cordoned(known[expected], happened)


def _own_rule(expected: Any, happened: WhatHappened) -> Problems:
    return _rule(happened.world.node.name, expected, happened)


def _fleet_mode(expected: Any, happened: WhatHappened) -> Problems:
    rule = happened.rule(happened.world.node.name, happened.head)
    found = rule.get("active") if rule else None
    return [] if found == expected else [f"{found}, not {expected}"]


def _message(happened: WhatHappened) -> str:
    result = happened.outcome.result
    return (happened.outcome.msg if happened.outcome.failed else json.dumps(result)).lower()


def _msg_has(expected: Any, happened: WhatHappened) -> Problems:
    words = expected if isinstance(expected, list) else [expected]
    said = _message(happened)
    return [f"{word!r} is not in: {happened.outcome.msg}" for word in words if str(word).lower() not in said]


def _msg_lacks(expected: Any, happened: WhatHappened) -> Problems:
    words = expected if isinstance(expected, list) else [expected]
    said = _message(happened)
    return [f"{word!r} is in: {happened.outcome.msg}" for word in words if str(word).lower() in said]


def _holders(expected: Any, happened: WhatHappened) -> Problems:
    found = happened.outcome.result.get("holders")
    wanted = [] if expected in _NOTHING else expected
    return [] if found == wanted else [f"{found}, not {wanted}"]


def _result(expected: Any, happened: WhatHappened) -> Problems:
    if not isinstance(expected, dict):
        raise NotUnderstood(f"then.result: a mapping, not {expected!r}")
    found: Problems = []
    for key, value in expected.items():
        found += _named(str(key), _value(value, happened.outcome.result.get(key), happened))
    return found


def _value(expected: Any, found: Any, happened: WhatHappened) -> Problems:
    if expected in ("id of the pushed commit", "the pushed commit", "pushed commit", "head"):
        wanted = happened.commits[-1] if happened.commits else None
        return [] if wanted and found == wanted else [f"{found!r}, pushed: {happened.commits}"]
    if expected in ("present", "set", "any", "not empty", "some"):
        return [] if found else [f"{found!r}"]
    if expected is False:
        return [] if found is False else [f"{found!r}"]
    if expected in _NOTHING:
        return [] if not found else [f"{found!r}, and nothing was expected"]
    return [] if found == expected else [f"{found!r}, not {expected!r}"]


def _fleet_file(expected: Any, happened: WhatHappened) -> Problems:
    if isinstance(expected, str) and expected in _SAME:
        before = happened.rule_file(happened.world.start_revision)
        return [] if happened.rule_file(happened.head) == before else ["the rule file changed"]
    if expected == "changed":
        before = happened.rule_file(happened.world.start_revision)
        return [] if happened.rule_file(happened.head) != before else ["the rule file did not change"]
    raise NotUnderstood(f"then.fleet_file: does not know {expected!r}")


def _config_file(expected: Any, happened: WhatHappened) -> Problems:
    before = happened.settings_file(happened.world.start_revision)
    after = happened.settings_file(happened.head)
    if isinstance(expected, str) and expected in _SAME:
        return [] if after == before else ["cluster-config.env changed"]
    return _diff_words(expected, before, after)


def _file_diff(expected: Any, happened: WhatHappened) -> Problems:
    revision = happened.world.start_revision
    return _diff_words(expected, happened.rule_file(revision), happened.rule_file(happened.head))


def _diff_words(expected: Any, before: bytes | None, after: bytes | None) -> Problems:
    if isinstance(expected, str) and (expected in _SAME or expected in _NOTHING):
        return [] if before == after else ["the file changed"]
    words = re.fullmatch(
        r"(?P<count>\w+) lines? (?:is |are )?(?:replaced|changed|differs?)(?P<rest>,? ?(?:and )?nothing .*|)",
        str(expected),
    )
    if words is None:
        raise NotUnderstood(f"does not know how to compare {expected!r}")
    counted = words["count"]
    wanted = int(counted) if counted.isdecimal() else _NUMBERS.index(counted) if counted in _NUMBERS else -1
    if wanted < 0:
        raise NotUnderstood(f"does not know the number {counted!r}")
    lines_before, lines_after = (before or b"").split(b"\n"), (after or b"").split(b"\n")
    if len(lines_before) != len(lines_after):
        return [f"{len(lines_before)} lines before, {len(lines_after)} after"]
    differing = sum(one != other for one, other in zip(lines_before, lines_after, strict=True))
    return [] if differing == wanted else [f"{differing} lines differ, not {wanted}"]


def _rule(node: str, expected: Any, happened: WhatHappened) -> Problems:
    before = happened.rule(node, happened.world.start_revision)
    after = happened.rule(node, happened.head)
    if isinstance(expected, str) and expected in _SAME:
        return [] if after == before and after is not None else [f"{before} became {after}"]
    if isinstance(expected, str):
        return [] if after is not None and after.get("active") == expected else [f"{after}"]
    if not isinstance(expected, dict) or set(expected) - {"name", "active", "expected", "config"}:
        raise NotUnderstood(f"then.rule_{node}: name, active, expected, config, or unchanged")
    wanted = {key: value for key, value in expected.items() if value is not None}
    found = {key: value for key, value in (after or {}).items() if key in expected}
    return [] if found == wanted else [f"{after}, not {expected}"]


def _node_modes(expected: Any, happened: WhatHappened) -> Problems:
    after = happened.node_modes(happened.head)
    if isinstance(expected, str) and expected in _SAME:
        before = happened.node_modes(happened.world.start_revision)
        return [] if after == before else [f"{before} became {after}"]
    if isinstance(expected, dict):
        expected = ",".join(f"{name}={mode}" for name, mode in expected.items())
    return [] if after == expected else [f"{after!r}, not {expected!r}"]


def _node_patch(expected: Any, happened: WhatHappened) -> Problems:
    text = str(expected).lower()
    if "unschedulable" not in text and "annotation" not in text:
        raise NotUnderstood(f"then.node_patch: does not know {expected!r}")
    with_spec = "unschedulable" in text
    problems: Problems = []
    sent = [request for request in happened.writes if request.path.startswith("/api/v1/nodes/")]
    if not sent:
        problems.append("the node was never patched")
    for request in sent:
        metadata = request.body.get("metadata", {})
        extra = {
            *(set(request.body) - {"metadata", "spec"}),
            *(set(metadata) - {"annotations", "resourceVersion"}),
            *(set(metadata.get("annotations", {})) - {CORDON}),
            *(set(request.body.get("spec", {})) - {"unschedulable"}),
        }
        if extra:
            problems.append(f"a patch also sets {sorted(extra)}")
        if "resourceVersion" not in metadata:
            problems.append("a patch without the version that was read")
    first = sent[0] if sent else None
    if first is not None:
        if with_spec and "spec" not in first.body:
            problems.append("the first patch does not set spec.unschedulable")
        if "annotation" in text and CORDON not in first.body.get("metadata", {}).get("annotations", {}):
            problems.append("the first patch lacks our annotation")
        if not with_spec and "spec" in first.body:
            problems.append("the first patch sets spec too")
    return problems


def _field_selector(expected: Any, happened: WhatHappened) -> Problems:
    lists = [request for request in happened.requests if request.operation == "list_pods"]
    used = {request.query.get("fieldSelector", "") for request in lists}
    return [] if used == {expected} else [f"{sorted(used)}"]


_STEPS: Mapping[str, str] = {
    "lock": "lock",
    "cordon": "cordon",
    "holder recheck": "recheck",
    "recheck": "recheck",
    "holders recheck": "recheck",
    "rule edit": "push",
    "edit": "push",
    "commit": "push",
    "push": "push",
    "wait": "wait",
    "uncordon": "uncordon",
}


def _order(expected: Any, happened: WhatHappened) -> Problems:
    if not isinstance(expected, list):
        raise NotUnderstood(f"then.order: a list, not {expected!r}")
    unknown = [step for step in expected if step not in _STEPS]
    if unknown:
        raise NotUnderstood(f"then.order: does not know {', '.join(map(str, unknown))}")
    at = -1
    for step in expected:
        kind = _STEPS[step]
        if kind == "push":
            found = happened.index("push")
            if found < at:
                return [f"{step} came before the step that is to precede it"]
        elif kind in ("recheck", "wait"):
            node_read = happened.index("get_node", at)
            found = happened.index("list_pods", max(node_read, at))
        elif kind == "lock":
            found = at
        else:
            found = happened.index(kind, at)
        if found < 0 and kind != "lock":
            return [f"there is no {step} after what is to precede it"]
        at = max(at, found)
    rule = happened.rule(happened.world.node.name, happened.commits[-1]) if happened.commits else None
    if "commit" in expected and rule is None:
        return ["no commit carries the rule"]
    return []


def _first_look(expected: Any, happened: WhatHappened) -> Problems:
    if "at once" not in str(expected):
        raise NotUnderstood(f"then.first_look: does not know {expected!r}")
    pushed = happened.index("push")
    looked = happened.index("get_node", pushed)
    paused = happened.index("pause", pushed)
    if pushed < 0 or looked < 0:
        return ["there was no push, or no look after it"]
    return ["the run paused before it looked"] if 0 <= paused < looked else []


def _default(option: str) -> Callable[[Any, WhatHappened], Problems]:
    def check(expected: Any, happened: WhatHappened) -> Problems:
        default = gpu_node_mode.SPEC.options[option]["default"]
        problems = [] if default == _number(expected) else [f"{default}, not {expected}"]
        if option in happened.outcome.arguments:
            problems.append(f"the case's run set {option}, so that its default was not used")
        return problems

    return check


def _lock(expected: Any, happened: WhatHappened) -> Problems:
    held = happened.lock_holders
    holder = f"transition:{happened.world.node.name}"
    if expected in ("free", "released", "none", "let_go", "let go", "nobody", None):
        return [] if not held else [f"{held}"]
    if expected in ("kept", "held", "ours", "still_held", holder):
        return [] if set(held.values()) == {holder} else [f"{held}"]
    if expected in (*_SAME, "theirs"):
        before = {pool: lock["ticket"] for pool, lock in happened.world.ledger.locks.items()}
        return [] if held == before else [f"{before} became {held}"]
    if isinstance(expected, str) and re.fullmatch(r"[a-z0-9:.-]+", expected):
        return [] if set(held.values()) == {expected} else [f"{held}"]
    raise NotUnderstood(f"then.lock: does not know {expected!r}")


def _annotation(expected: Any, happened: WhatHappened) -> Problems:
    mark = happened.mark
    if expected in ("removed", "gone", *_NOTHING):
        return [] if mark is None else [mark]
    if expected in ("ours", "present", "kept", "stamped", True):
        content = json.loads(mark) if mark else {}
        good = content.get("by") == "transition" and content.get("id") and content.get("since")
        return [] if good else [f"{mark}"]
    if expected in _SAME:
        return [] if mark == happened.world.node.annotations.get(CORDON) else [f"{mark}"]
    raise NotUnderstood(f"then.annotation: does not know {expected!r}")


def _cordoned(expected: Any, happened: WhatHappened) -> Problems:
    if expected not in (True, False):
        raise NotUnderstood(f"true or false, not {expected!r}")
    return [] if happened.cordoned is expected else [f"{happened.cordoned}"]


def _node(expected: Any, happened: WhatHappened) -> Problems:
    if not isinstance(expected, dict) or set(expected) - {
        "active",
        "expected",
        "config",
        "cordoned",
        "annotation",
    }:
        raise NotUnderstood(f"then.node: active, expected, config, cordoned, annotation; not {expected!r}")
    labels = {"active": ACTIVE, "expected": EXPECTED, "config": CONFIG}
    found: Problems = []
    for key, value in expected.items():
        if key in labels:
            now = happened.labels.get(labels[key])
            found += [] if now == value else [f"{key} is {now}"]
        else:
            found += _cordoned(value, happened) if key == "cordoned" else _annotation(value, happened)
    return found


def _pauses(expected: Any, happened: WhatHappened) -> Problems:
    count = len(happened.outcome.pauses)
    return [] if count == _number(expected) else [f"{count}"]


def _no_requests(expected: Any, happened: WhatHappened) -> Problems:
    if expected in (0, *_NOTHING):
        return [] if not happened.requests else [f"{[(r.method, r.path) for r in happened.requests]}"]
    return [] if len(happened.requests) == _number(expected) else [f"{len(happened.requests)}"]


def _note(expected: Any, happened: WhatHappened) -> Problems:
    """Notes explain; what two of them demand can be looked up in what happened."""
    text = str(expected).lower()
    if "neither cluster nor fleet rule need be read" in text or "the default file must not be used" in text:
        asked = [f"{request.method} {request.path}" for request in happened.requests]
        return [f"the cluster was asked: {asked}"] if asked else []
    if "must not claim the node is cordoned" in text:
        said = happened.outcome.msg.lower().replace("resume_cordoned", "")
        return ["it does"] if "cordoned" in said else []
    if "labels, owners and ready are reported" in text:
        missing = [word for word in ("label", "owners", "ready") if word not in happened.outcome.msg.lower()]
        return [f"{', '.join(missing)} not reported"] if missing else []
    return []


def _other(key: str, expected: Any, happened: WhatHappened) -> Problems:
    """A key that names a result of the module is compared with it; any other one is not understood."""
    if key in happened.outcome.result or key in gpu_node_mode.RETURN:
        return _value(expected, happened.outcome.result.get(key), happened)
    raise NotUnderstood(f"then.{key}: this runner does not know how to check it ({expected!r})")


_CHECKS: Mapping[str, Callable[[Any, WhatHappened], Problems]] = {
    "outcome": _outcome,
    "cordon_writes": _count("cordon"),
    "uncordon_writes": _count("uncordon"),
    "annotation_writes": _count("patch_node"),
    "pushed_commits": _pushed_commits,
    "head": _head,
    "remote": _head,
    "writes": _writes,
    "api_writes": _writes,
    "plan": _plan,
    "plan_has": _plan,
    "warnings": _warnings,
    "node_ends": _node_ends,
    "unschedulable": _cordoned,
    "rule": _own_rule,
    "lock_branch": _lock,
    "patch_count": _writes,
    "fleet_mode": _fleet_mode,
    "msg_has": _msg_has,
    "msg_lacks": _msg_lacks,
    "msg_has_not": _msg_lacks,
    "msg_not": _msg_lacks,
    "msg_hasnt": _msg_lacks,
    "msg_has_no": _msg_lacks,
    "msg_has_none": _msg_lacks,
    "msg_without": _msg_lacks,
    "msg_excludes": _msg_lacks,
    "msg_omits": _msg_lacks,
    "holders": _holders,
    "result": _result,
    "fleet_file": _fleet_file,
    "rule_file": _fleet_file,
    "file_diff": _file_diff,
    "rule_file_diff": _file_diff,
    "config_file": _config_file,
    "env_file": _config_file,
    "env_diff": _config_file,
    "config_diff": _config_file,
    "cluster_config": _config_file,
    "node_modes": _node_modes,
    "GPU_NODE_MODES": _node_modes,
    "gpu_node_modes": _node_modes,
    "node_patch": _node_patch,
    "cordon_patch": _node_patch,
    "pod_list_field_selector": _field_selector,
    "order": _order,
    "first_look": _first_look,
    "interval_default_s": _default("poll"),
    "timeout_default_s": _default("timeout"),
    "lock": _lock,
    "annotation": _annotation,
    "cordon_annotation": _annotation,
    "node_cordoned": _cordoned,
    "cordoned": _cordoned,
    "node": _node,
    "looks_after_the_first": _pauses,
    "api_requests": _no_requests,
    "note": _note,
}
