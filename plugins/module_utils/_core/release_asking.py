# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What owners are asked before capacity is given back ("Release and cancellation", steps 2 and 3)."""

from __future__ import annotations

from dataclasses import dataclass

from .checks import Check
from .finding_ids import ENTITLEMENT_CONVERGING, RELEASE_HOLDER, RELEASE_QUOTA_IN_USE
from .holders import Holder
from .hook_event import HookEvent
from .record import Reason
from .release_judgement import ReleaseJudgement

_HOLDERS = "holders"


@dataclass(frozen=True)
class Asking:
    """What stands between a record and its release, in words.

    Attributes:
        judgement: holders, use and doubts on one observation.
        cap_in_use: why the project's cap cannot be put back yet; empty where nothing is in its way.
        unsettled: what quota and status say otherwise than the add-on, before it was reduced; empty where
            they agree.
    """

    judgement: ReleaseJudgement
    cap_in_use: str = ""
    unsettled: str = ""

    @property
    def clear(self) -> bool:
        """Whether nothing is in doubt and nothing is used that does not stay."""
        return self.judgement.clear and not self.cap_in_use and not self.unsettled

    @property
    def over(self) -> bool:
        """Whether devices are used that do not stay entitled, or are capped away; a doubt is not use."""
        stays = self.judgement.stays
        counted = [used for used in self.judgement.uses.values() if used is not None]
        return bool(self.cap_in_use) or (stays is not None and any(used > stays for used in counted))

    @property
    def reason(self) -> Reason:
        """The record's reason that is true now."""
        return "waiting-for-holders" if self.over else "release-requested"

    @property
    def missing(self) -> str:
        """What is waited for; empty when nothing is."""
        parts = [*self.judgement.waits_for, *([self.cap_in_use] if self.cap_in_use else [])]
        if self.over and self.judgement.holders:
            parts.append(f"held by {self.named}")
        parts += [self.unsettled] if self.unsettled else []
        return "; ".join([*parts, *(finding.message for finding in self.judgement.blockers)])

    @property
    def named(self) -> str:
        """The holders by owner."""
        return ", ".join(_told(holder) for holder in self.judgement.holders) or "nobody that has a Pod"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Use and doubts as checks; what holds nothing up is not applicable."""
        found = [self._use(), *self._settled(), *(finding.check() for finding in self.judgement.blockers)]
        beside = [finding.check() for finding in self.judgement.reported]
        return (*found, *(check.model_copy(update={"status": "not_applicable"}) for check in beside))

    def _settled(self) -> tuple[Check, ...]:
        if not self.unsettled:
            return ()
        where = f"organization/{self.judgement.record.spec.organization}"
        action = "see why quota and status do not follow the add-on; nothing is reduced until they do"
        return (
            Check(
                id=ENTITLEMENT_CONVERGING,
                status="unknown",
                message=self.unsettled,
                next_action=action,
                object=where,
            ),
        )

    def _use(self) -> Check:
        spec = self.judgement.record.spec
        where = f"organization/{spec.organization}"
        if not self.judgement.waits_for and not self.cap_in_use:
            message = f"{spec.organization} uses at most what stays entitled: {self.judgement.stays} devices"
            return Check(id=RELEASE_QUOTA_IN_USE, status="pass", message=message, object=where)
        parts = [*self.judgement.waits_for, *([self.cap_in_use] if self.cap_in_use else [])]
        over = _HOLDERS in " ".join(self.judgement.waits_for)
        return Check(
            id=RELEASE_HOLDER if over else RELEASE_QUOTA_IN_USE,
            status="fail" if self.over else "unknown",
            message=f"{spec.organization} uses {spec.profile_id}: {'; '.join(parts)}; held by {self.named}",
            next_action=self.next_action,
            object=where,
        )

    @property
    def next_action(self) -> str:
        """What the operator does next, as long as something is missing."""
        ticket, steps = self.judgement.record.ticket, []
        if self.over:
            steps.append(f"ask the owners to stop their VMs normally ({self.named}); we delete nothing")
        steps += [check.next_action for check in self._settled()]
        steps += [finding.next_action for finding in self.judgement.blockers if finding.next_action]
        if not steps and self.judgement.waits_for:
            steps.append("see why the platform does not say how much is used")
        return "; ".join([*dict.fromkeys(steps), f"then run the playbook again for {ticket}"])

    def event(self, support_owner: str) -> HookEvent:
        """What ``notify_tasks`` are told.

        Args:
            support_owner: from the order; empty where there is no order any more.
        """
        spec = self.judgement.record.spec
        owners = [holder.name for holder in self.judgement.holders] if self.over else []
        return HookEvent(
            kind="release-requested",
            severity="warning" if self.over else "info",
            ticket=self.judgement.record.ticket,
            organization=spec.organization,
            profile=spec.profile_id,
            message=f"{spec.devices} devices of {spec.profile_id} held for {spec.organization} are to be "
            f"given back: {self.missing or 'nothing is in the way'}",
            owners=(*owners, *([support_owner] if support_owner else [])),
            next_action=self.next_action,
        )


def _told(holder: Holder) -> str:
    count = "an unreadable number" if holder.devices is None else str(holder.devices)
    ending = ", Terminating" if holder.terminating else ""
    return f"{holder.name} ({count} on {holder.node}{ending})"
