"""A certificate says exactly what its holder is, whatever the names and datapath ids."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.framework.certificate_names import allowed_ids, datapath_name, may_be_controller
from kuijia_app.pki.holders import CertificateKind, Holder, require_address, require_name
from kuijia_app.pki.making import (
    Authority,
    certificate_text,
    holder_of,
    is_issued_by,
    issued,
    new_key,
    read_certificate,
    read_key,
    self_signed,
    time_now,
)
from kuijia_base.errors import UnsoundError

NOW = time_now()
KEY = new_key()
AUTHORITY = Authority(KEY, self_signed("authority", KEY, NOW, 100))

IDS = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8, unique=True).map(lambda ids: tuple(sorted(ids)))
LABELS = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
ADDRESSES = st.lists(st.one_of(HOSTS, st.ip_addresses().map(str)), min_size=1, max_size=5, unique=True).map(tuple)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
HOLDERS = st.one_of(
    st.builds(Holder, NAMES, st.just(CertificateKind.SWITCH), st.just(()), IDS),
    st.builds(Holder, NAMES, st.sampled_from([CertificateKind.CONTROLLER, CertificateKind.WEB]), ADDRESSES),
)


@settings(max_examples=60, deadline=None)
@given(HOLDERS)
def test_a_certificate_says_who_its_holder_is(holder: Holder) -> None:
    made = read_certificate(certificate_text(issued(AUTHORITY, holder, KEY.public_key(), NOW, 10)))
    found = holder_of(made)
    assert (found.name, found.kind, found.datapath_ids) == (holder.name, holder.kind, holder.datapath_ids)
    assert set(found.addresses) == set(holder.addresses)
    assert is_issued_by(made, AUTHORITY.certificate)


def test_no_certificate_outlives_its_authority() -> None:
    holder = Holder("s1", CertificateKind.SWITCH, datapath_ids=(1,))
    assert issued(AUTHORITY, holder, KEY.public_key(), NOW, 1000).not_valid_after_utc == NOW + timedelta(days=100)


@given(IDS)
def test_only_the_ids_in_a_certificate_are_allowed(ids: tuple[int, ...]) -> None:
    assert allowed_ids(["https://example.net/", *map(datapath_name, ids)]) == frozenset(ids)


@pytest.mark.parametrize(
    ("uris", "ids", "peers"),
    [
        ([], None, True),
        (["https://example.net/kuijia:controller"], None, True),
        (["kuijia:controller"], set(), True),
        (["kuijia:web"], set(), False),
        (["kuijia:datapath-id:1"], set(), False),
        (["KUIJIA:datapath-id:0000000000000001"], set(), False),
        (["kuijia:datapath-id:0000000000000001x"], set(), False),
        (["kuijia:datapath-id:000000000000002a"], {42}, False),
    ],
)
def test_a_name_of_ours_in_any_other_form_allows_nothing(uris: list[str], ids: set[int] | None, peers: object) -> None:
    assert allowed_ids(uris) == ids
    assert may_be_controller(uris) is peers


@given(st.text(max_size=80))
def test_a_name_that_is_taken_can_be_that_of_a_file(text: str) -> None:
    try:
        name = require_name(text)
    except UnsoundError:
        return
    assert name == text
    assert not set(text) & set("/\\\0\n ")
    assert text[0] not in ".-"
    assert text.lower() != "ca"


@given(st.one_of(st.text(max_size=300), HOSTS, st.ip_addresses().map(str)))
def test_an_address_that_is_taken_keeps_its_meaning(text: str) -> None:
    try:
        address = require_address(text)
    except UnsoundError:
        return
    assert require_address(address) == address
    try:
        assert ip_address(text) == ip_address(address)
    except ValueError:
        assert address == text.lower()
        assert address.isascii()


@pytest.mark.parametrize("text", ["", "*", "*.example.net", "a..b", "fe80::1%eth0", "10.0.0.256", "1.2", "-a", "é.net"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UnsoundError):
        require_address(text)


@given(st.binary(max_size=200))
def test_other_content_is_no_key_and_no_certificate(content: bytes) -> None:
    for read in (read_key, read_certificate):
        with pytest.raises(UnsoundError):
            read(content)
