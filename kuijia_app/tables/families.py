"""The two versions of IP, and addresses and prefixes of either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Generic, TypeVar

_Value = TypeVar("_Value")

Address = IPv4Address | IPv6Address
Prefix = IPv4Network | IPv6Network


class Family(Enum):
    """A version of IP."""

    IPV4 = 4
    IPV6 = 6

    @property
    def bits(self) -> int:
        """Bits of an address."""
        return 32 if self is Family.IPV4 else 128

    def address(self, number: int) -> Address:
        """Return the address with this number."""
        return IPv4Address(number) if self is Family.IPV4 else IPv6Address(number)

    def prefix(self, start: int, length: int) -> Prefix:
        """Return the prefix of this length that starts with the address of this number."""
        return IPv4Network((start, length)) if self is Family.IPV4 else IPv6Network((start, length))

    @property
    def unspecified(self) -> Address:
        """The address that no host has: all bits are 0."""
        return self.address(0)


def family_of(value: Address | Prefix) -> Family:
    return Family(value.version)


def families_of(values: Iterable[Address | Prefix]) -> tuple[Family, ...]:
    """Return the families of addresses or prefixes, each once, IPv4 first."""
    present = {value.version for value in values}
    return tuple(family for family in Family if family.value in present)


def whole(address: Address) -> Prefix:
    """Return the prefix of one address alone."""
    family = family_of(address)
    return family.prefix(int(address), family.bits)


def first_of(family: Family, addresses: Iterable[Address]) -> Address | None:
    """Return the first address of a family, None if there is none."""
    return next((each for each in addresses if each.version == family.value), None)


class PrefixTable(Generic[_Value]):
    """Finds the prefix that contains an address; prefixes do not overlap."""

    def __init__(self, prefixes: Iterable[tuple[Prefix, _Value]]) -> None:
        self._by_length: dict[Family, dict[int, dict[int, _Value]]] = {family: {} for family in Family}
        for prefix, value in prefixes:
            by_length = self._by_length[family_of(prefix)]
            by_length.setdefault(prefix.prefixlen, {})[int(prefix.network_address)] = value

    def has(self, address: Address) -> bool:
        """Return True if a prefix contains the address."""
        return next(self._found(address), None) is not None

    def of(self, address: Address) -> _Value | None:
        """Return the value of the prefix that contains the address, None if none does."""
        return next((value for (value,) in self._found(address)), None)

    def _found(self, address: Address) -> Iterator[tuple[_Value]]:
        family = family_of(address)
        for length, values in self._by_length[family].items():
            start = int(address) >> family.bits - length << family.bits - length
            if start in values:
                yield (values[start],)
