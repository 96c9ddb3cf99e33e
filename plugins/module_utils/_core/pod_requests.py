# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a Pod asks of a node, resource by resource, as the scheduler counts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Protocol

from .amount import QuantityError, quantity
from .cluster_objects import Container

Amounts = dict[str, Fraction]


class Asking(Protocol):
    """The part of a Pod's spec that asks for resources."""

    @property
    def containers(self) -> tuple[Container, ...]:
        """What runs together."""

    @property
    def init_containers(self) -> tuple[Container, ...]:
        """What runs before, and sidecars."""

    @property
    def overhead(self) -> dict[str, Any]:
        """What the runtime class adds."""


def amounts_of(values: Mapping[str, Any]) -> Amounts:
    """Quantities as exact numbers; one that cannot be read is left out."""
    found = {}
    for name, value in values.items():
        try:
            found[name] = quantity(str(value))
        except QuantityError:
            continue
    return found


def add(*several: Mapping[str, Fraction]) -> Amounts:
    """The sum, resource by resource."""
    total: Amounts = {}
    for one in several:
        for name, value in one.items():
            total[name] = total.get(name, Fraction(0)) + value
    return total


def _largest(*several: Mapping[str, Fraction]) -> Amounts:
    most: Amounts = {}
    for one in several:
        for name, value in one.items():
            most[name] = max(most.get(name, Fraction(0)), value)
    return most


def _requests(container: Container) -> Amounts:
    """A container's requests; what only has a limit asks for that."""
    return {**amounts_of(container.resources.limits), **amounts_of(container.resources.requests)}


def pod_requests(spec: Asking) -> Amounts:
    """What a Pod asks for: what runs together, or what an init container needs beside its sidecars."""
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        needed = add(sidecars, _requests(container))
        peak = _largest(peak, needed)
        if container.restart_policy == "Always":
            sidecars = needed
    together = add(sidecars, *(_requests(one) for one in spec.containers))
    return add(_largest(together, peak), amounts_of(spec.overhead))


def free_on(allocatable: Mapping[str, Any], pods: Iterable[Asking]) -> Amounts:
    """What is free on a node: allocatable less what its Pods ask for; ``pods`` counts them."""
    there = list(pods)
    used = add(*(pod_requests(one) for one in there), {"pods": Fraction(len(there))})
    return {name: amount - used.get(name, Fraction(0)) for name, amount in amounts_of(allocatable).items()}


def lacking(asked: Mapping[str, Fraction], free: Mapping[str, Fraction]) -> tuple[str, ...]:
    """The resources that do not suffice, in their names' order."""
    wanted = {**asked, "pods": Fraction(1)}
    return tuple(sorted(name for name, amount in wanted.items() if amount > free.get(name, Fraction(0))))


def number(amount: Fraction) -> str:
    """An amount for people: whole where it is, else with decimals."""
    return str(amount.numerator) if amount.denominator == 1 else f"{float(amount):g}"
