# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fences as they are installed: both admission policies, each bound, and nothing of them softened."""

from __future__ import annotations

from typing import Final

from .strict_model import ObservedModel

CREATION_FENCE: Final = "gpuops-creation-fence"
ENTITLEMENT_FENCE: Final = "gpuops-entitlement-fence"
FENCE_POLICIES: Final = (CREATION_FENCE, ENTITLEMENT_FENCE)
PARAMETERS: Final = "gpuops-system/capacity-fence"


class FencePolicy(ObservedModel):
    """One of the two, with its binding of the same name.

    Attributes:
        name: of the policy, and of its binding.
        failure_policy: Fail, where the API server is to refuse what it cannot judge.
        bound_to: the policy that the binding names; None where there is no binding.
        actions: what the binding does with a violation.
        narrowed: whether the binding leaves some objects out.
        parameters: namespace and name of the binding's parameters.
        without_parameters: what the binding does where they do not exist.
    """

    name: str
    failure_policy: str = ""
    bound_to: str | None = None
    actions: tuple[str, ...] = ()
    narrowed: bool = False
    parameters: str = ""
    without_parameters: str = ""

    def problem(self) -> str:
        """What is wrong with it; empty where it refuses what it should."""
        if self.bound_to != self.name:
            return f"the admission policy {self.name} is not bound, so it refuses nothing"
        if "Deny" not in self.actions or self.narrowed:
            return f"the binding of {self.name} does not deny, or leaves objects out"
        if self.parameters != PARAMETERS or self.without_parameters != "Deny":
            return f"the binding of {self.name} does not follow configmap/{PARAMETERS}"
        if self.failure_policy != "Fail":
            return f"the admission policy {self.name} lets pass what it cannot judge"
        return ""


class FencesInstalled(ObservedModel):
    """What was read of the fences' policies.

    Attributes:
        readable: whether this identity may read them.
        policies: those that exist.
    """

    readable: bool = False
    policies: tuple[FencePolicy, ...] = ()

    def problem(self, name: str) -> str:
        """What is wrong with one fence; empty where it refuses what it should."""
        if not self.readable:
            return f"the admission policy {name} cannot be read, so whether it refuses anything is unknown"
        found = [policy for policy in self.policies if policy.name == name]
        return found[0].problem() if found else f"the admission policy {name} does not exist"
