# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a profile is one whose whole devices can be held ("1. Qualify the order")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .catalogue import PROFILES_OBJECT, Catalogue, Profile
from .cluster_objects import HostDevice, KubeVirt


@dataclass(frozen=True)
class ProfileFit:
    """The verdict on one profile.

    Attributes:
        resource: its extended resource; empty where it cannot be told, and nothing can be counted.
        problems: everything that is wrong, each naming object and field; empty when it qualifies.
    """

    resource: str
    problems: tuple[str, ...]


def _host_devices(kubevirts: Iterable[KubeVirt]) -> tuple[HostDevice, ...]:
    return tuple(device for item in kubevirts for device in item.host_devices)


def _permitted(profile: Profile, devices: tuple[HostDevice, ...]) -> list[str]:
    """What is wrong with KubeVirt's entry for the profile."""
    selector = profile.text("pciVendorSelector")
    if not selector:
        return [f"{PROFILES_OBJECT}: {profile.id} has no pciVendorSelector"]
    same = [item for item in devices if item.resource_name == profile.resource]
    if len(same) != 1:
        return [
            f"KubeVirt permits {len(same)} PCI host devices as {profile.resource}; exactly one has to match"
        ]
    problems = []
    if same[0].pci_vendor_selector.casefold() != selector.casefold():
        problems.append(
            f"KubeVirt permits {profile.resource} for selector {same[0].pci_vendor_selector or '(none)'}, "
            f"the profile says {selector}"
        )
    if not same[0].external_resource_provider:
        problems.append(f"KubeVirt's entry for {profile.resource} lacks externalResourceProvider: true")
    others = sorted(
        item.resource_name
        for item in devices
        if item.resource_name != profile.resource
        and item.pci_vendor_selector.casefold() == selector.casefold()
    )
    problems.extend(f"KubeVirt permits selector {selector} under resource {name} as well" for name in others)
    return problems


def _entry(profile: Profile, catalogue: Catalogue) -> list[str]:
    """What is wrong with the catalogue's entry itself."""
    problems = [
        f"{PROFILES_OBJECT}: {profile.id} has {key} {profile.values.get(key)!r}, not {wanted}"
        for key, wanted in (("workload", "vm"), ("allocation", "passthrough"))
        if profile.values.get(key) != wanted
    ]
    if not profile.enabled:
        problems.append(f"{PROFILES_OBJECT}: {profile.id} is not enabled")
    if profile.values.get("billingEligible") is False:
        problems.append(
            f"{PROFILES_OBJECT}: {profile.id} is not billingEligible, so that no add-on can grant it"
        )
    others = sorted(
        other.id
        for group in catalogue.profiles.values()
        for other in group
        if other.id != profile.id and other.enabled and other.resource == profile.resource
    )
    problems.extend(f"{PROFILES_OBJECT}: {name} uses resource {profile.resource} as well" for name in others)
    return problems


def profile_fit(profile_id: str, catalogue: Catalogue, kubevirts: Iterable[KubeVirt]) -> ProfileFit:
    """Judge one profile ("Healthy schedulable devices", first paragraph).

    Args:
        profile_id: the pool's profile.
        catalogue: both of the platform's documents.
        kubevirts: KubeVirt installations, usually one.
    """
    if catalogue.profiles_problem:
        return ProfileFit("", (f"{PROFILES_OBJECT}: {catalogue.profiles_problem}",))
    entries = catalogue.profiles.get(profile_id, ())
    if len(entries) != 1:
        return ProfileFit(
            "", (f"{PROFILES_OBJECT}: {profile_id} stands there {len(entries)} times, not once",)
        )
    profile = entries[0]
    if not profile.resource:
        return ProfileFit("", (f"{PROFILES_OBJECT}: {profile_id} has no resourceName",))
    problems = _entry(profile, catalogue) + _permitted(profile, _host_devices(kubevirts))
    return ProfileFit(profile.resource, tuple(problems))
