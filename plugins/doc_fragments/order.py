# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """An order's fields as variables."""

    DOCUMENTATION = r"""
options:
  order:
    description:
      - The order's fields. Without it the file C(gpu-reservations/<cluster>/orders/<ticket>.yaml) of the
        fleet repository is the order.
      - Where the file exists too, both must say the same; a difference is refused, naming the key.
      - Values are judged as text, by the same rules as the file.
    type: dict
    suboptions:
      organization:
        description: Organization that the capacity is held for.
        type: str
      project:
        description: Project of the organization, or empty for capacity that the whole organization may use.
        type: str
      profileId:
        description: Stable id of a whole-device VM profile.
        type: str
        aliases: [profile_id]
      devices:
        description: Number of whole devices, in plain decimal digits.
        type: str
      addonId:
        description: Operator-only add-on that grants devices of exactly that profile.
        type: str
        aliases: [addon_id]
      requestedAt:
        description: When it was asked for, RFC 3339 with zone.
        type: str
        aliases: [requested_at]
      startsAt:
        description: When it is to start, RFC 3339 with zone. Billing starts at activation, never here.
        type: str
        aliases: [starts_at]
      endsAt:
        description: When it is to end, RFC 3339 with zone, or empty. Nothing is freed by this time passing.
        type: str
        aliases: [ends_at]
      billingReference:
        description: Ticket or provider reference of the billing. No payment data.
        type: str
        aliases: [billing_reference]
      supportOwner:
        description: Whom to ask about the reservation, and who is told before its end.
        type: str
        aliases: [support_owner]
      maintenanceTerms:
        description: The maintenance and hardware-failure terms that were agreed.
        type: str
        aliases: [maintenance_terms]
      approvedByProduct:
        description: Who approved for Product.
        type: str
        aliases: [approved_by_product]
      approvedBySre:
        description: Who approved for SRE. Must be another person than for Product.
        type: str
        aliases: [approved_by_sre]
"""
