"""Size of a switch's tables: entries and their fields, groups and buckets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from kuijia_app.tables.field_counts import count_fields
from kuijia_app.tables.rules import SwitchTables


@dataclass(frozen=True, slots=True)
class TableSize:
    """Size of tables; `fields` of the flow entries are counted as in the paper (Zhang et al., Kuijia, section 4.3)."""

    entries: int
    fields: int
    groups: int
    buckets: int

    @staticmethod
    def sum_of(sizes: Iterable[TableSize]) -> TableSize:
        listed = list(sizes)
        return TableSize(
            sum(each.entries for each in listed),
            sum(each.fields for each in listed),
            sum(each.groups for each in listed),
            sum(each.buckets for each in listed),
        )

    def as_json(self) -> dict[str, int]:
        return asdict(self)


def table_size(tables: SwitchTables) -> TableSize:
    return TableSize(
        len(tables.flows),
        count_fields(tables.flows),
        len(tables.groups),
        sum(len(group.buckets) for group in tables.groups),
    )
