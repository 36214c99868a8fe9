"""Headline claims are computed from committed results: what the paper's own figures give, and ours beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.reporting.results_page import Claim, Item, Pick, Results, all_items, headline_of
from experiments.reporting.verdict import judgement_of
from experiments.results.exhibit import Exhibit, Line, Point

FOLDER = Path(__file__).parents[3] / "docs" / "results"
RESULTS = Results(FOLDER)
PAPERS = ("Kuijia", "Hedera", "CQRD", "FlashPass", "ExpressPass", "Hermes")
CLAIMS = {item.paper: item for item in all_items() if item.claims}


def read(path: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDER / path).read_text(encoding="utf-8"))
    return data


def line(path: str, label: str) -> dict[float | str, float]:
    found = next(each for each in read(path)["lines"] if each["label"] == label)
    return {point["x"]: point["value"] for point in found["points"]}


def as_published(claim: Claim) -> float | None:
    """Return what the paper's own figures give for a claim; None if they have no numbers that can be read."""

    def theirs(place: str) -> Exhibit:
        exhibit = RESULTS.exhibit(place)
        lines = (
            replace(line, points=tuple(replace(point, value=point.published) for point in line.points))
            for line in exhibit.lines
        )
        return replace(exhibit, lines=tuple(lines))

    try:
        (line,) = headline_of("", [claim], theirs).lines
    except ValueError:
        return None
    return line.points[0].value


def headline(paper: str) -> list[float | None]:
    shown = headline_of(paper, CLAIMS[paper].claims, RESULTS.exhibit)
    return [each.points[0].value for each in shown.lines]


def test_the_first_row_of_each_paper_is_its_headline() -> None:
    firsts: dict[str, Item] = {}
    for item in all_items():
        firsts.setdefault(item.paper, item)
    assert tuple(firsts) == PAPERS
    for paper, item in firsts.items():
        assert "bstract" in item.item or item.item.startswith("Talk")
        assert item.claims or paper == "ExpressPass"


def test_hedera_is_the_best_pattern_of_8192_hosts() -> None:
    patterns = read("hedera/hedera-8192.json")["patterns"].values()
    annealing = [100 * each["simulated-annealing"] for each in patterns]
    gains = [100 * (each["simulated-annealing"] / each["ecmp"] - 1) for each in patterns]
    assert headline("Hedera") == pytest.approx([max(annealing), max(gains)])


def test_cqrd_is_both_ends_of_its_ranges() -> None:
    switch, network = [], []
    for path in ("cqrd/cqrd-exp1-lcn-all-fct.json", "cqrd/cqrd-exp1-lcn-oc-pc-fct.json"):
        ours = line(path, "CQRD")
        for other in (line(path, "HCF"), line(path, "OQ")):
            switch += [100 - 100 * ours[at] / other[at] for at in ("average", "99th")]
    for path in ("cqrd/cqrd-exp2-lcn-fct-average.json", "cqrd/cqrd-exp2-lcn-fct-99th.json"):
        ours = line(path, "CQRD")
        for other in (line(path, "HCF"), line(path, "OQ")):
            network += [100 - 100 * ours[at] / other[at] for at in (0.1, 0.4, 0.7)]
    assert headline("CQRD") == pytest.approx([min(switch), max(switch), min(network), max(network)])


def test_flashpass_is_the_larger_gain_of_both_loads() -> None:
    expected = []
    for at in ("all average", "small 99th"):
        for other in ("Cubic, paced", "ExpressPass*"):
            figures = ("flashpass/flashpass-fig11.json", "flashpass/flashpass-fig12.json")
            gains = [100 - 100 * line(each, "FlashPass*")[at] / line(each, other)[at] for each in figures]
            expected.append(max(gains))
    assert headline("FlashPass") == pytest.approx(expected)


def test_hermes_is_its_normal_case_unequal_links_and_failures() -> None:
    normal, unequal, drops = (
        f"hermes/hermes-{name}.json" for name in ("fig12-web-search", "fig14-overall-average", "fig16-overall")
    )
    hermes, ecmp, conga = (line(normal, label) for label in ("Hermes", "ECMP", "CONGA"))
    expected = [max(100 * ecmp[at] / hermes[at] - 100 for at in hermes)]
    expected += [max(100 - 100 * conga[at] / hermes[at] for at in hermes)]
    for other in ("CONGA", "CLOVE-ECN"):
        expected.append(max(100 - 100 / value for value in line(unequal, other).values()))
    hermes = line(drops, "Hermes")
    others = [line(drops, label) for label in ("ECMP", "CONGA", "Presto*", "LetFlow")]
    expected.append(min(100 - 100 * hermes[at] / other[at] for other in others for at in hermes))
    assert headline("Hermes") == pytest.approx(expected)


def test_the_papers_own_figures_give_their_claims() -> None:
    """One exception, which its row names: no figure of the LCN paper has 20 % as its least gain."""
    found = {
        claim.claim: (number, claim.published)
        for item in CLAIMS.values()
        for claim in item.claims
        if claim.published is not None and (number := as_published(claim)) is not None
    }
    assert found.pop("one switch, least (%)") == pytest.approx((24.9, 20), abs=0.1)
    assert len(found) == 10
    for number, published in found.values():
        assert number == pytest.approx(published, rel=0.15)


def test_kuijia_loses_less_on_every_backend_where_links_are_full() -> None:
    aboriginal, *losses = headline("Kuijia")
    table = "motivation-packet/table2.json"
    ours, other = (line(table, f"after, {scheme}") for scheme in ("kuijia", "rescaling"))
    assert aboriginal == pytest.approx(min(100 * ours[at] / other[at] - 100 for at in ("f3", "f4")))
    for number, loss in zip((10, 11), losses, strict=True):
        saved = []
        for place in next(each for each in CLAIMS["Kuijia"].claims if f"fig{number}" in each.results[0]).results:
            lines = {each.label: each for each in RESULTS.exhibit(place).lines}
            for demand in (1.0, 1.2, 1.4, 1.6):
                less, more = lines["kuijia"].at(demand).value, lines["rescaling"].at(demand).value
                assert less is not None
                assert more is not None
                saved.append(more - less)
        assert loss == pytest.approx(min(saved))


def test_a_claim_has_the_runs_of_the_number_with_fewer() -> None:
    lines = (Line("ours", (Point(0.5, 1.0, runs=2),)), Line("other", (Point(0.5, 4.0, runs=5),)))
    claim = Claim("lost less", "less", ("here",), "ours", "most", ("other",), published=3.0)
    found = headline_of("the paper", [claim], lambda _: replace(made(1.0, 1.0), lines=lines)).lines[0].points[0]
    assert (found.value, found.runs, found.published) == (3.0, 2, 3.0)


def made(ours: float, other: float) -> Exhibit:
    lines = tuple(Line(label, (Point.of(0.5, [value]),)) for label, value in (("ours", ours), ("other", other)))
    return Exhibit("made", "t", "Figure", "flow", "load", "ms", lines, "the paper")


@pytest.mark.parametrize(
    ("pick", "published", "ours", "verdict"),
    [
        ("most", 50.0, 60.0, "reproduced"),
        ("most", 50.0, 35.0, "within twice the margin"),
        ("most", 50.0, 10.0, "differs"),
        ("least", 50.0, 10.0, "differs"),
        ("at least", 32.0, 60.0, "reproduced"),
        ("at least", 32.0, 80.0, "differs"),
        ("at least", 32.0, 100.0, "order not shown"),
        ("at most", 17.0, 90.0, "reproduced"),
        ("at most", 17.0, 80.0, "differs"),
        ("order", None, 99.0, "reproduced"),
        ("order", None, 100.0, "order not shown"),
    ],
)
def test_claims_are_judged_by_the_one_rule(pick: Pick, published: float | None, ours: float, verdict: str) -> None:
    claim = Claim("faster (%)", "lower", ("here",), "ours", pick, ("other",), published=published)
    assert judgement_of(headline_of("the paper", [claim], lambda _: made(ours, 100.0))).verdict == verdict


def test_a_claim_about_no_number_is_an_error() -> None:
    claim = Claim("faster (%)", "lower", ("here",), "ours", "most", ("other",), (0.9,), 50.0)
    with pytest.raises(ValueError, match="faster"):
        headline_of("the paper", [claim], lambda _: made(1.0, 2.0))
