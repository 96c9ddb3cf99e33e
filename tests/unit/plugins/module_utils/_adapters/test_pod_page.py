# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Pods that are kept come out whole, however the page is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import pod_page
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_list import validated_page
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.device_pods import is_kept
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.pod_page import kept_pods
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Pod
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError

PATH = "/api/v1/pods"


def pod(name: str, namespace: str = "ns", device: str = "", uid: str = "", **metadata: Any) -> dict[str, Any]:
    requests = {"cpu": "1", **({device: "1"} if device else {})}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{namespace}-{name}",
            **metadata,
        },
        "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": {"requests": requests}}]},
        "status": {"phase": "Running"},
    }


def page(*pods: dict[str, Any], compact: bool = True, end: bytes = b"") -> bytes:
    body = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": list(pods)}
    return json.dumps(body, separators=(",", ":") if compact else None).encode() + end


def expected(body: bytes) -> list[Pod]:
    """What validating everything would have kept."""
    return [one for one in validated_page(PATH, Pod, body).items or [] if is_kept(one)]


GPU = "nvidia.com/gpu"
PAGES = {
    "none": page(pod("a"), pod("b")),
    "empty": page(),
    "first": page(pod("a", device=GPU), pod("b")),
    "last": page(pod("a"), pod("b", device=GPU)),
    "last, with a line's end": page(pod("a"), pod("b", device=GPU), end=b"\n"),
    "all": page(pod("a", device=GPU), pod("b", device=GPU), pod("c", "hami-system")),
    "same names": page(pod("a", "x"), pod("a", "y", GPU), pod("a", "z"), pod("b", "z", GPU)),
    "names within names": page(pod("a"), pod("a-b", device=GPU), pod("a-b-c"), pod("a-b-c-d", device=GPU)),
    "not compact": page(pod("a", device=GPU), pod("b"), compact=False),
    "a Pod that quotes another": page(
        pod("a", device=GPU, annotations={"last-applied": json.dumps(pod("b"), separators=(",", ":"))}),
        pod("b"),
    ),
    "an object that looks like the next": page(
        {**pod("a", device=GPU), "extra": pod("b", uid="other")}, pod("b", device=GPU)
    ),
    "braces in text": page(pod("a", device=GPU, annotations={"x": '}]},{"metadata":{"name":"b"'}), pod("b")),
}


@pytest.mark.parametrize("name", PAGES)
def test_what_is_kept_is_what_reading_everything_would_keep(name: str) -> None:
    found = kept_pods(PATH, PAGES[name])
    assert found.items == expected(PAGES[name])
    assert found.metadata.resource_version == "7"


names = st.sampled_from(["a", "a-b", "b", 'quoted"name', "ä"])
pods = st.builds(
    pod,
    names,
    st.sampled_from(["ns", "other", "gpu-operator"]),
    st.sampled_from(["", GPU, "cpu2"]),
    st.sampled_from(["1", "2", ""]),
    annotations=st.dictionaries(names, st.text(max_size=20)),
)


@given(st.lists(pods, max_size=6), st.booleans())
def test_any_page(objects: list[dict[str, Any]], compact: bool) -> None:
    body = page(*objects, compact=compact)
    assert kept_pods(PATH, body).items == expected(body)


def test_a_page_in_the_servers_spelling_is_not_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def counted(path: str, model: Any, body: bytes) -> Any:
        read.append(model)
        return validated_page(path, model, body)

    monkeypatch.setattr(pod_page, "validated_page", counted)
    kept_pods(PATH, PAGES["same names"])
    assert Pod not in read
    kept_pods(PATH, PAGES["not compact"])
    assert Pod in read


@pytest.mark.parametrize(
    "body", [b"", b"{}", PAGES["all"][:-2], b'{"kind":"Status","metadata":{},"items":[]}']
)
def test_a_page_that_is_cut_off(body: bytes) -> None:
    with pytest.raises(ObservationError) as raised:
        kept_pods(PATH, body)
    assert raised.value.code == "body-unreadable"


def test_a_kept_pod_that_is_none_stops() -> None:
    broken = pod("a", device=GPU)
    broken["status"] = {"conditions": "none"}
    with pytest.raises(ObservationError):
        kept_pods(PATH, page(broken))
