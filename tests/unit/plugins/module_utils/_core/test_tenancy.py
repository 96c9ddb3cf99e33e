# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Namespaces belong to one project of one organization, or to nobody."""

from __future__ import annotations

from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import (
    Organization,
    Project,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.tenancy import tenancy_of


def organization(name: str, namespace: str = "") -> Organization:
    return Organization.model_validate({"metadata": {"name": name, "namespace": namespace or name}})


def project(organization_name: str, name: str, namespace: str | None = None) -> Project:
    backing = f"{organization_name}-{name}" if namespace is None else namespace
    return Project.model_validate(
        {"metadata": {"name": name, "namespace": organization_name}, "status": {"namespace": backing}}
    )


def test_attribution_is_by_status_and_not_by_name() -> None:
    tenancy = tenancy_of(
        [organization("a"), organization("a-b")], [project("a", "b-c", "odd"), project("a-b", "c")]
    )
    assert tenancy.owner("odd") == ("a", "b-c")
    assert tenancy.owner("a-b-c") == ("a-b", "c")
    assert tenancy.owner("a") == ("a", "")
    assert tenancy.owner("nowhere") is None
    assert tenancy.ambiguous == ()


def test_a_namespace_that_two_claim_is_nobodys() -> None:
    tenancy = tenancy_of(
        [organization("a"), organization("b")], [project("a", "x", "ns"), project("b", "y", "ns")]
    )
    assert tenancy.owner("ns") is None
    assert tenancy.ambiguous == ("namespace ns is claimed twice",)


def test_a_project_that_claims_an_organizations_namespace() -> None:
    tenancy = tenancy_of([organization("a"), organization("b")], [project("a", "x", "b")])
    assert tenancy.owner("b") is None


def test_an_organization_that_lies_elsewhere_is_told() -> None:
    assert tenancy_of([organization("a", "other")], []).ambiguous == (
        "organization a lies in namespace other",
    )


def test_projects_of_nobody_and_without_namespace() -> None:
    tenancy = tenancy_of([organization("a")], [project("ghost", "x"), project("a", "new", "")])
    assert tenancy.owner("ghost-x") is None
    assert tenancy.namespaces("a") == ("",)
    assert tenancy.project("a", "new") is not None
    assert tenancy.project("a", "other") is None
