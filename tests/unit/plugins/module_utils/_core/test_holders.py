# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who uses the pool's devices, named by owner, and who belongs to nobody."""

from __future__ import annotations

from ansible_collections.gpuops.reservations.plugins.module_utils._core.holders import (
    Holder,
    holder_findings,
    holders_of,
    operator_devices,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    H100,
    Fleet,
    lab,
)


def holders(fleet: Fleet, *operator: str) -> tuple[Holder, ...]:
    world = fleet.world()
    observed = world.snapshot.observed
    return holders_of(H100, observed.pods, observed.vmis, world.tenancy, frozenset(operator))


def test_a_launcher_is_named_by_its_virtual_machine_and_attributed() -> None:
    first, second = holders(lab())
    assert first.name == "aurora-vision/VirtualMachine/inference-1"
    assert (first.organization, first.project, first.node, first.devices) == ("aurora", "vision", "gpu-01", 1)
    assert second.pods == ("virt-launcher-inference-2",)


def test_a_launcher_whose_instance_is_gone_is_named_by_the_instance() -> None:
    fleet = lab()
    fleet.vmis.clear()
    assert holders(fleet)[0].owner == "VirtualMachineInstance/inference-1"


def test_pods_of_one_owner_on_one_node_are_one_holder() -> None:
    fleet = Fleet().organization("aurora", {}, "vision")
    owner = ("ReplicaSet", "train")
    fleet.pod("aurora-vision", "a", 1, owner=owner).pod("aurora-vision", "b", 2, owner=owner)
    fleet.pod("aurora-vision", "c", 1, owner=owner, node="gpu-02").pod("aurora-vision", "alone", 1)
    assert [(item.owner, item.node, item.devices, item.pods) for item in holders(fleet)] == [
        ("Pod/alone", "gpu-01", 1, ("alone",)),
        ("ReplicaSet/train", "gpu-01", 3, ("a", "b")),
        ("ReplicaSet/train", "gpu-02", 1, ("c",)),
    ]


def test_what_is_no_holder() -> None:
    fleet = Fleet().pod("x", "ended", phase="Succeeded").pod("x", "waiting", node="", phase="Pending")
    fleet.pod("x", "other", resource="nvidia.com/gpu").pod("x", "nothing", 0)
    assert holders(fleet) == ()


def test_a_terminating_pod_is_a_holder_until_it_is_gone() -> None:
    fleet = Fleet().pod("x", "p", metadata={"deletionTimestamp": "2026-11-10T11:00:00Z"})
    (holder,) = holders(fleet)
    assert holder.terminating
    assert holder.result()["terminating"] is True


def test_a_scheduled_pod_that_does_not_run_yet_is_a_holder() -> None:
    assert len(holders(Fleet().pod("x", "p", phase="Pending"))) == 1


def test_a_holder_of_nobody_stops_and_one_of_the_operator_is_taken_off_its_node() -> None:
    fleet = Fleet().pod("tools", "bench", 3).pod("tools", "more", 1, node="gpu-02")
    (finding, _other) = holder_findings(holders(fleet))
    assert finding.id == "unattributed-holder"
    assert "tools/Pod/bench" in finding.message
    assert "operatorNamespaces" in finding.next_action
    assert holder_findings(holders(fleet, "tools")) == ()
    assert operator_devices(holders(fleet, "tools")) == {"gpu-01": 3, "gpu-02": 1}


def test_a_quantity_that_cannot_be_read_is_unknown_even_of_a_known_organization() -> None:
    fleet = lab().pod("aurora-vision", "odd", "0x1")
    found = holders(fleet)
    assert found[0].devices is None
    assert found[0].result()["devices"] == "unknown"
    (finding,) = holder_findings(found)
    assert finding.unknown
    assert finding.check().status == "unknown"


def test_a_namespace_of_an_organization_itself_belongs_to_it() -> None:
    fleet = lab().pod("borealis", "p")
    assert [item.project for item in holders(fleet) if item.organization == "borealis"] == [""]
