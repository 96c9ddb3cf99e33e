# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Redaction: every identifier is found whole, and what only looks a little like one is left alone."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.payment_numbers import luhn
from ansible_collections.gpuops.reservations.plugins.module_utils._core.redaction import (
    KINDS,
    MaskedHit,
    find,
    mask,
    mask_text,
    refuse,
    refuse_value,
)

UUID = "6f1c2d3e-1b2c-4d3e-8f4a-5b6c7d8e9f01"

# Made from parts, so that no scanner of repositories takes this file for a leak.
GITHUB = "gh" + "p_" + "a1B2c3D4e5" * 4
AWS = "AK" + "IA" + "IOSFODNN7EXAMPLE"
JWT = "ey" + "JhbGciOiJSUzI1NiJ9" + ".ey" + "JzdWIiOiJncHVvcHMifQ" + ".c2lnbmF0dXJl"
KEY = "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIBOgIBAAJBAK\n-----END " + "RSA PRIVATE KEY-----"
STRIPE = "sk" + "_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


def kinds(text: str) -> list[str]:
    return [hit.kind for hit in find(text)]


DETECTED = [
    (f"GPU-{UUID}", "device-uuid"),
    (f"gpu-{UUID}", "device-uuid"),
    (f"MIG-{UUID}", "device-uuid"),
    (f"MIG-GPU-{UUID}/1/0", "device-uuid"),
    (f"uuid=GPU-{UUID.upper()},", "device-uuid"),
    ("GPU-" + UUID.replace("-", ""), "device-uuid"),
    ("GPU-8c3f1a2b4d5e6f70", "device-uuid"),
    ("0000:3b:00.0", "pci-address"),
    ("00000000:3B:00.0", "pci-address"),
    ("10000:e1:00.0", "pci-address"),
    ("0000:03:00.0", "pci-address"),
    ("pci@0000:3b:00.0", "pci-address"),
    ("bus-id:0000:3b:00.7.", "pci-address"),
    ("3b:00.0", "pci-address"),
    ("3B:1f.7 VGA", "pci-address"),
    ("03:00.0", "pci-address"),
    ("device at 03:00.0, driver vfio-pci", "pci-address"),
    ("pci:3b:00.0", "pci-address"),
    ("the card at 3b:00.0.", "pci-address"),
    ("pci_0000_3b_00_0", "pci-address"),
    ("0000_3b_00_0", "pci-address"),
    ("<address domain='0x0000' bus='0x3b' slot='0x00' function='0x0'/>", "pci-address"),
    (JWT, "token"),
    (f"token_{JWT}", "token"),
    (f"-{JWT}", "token"),
    (f"Authorization: Bearer {'x1' * 10}", "token"),
    ("authorization: basic dXNlcjpwYXNzd29yZA==", "token"),
    (GITHUB, "token"),
    ("github" + "_pat_" + "A1" * 20, "token"),
    ("gl" + "pat-" + "A1b2C3d4E5f6G7h8I9j0", "token"),
    (AWS, "token"),
    ("xo" + "xb-123456789012-abcdef", "token"),
    (STRIPE, "token"),
    ("hv" + "s." + "A1b2" * 8, "token"),
    ("https://user:secret" + "@git.example/fleet.git", "token"),
    ("postgres://a:b" + "@db", "token"),
    (KEY, "private-key"),
    ("-----BEGIN " + "PRIVATE KEY-----\nMIIB", "private-key"),
    ("-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3Bl\n-----END " + "OPENSSH PRIVATE KEY-----", "private-key"),
    ("AGE-" + "SECRET-KEY-1" + "Q" * 58, "private-key"),
    ("4111111111111111", "card-number"),
    ("4111 1111 1111 1111", "card-number"),
    ("4111-1111-1111-1111", "card-number"),
    ("card:4111111111111111,", "card-number"),
    ("4222222222222", "card-number"),
    ("378282246310005", "card-number"),
    ("3782 822463 10005", "card-number"),
    ("5555555555554444", "card-number"),
    ("2223003122003222", "card-number"),
    ("6011111111111117", "card-number"),
    ("3530111333300000", "card-number"),
    ("30569309025904", "card-number"),
    ("6212345678901232", "card-number"),
    ("DE89370400440532013000", "bank-account"),
    ("DE89 3704 0044 0532 0130 00", "bank-account"),
    ("gb29nwbk60161331926819", "bank-account"),
    ("IBAN: FR1420041010050500013M02606.", "bank-account"),
    ("NO9386011117947", "bank-account"),
    ("BE68539007547034", "bank-account"),
]


@pytest.mark.parametrize(("text", "kind"), DETECTED)
def test_a18_identifiers_are_found(text: str, kind: str) -> None:
    assert kinds(text) == [kind]
    assert kinds(f"a {text} b") == [kind]
    assert kinds(f'{{"x": "{text}"}}') == [kind]
    assert find(mask_text(text)) == ()
    assert kind in KINDS


LEFT_ALONE = [
    UUID,
    f"pvc-{UUID}",
    f"node-gpu/{UUID}",
    "gpu-res-lab-1",
    "gpu-h100-reserved",
    "GPU-shared-pool",
    "mig-1g.10gb",
    "2026-11-01T09:00:00Z",
    "2026-11-01T09:00:00.0Z",
    "2026-11-01T09:00:00.5+01:00",
    "2026-11-01 09:15:03.7",
    "09:15:03.7",
    "2026-11-01T23:09:00.1Z",
    "2026-11-01T23:09:00.123456Z",
    "12:00.25",
    "09:00",
    "aa:bb:cc:dd:ee:ff",
    "2001:db8:85a3::8a2e:370:7334",
    "fe80::1ff:fe23:4567:890a",
    "::ffff:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "10.0.0.1:8443",
    "ratio 16:9",
    "nvidia.com/GH100_H100_SXM5_80GB",
    "10DE:2330",
    "sha256:" + hashlib.sha256(b"x").hexdigest(),
    hashlib.sha1(b"x").hexdigest(),
    "4111111111111112",  # Luhn fails
    "1234567812345670",  # no issuer
    "0000000000000000",
    "411111111111111111111",  # too long
    "a4111111111111111",
    "4111111111111111a",
    "0.4111111111111111",
    "4111111111111111.5",
    "4111-1111-1111-1111-1111",
    "1767225600000",
    "1767225600000000000",
    "4398046511104",
    "4503599627370496",
    "17592186044416",
    "500m",
    "81604378624Ki",
    "DE89370400440532013001",  # checksum fails
    "DE8937040044053201300",  # too short
    "XX89370400440532013000",
    "v1.36.3",
    "requests.nvidia.com/gpu",
    "system:serviceaccount:gpuops-system:gpuops",
    "https://git.example/fleet.git",
    "ssh://git@git.example/fleet.git",
    "https://alerts.example:9090/api/v1/alerts?x=a@b",
    "bearer of bad news",
    "basic authentication",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "01J0000000000000000000000A",
    "INV-2026-000123",
]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_a18_what_only_looks_like_one_is_left_alone(text: str) -> None:
    for around in (text, f"x {text} y", json.dumps({"x": text})):
        assert find(around) == (), around
        assert mask_text(around) == around


HEX = "0123456789abcdef"
FOUR_DIGIT_YEARS = datetime(1000, 1, 1)  # noqa: DTZ001 - the strategy wants its bounds without a zone


@given(st.binary())
def test_a18_no_digest_is_ever_an_identifier(content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    for text in (
        digest,
        f"sha256:{digest}",
        digest[:40],
        digest[:12],
        digest[:7],
        hashlib.md5(content).hexdigest(),
    ):
        assert find(f"evidenceRevision: {text}\n") == ()


@given(st.text(HEX, min_size=40, max_size=40))
def test_a18_no_git_revision_is_ever_an_identifier(revision: str) -> None:
    assert find(revision) == ()


@given(st.uuids())
def test_a18_no_kubernetes_uid_is_ever_an_identifier(uid: object) -> None:
    for text in (
        f"uid: {uid}",
        f"pod-{uid}",
        json.dumps({"uid": str(uid)}),
        f"kube-system/{uid}",
        f"{uid}_1",
    ):
        assert find(text) == ()


@given(st.uuids())
def test_a18_no_uid_of_digits_alone_is_a_card_number(uid: object) -> None:
    digits = "".join(str(int(character, 16) % 10) if character != "-" else "-" for character in str(uid))
    assert find(digits) == ()


@given(
    st.datetimes(FOUR_DIGIT_YEARS, timezones=st.just(UTC)),
    st.sampled_from(["seconds", "milliseconds", "microseconds"]),
)
def test_a18_no_time_is_ever_an_identifier(at: Any, precision: str) -> None:
    text = at.isoformat(timespec=precision)
    tenth = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 100_000}"
    for time in (
        text,
        text.replace("+00:00", "Z"),
        text.replace("T", " "),
        f"{tenth}Z",
        f"{tenth}+01:00",
        tenth,
        f"[{tenth[11:]}]",
    ):
        assert find(f"at: {time}\n") == ()


@given(st.integers(0, 2**63), st.sampled_from(["m", "k", "Ki", "Mi", "Gi", "Ti", "n"]))
def test_a18_no_quantity_with_a_unit_is_ever_an_identifier(number: int, unit: str) -> None:
    assert find(f"memory: {number}{unit}") == ()


@given(st.integers(1, 2**22))
def test_a18_no_whole_number_of_gibibytes_is_a_card_number(gibibytes: int) -> None:
    assert find(f"{gibibytes * 2**30}") == ()


@given(st.lists(st.text(HEX, min_size=2, max_size=2), min_size=6, max_size=8), st.sampled_from([":", "-"]))
def test_a18_no_mac_address_is_ever_an_identifier(parts: list[str], joint: str) -> None:
    assert find(joint.join(parts)) == ()


@given(st.ip_addresses(v=6))
def test_a18_no_ipv6_address_is_ever_an_identifier(address: Any) -> None:
    for text in (str(address), address.exploded, f"[{address}]:443", f"::ffff:{address.packed[0]}.1.2.3"):
        assert find(text) == ()


@given(
    st.uuids(),
    st.sampled_from(["GPU-", "MIG-", "gpu-", "MIG-GPU-", "uuid=GPU-"]),
    st.sampled_from(["", " ", ",", '"', "\n", ")"]),
)
def test_every_device_uuid_is_found_and_masked_whole(uuid: object, before: str, after: str) -> None:
    text = f"x {before}{uuid}{after}y" if after else f"x {before}{uuid}"
    assert kinds(text) == ["device-uuid"]
    assert str(uuid) not in mask_text(text)


@given(
    st.one_of(st.integers(0, 2**16 - 1).map("{:04x}".format), st.integers(0, 2**32 - 1).map("{:08x}".format)),
    st.integers(0, 255),
    st.integers(0, 31),
    st.integers(0, 7),
    st.booleans(),
)
def test_every_pci_address_is_found_with_and_without_its_domain(
    domain: str, bus: int, device: int, function: int, upper: bool
) -> None:
    short = f"{bus:02x}:{device:02x}.{function}"
    for address in (f"{domain}:{short}", short):
        written = address.upper() if upper else address
        for text in (
            written,
            f"at {written}, x",
            f'{{"pci": "{written}"}}',
            f"devices/{written}/driver",
            f"at {written}.",
        ):
            assert kinds(text) == ["pci-address"], text
            assert short not in mask_text(text).lower()


@given(
    st.sampled_from(["4", "51", "55", "2221", "2720", "6011", "65", "62", "3528", "36", "34", "37", "2200"]),
    st.text("0123456789", min_size=18, max_size=18),
)
def test_every_card_number_is_found(prefix: str, digits: str) -> None:
    length = {"36": 14, "34": 15, "37": 15}.get(prefix, 16)
    body = (prefix + digits)[: length - 1]
    number = next(f"{body}{check}" for check in range(10) if luhn(f"{body}{check}"))
    if int(number) % 2**30:
        assert kinds(f"paid by {number}.") == ["card-number"]
        assert number not in mask_text(f"paid by {number}.")


@given(st.text())
def test_masked_text_holds_nothing_to_find(text: str) -> None:
    assert find(mask_text(text)) == ()


@given(
    st.lists(
        st.sampled_from([text for text, _kind in DETECTED] + LEFT_ALONE + [" ", "\n", ","]), max_size=6
    ).map(" ".join)
)
def test_masking_is_complete_and_done_once(text: str) -> None:
    once = mask_text(text)
    assert find(once) == ()
    assert mask_text(once) == once


def test_several_in_one_text_are_found_in_order() -> None:
    text = f"0000:3b:00.0 and GPU-{UUID} and 4111111111111111"
    assert kinds(text) == ["pci-address", "device-uuid", "card-number"]
    assert mask_text(text) == "<pci-address> and <device-uuid> and <card-number>"


def test_one_inside_another_is_one() -> None:
    assert kinds(f"https://u:GPU-{UUID}" + "@host") == ["token"]


def test_a_whole_value_is_masked_keys_and_numbers_too() -> None:
    value = {
        "nodes": [{"name": f"gpu-01 GPU-{UUID}", "free": 3, "ok": True, "ratio": 0.5, "none": None}],
        f"GPU-{UUID}": ("0000:3b:00.0", 4111111111111111),
        "time": "2026-11-01T09:00:00.5Z",
    }
    masked, hits = mask(value)
    assert masked == {
        "nodes": [{"name": "gpu-01 <device-uuid>", "free": 3, "ok": True, "ratio": 0.5, "none": None}],
        "<device-uuid>": ["<pci-address>", "<card-number>"],
        "time": "2026-11-01T09:00:00.5Z",
    }
    assert set(hits) == {
        MaskedHit("nodes.0.name", "device-uuid"),
        MaskedHit("", "device-uuid"),
        MaskedHit("<device-uuid>.0", "pci-address"),
        MaskedHit("<device-uuid>.1", "card-number"),
    }
    assert find(str(hits)) == ()


def test_a_value_without_identifiers_stays_as_it_is() -> None:
    value = {"a": [1, 10**400, True, None, "x"], "b": {"c": 1.5}}
    assert mask(value) == (value, ())


def test_refusing_names_where_and_what_but_not_the_value() -> None:
    with pytest.raises(InputError) as caught:
        refuse(f"see GPU-{UUID} at 0000:3b:00.0", f"spec.note of GPU-{UUID}")
    error = caught.value
    assert error.code == "identifier-in-document"
    assert "spec.note of <device-uuid>" in error.message
    assert (
        "a PCI address and a device UUID" in error.message
        or "a device UUID and a PCI address" in error.message
    )
    assert error.details == {"where": "spec.note of <device-uuid>", "kinds": ["device-uuid", "pci-address"]}
    assert find(error.message + error.next_action + str(error.details)) == ()


def test_refusing_nothing() -> None:
    refuse("nothing here", "x")
    refuse_value({"a": ["x", 1, None, True, {"b": "y"}]}, "x")


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": {"b": ["x", "0000:3b:00.0"]}}, "order.a.b[1]"),
        ({"a": 4111111111111111}, "order.a"),
        ({"4111111111111111": "x"}, "order"),
    ],
)
def test_refusing_a_value_names_the_path(value: Any, where: str) -> None:
    with pytest.raises(InputError) as caught:
        refuse_value(value, "order")
    assert caught.value.details["where"] == where
