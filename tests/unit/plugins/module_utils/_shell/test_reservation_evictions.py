# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the Eviction API refuses, and what each refusal means to who waits for a node."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_reply import Reply, error_of
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Pod
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import GpuopsError
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.reservation_evictions import (
    evict_pods,
)

PATH = "/api/v1/namespaces/tenant-foo/pods/job/eviction"


def refused(status: int, message: str) -> GpuopsError:
    """The error of such an answer of the API server."""
    body = f'{{"kind": "Status", "status": "Failure", "code": {status}, "message": "{message}"}}'
    return error_of("POST", PATH, Reply(status, body.encode()))


class Evictions:
    """Answers each eviction with the next answer, and remembers what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, str]] = []

    def evict(self, namespace: str, pod: str, *, uid: str = "") -> str:
        self.asked.append((namespace, pod, uid))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)


def pod(name: str = "job", **meta: Any) -> Pod:
    return Pod.model_validate(
        {"metadata": {"namespace": "tenant-foo", "name": name, "uid": f"uid-{name}", **meta}, "spec": {}}
    )


def evicted(*answers: Any, pods: tuple[Pod, ...] = (pod(),)) -> tuple[list[str], list[str], Evictions]:
    server = Evictions(*answers)
    gone, staying = evict_pods(cast("Any", server), pods)
    return gone, staying, server


TWO = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
CONFLICT = "the UID in the precondition (a) does not match the UID in record (b)"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("budget", "its PodDisruptionBudget allows no eviction now; the next pass asks again"),
        (refused(500, TWO), "its owner has to narrow one of them, or delete the Pod"),
        (refused(409, CONFLICT), "another Pod has taken its name meanwhile"),
        (refused(503, "overloaded"), "it could not be evicted: "),
    ],
    ids=["429", "500", "409", "503"],
)
def test_each_refusal_has_its_own_sentence(answer: Any, said: str) -> None:
    gone, staying, _server = evicted(answer)
    assert gone == []
    [sentence] = staying
    assert sentence.startswith("tenant-foo/job: ")
    assert said in sentence


def test_the_uid_is_the_precondition_and_the_others_go_on() -> None:
    gone, staying, server = evicted("budget", "evicted", "gone", pods=(pod("a"), pod("b"), pod("c")))
    assert server.asked == [("tenant-foo", name, f"uid-{name}") for name in ("a", "b", "c")]
    assert gone == ["tenant-foo/b"]
    assert [one.split(":")[0] for one in staying] == ["tenant-foo/a"]


def test_one_that_leaves_already_is_not_asked_about() -> None:
    _gone, staying, server = evicted(pods=(pod(deletionTimestamp="2026-12-01T00:00:00Z"),))
    assert server.asked == []
    assert staying == []
