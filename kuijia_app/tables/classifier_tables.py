"""Tables of an ingress that classify packets of its hosts, if the layout has classifiers; pure.

Table 0 leads packets to planned egresses into the table of classifiers. Its entries, the same at every ingress, lead on
into a table for each class. That one has an entry for each prefix of an egress. So classifiers and prefixes add up
instead of multiplying, and no packet to a planned egress misses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from kuijia_app.tables import identifiers
from kuijia_app.tables.families import Family
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.rules import ETH_TYPE_OF, FlowEntry, Match


def classifier_entries(layout: QueueLayout, families: Sequence[Family]) -> Iterator[FlowEntry]:
    """Yield the entries of the table of classifiers, for versions of IP; none if the layout has no classifiers."""
    classifiers, table = layout.classifiers, identifiers.CLASSIFIER_TABLE
    if classifiers.unmatched is None:
        return
    for position, rule in enumerate(classifiers.rules):
        priority = identifiers.FIRST_CLASSIFIER_PRIORITY - position
        for match in (each for family in families for each in rule.matches(family)):
            yield FlowEntry(priority, match, table_id=table, goto_table=identifiers.class_table(rule.priority))
    for each in layout.classes:
        marks = each.code_points if each.priority != classifiers.unmatched else ()
        to_class = identifiers.class_table(each.priority)
        for code_point, family in product(marks, families):
            match = Match(eth_type=ETH_TYPE_OF[family], ip_dscp=code_point)
            yield FlowEntry(identifiers.CLASS_PRIORITY, match, table_id=table, goto_table=to_class)
    to_rest = identifiers.class_table(classifiers.unmatched)
    yield FlowEntry(identifiers.DATA_PRIORITY, Match(), table_id=table, goto_table=to_rest)


def classes_used(layout: QueueLayout) -> list[int]:
    """Return the priorities of all classes to whose tables the table of classifiers leads."""
    led = (entry.goto_table for entry in classifier_entries(layout, list(Family)))
    tables = {table for table in led if table is not None}
    return [each.priority for each in layout.classes if identifiers.class_table(each.priority) in tables]
