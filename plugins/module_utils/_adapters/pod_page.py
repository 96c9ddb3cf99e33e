# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the Pods that are kept out of a page of all Pods, without making objects of the others.

Of every Pod only what decides about keeping it is validated. The few that are kept are then validated
whole, each from its own piece of the same bytes.
"""

from __future__ import annotations

from .._core.cluster_objects import Pod
from .._core.strict_model import ValidationError
from .api_list import ListPage, validated_page
from .device_pods import AskingPod, is_kept


def kept_pods(path: str, body: bytes) -> ListPage[Pod]:
    """A page with only the Pods that are kept.

    Raises:
        ObservationError: body-unreadable.
    """
    page = validated_page(path, AskingPod, body)
    asking = page.items or []
    kept = [position for position, pod in enumerate(asking) if is_kept(pod)]
    found = _from_pieces(body, asking, kept)
    if found is None:
        whole = validated_page(path, Pod, body)
        found = [pod for pod in whole.items or [] if is_kept(pod)]
    return ListPage[Pod](kind=page.kind, metadata=page.metadata, items=found)


def _from_pieces(body: bytes, asking: list[AskingPod], kept: list[int]) -> list[Pod] | None:
    """The kept Pods from their pieces of the page; None where a piece is not plainly that very Pod.

    The API server writes objects one after the other, each beginning with its name. Where it did
    otherwise, a piece does not parse, or is not the Pod that was seen, and the whole page is read instead.
    """
    if not kept:
        return []
    starts = _starts(body, asking)
    found = []
    for at in kept:
        end = starts[at + 1] - len(",") if at + 1 < len(asking) else body.rfind(b"]}")
        pod = _pod(body[starts[at] : end]) if 0 <= starts[at] < end else None
        if pod is None or _identity(pod) != _identity(asking[at]):
            return None
        found.append(pod)
    return found


def _starts(body: bytes, asking: list[AskingPod]) -> list[int]:
    """Where each Pod seems to begin; -1 from the first one on that is not found."""
    starts = []
    position = 0
    for pod in asking:
        position = body.find(b'{"metadata":{"name":"%b"' % pod.metadata.name.encode(), position)
        starts.append(position)
        position = position + 1 if position >= 0 else len(body)
    return starts


def _pod(piece: bytes) -> Pod | None:
    try:
        return Pod.model_validate_json(piece)
    except ValidationError:
        return None


def _identity(pod: AskingPod | Pod) -> tuple[str, str, str]:
    return pod.metadata.namespace, pod.metadata.name, pod.metadata.uid
