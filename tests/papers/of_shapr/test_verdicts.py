"""Verdicts on the SHAPr paper: winners, groups and trends, compared with the published ones."""

import pytest
from papers.errata import shapr as errata
from papers.shapr import attribution, backdoors, comparison, measures, noise, page, published, removal
from papers.shapr.data import SOURCES
from papers.shapr.summaries import BETTER, NO_DIFFERENCE, WORSE, verdict

pytest.importorskip("torch")


def test_a_verdict_needs_a_small_p():
    assert verdict(0.1, 0.04) == BETTER
    assert verdict(-0.1, 0.04) == WORSE
    assert verdict(-0.1, 0.05) == NO_DIFFERENCE
    assert verdict(0.1, None) == ""


def test_the_papers_winner_is_read_from_its_figures():
    assert comparison.published_winner(((0.94, 0.02), (0.90, 0.02))) == WORSE
    assert comparison.published_winner(((0.72, 0.0), (0.96, 0.0))) == BETTER
    assert comparison.published_winner(((0.89, 0.01), (0.89, 0.01))) == NO_DIFFERENCE
    assert comparison.published_winner(((0.65, 0.07), (0.67, 0.06))) == NO_DIFFERENCE


def _result(difference, p, everybody, shapr, auc):
    """A result in which every attack and risk has the same figures."""
    figure = {"mean": shapr, "deviation": 0.01, "difference": difference, "p": p}
    rows = [
        {"attack": attack, "risk": risk, "f1": figure, "recall": figure, "auc": figure | {"mean": auc}}
        for attack in measures.ATTACKS
        for risk in (measures.EVERY_MEMBER, *measures.SPACES)
    ]
    rows = [row | {"f1": figure | {"mean": everybody}} if row["risk"] == measures.EVERY_MEMBER else row for row in rows]
    return {"effects": rows, "repeats": {"count": 4}}


def test_winners_are_compared_with_the_papers():
    found = {"location30": _result(0.1, 0.01, 0.9, 0.8, 0.52), "mnist": _result(0.1, 0.01, 0.7, 0.8, 0.505)}
    assert comparison.winners(found, "Table III") == (["MNIST"], ["LOCATION"], [])
    assert comparison.winners(found, "Table IV") == (["LOCATION", "MNIST"], [], [])
    assert comparison.everyone_at_risk(found) == (4, 8), "everyone has the higher F1 on one of two datasets"
    undecided = {"location30": _result(0.1, 0.5, 0.9, 0.8, 0.4)}
    assert comparison.winners(undecided, "Table III") == ([], [], ["LOCATION"])


def _metric(side):
    """A metric that is significantly higher (1), lower (-1) or neither (0)."""
    return {"mean": 0.5, "deviation": 0.01, "difference": 0.1 * side, "p": 0.01 if side else 0.5}


def test_a_direction_needs_a_small_p():
    assert [comparison.direction(_metric(side)) for side in (1, -1, 0)] == ["higher", "lower", ""]
    assert comparison.direction(_metric(1) | {"p": None}) == "", "one repeat cannot tell"


def test_groups_are_compared_with_the_papers():
    def group(name, **sides):
        names = ("shapr", "accuracy", "test")
        return {"column": "sex", "group": name, "members": 10} | {key: _metric(sides.get(key, 0)) for key in names}

    result = {
        "groups": [group("Male"), group("Female", accuracy=1, shapr=-1, test=-1)],
        "sizes": {"credit": {"members": 10}},
    }
    table, figure = page._table9({"credit": result}).rows
    assert (table.where, table.agrees) == ("Table IX", "yes"), "the paper's second group is attacked more"
    assert (figure.where, figure.agrees) == ("Figure 3", "no")
    assert figure.cause == "SHAPr follows test accuracy in all 1 comparisons (table9.csv)."
    result["groups"][1] = group("Female", accuracy=1, shapr=-1, test=1)
    assert page._table9({"credit": result}).rows[1].cause == "", "SHAPr does not follow test accuracy"


@pytest.mark.parametrize(("side", "agrees"), [(-1, "yes"), (1, "no")])
def test_regularisation_is_compared_with_the_papers_trend(side, agrees):
    metrics = {name: _metric(side) for name in ("shapr", "outputs", "attack", "test")}
    rows = [{"dataset": "location30", "weight": weight, "metrics": metrics} for weight in (0.0, 0.01, 0.1)]
    result = {"sweep": rows, "repeats": {"count": 5}, "sizes": {"location30": {"members": 1000}}}
    [row] = page.ALONE["regularisation"](result).rows
    assert row.agrees == agrees
    assert row.largest
    [smaller] = page.ALONE["regularisation"](result | {"sizes": {"location30": {"members": 500}}}).rows
    assert not smaller.largest
    assert smaller.detail.endswith("; members: LOCATION 500 (paper 1,000)")
    assert row.cause.endswith("differs from test accuracy by at most 0.00.")
    rows[0]["metrics"] = metrics | {"outputs": metrics["outputs"] | {"mean": metrics["test"]["mean"] + 0.1}}
    [unexplained] = page.ALONE["regularisation"](result | {"sweep": rows}).rows
    assert (unexplained.cause, unexplained.finding.endswith("(LOCATION).")) == ("", True)
    near = [row | {"dataset": "usps", "metrics": metrics} for row in rows]
    [partly] = page.ALONE["regularisation"](result | {"sweep": rows + near}).rows
    assert partly.cause == ""
    assert "by at most 0.05 on 1 of 2 datasets" in partly.finding


SHARES = ((0.0, 0.8), (0.5, 0.5), (0.75, 0.2))  # share removed and SHAPr: 0.8, 1 and 0.8 per member


@pytest.mark.parametrize(("rows", "agrees"), [(SHARES, "yes"), (SHARES[:2], "no"), (SHARES[1:], "no")])
def test_removal_has_a_trend_where_shapr_per_member_always_rises_or_falls(rows, agrees):
    after = {"attack": _metric(1), "test": _metric(0)}
    sweep = [
        {"dataset": "location30", "by": by, "share": share, "after": after | {"shapr": _metric(0) | {"mean": mean}}}
        for share, mean in rows
        for by in (removal.HIGHEST, removal.RANDOM)
    ]
    result = {"sweep": sweep, "repeats": {"count": 5}, "sizes": {"location30": {"members": 1000}}}
    [row] = page.ALONE["removal"](result).rows
    assert row.agrees == agrees
    assert row.detail == "LOCATION (paper: LOCATION, PURCHASE, TEXAS); 5 targets; the paper's members"


def test_the_papers_recalls_are_those_of_the_errata():
    """Two transcriptions of Table V."""
    for name, (score, shapr) in published.RECALL_MENTR.items():
        assert (score[0], shapr[0]) == errata.TABLE_5[name]
    assert all(recall[0] == errata.TABLE_5[name][1] for name, recall in published.ATTRIBUTION.items())
    for table in (published.F1_MENTR, published.F1_LIRA, published.RECALL_LIRA, published.SECONDS, published.ACCURACY):
        assert set(table) == {source.paper for source in SOURCES.values()}


@pytest.mark.parametrize(("side", "agrees"), [(-1, "yes"), (1, "no")])
def test_backdoors_agree_where_shapr_of_poisoned_members_is_lower(side, agrees):
    metrics = {name: _metric(side) for name in ("shapr", "attack", "train", "test")}
    rows = [
        {"dataset": "usps", "backdoor": backdoor, "poisoned": metrics, "clean": metrics, "success": _metric(0)}
        for backdoor in (backdoors.TRIGGER, backdoors.LABEL)
    ]
    [row] = page.ALONE["backdoors"](
        {"backdoors": rows, "repeats": {"count": 5}, "sizes": {"usps": {"members": 3000}}}
    ).rows
    assert row.agrees == agrees
    assert f"in {len(rows) * (side < 0)} of {len(rows)} settings" in row.finding


def test_recall_is_compared_for_every_estimate_and_layer():
    names = (attribution.SHAPR, *(name for name in attribution.VALUES if name != attribution.SHAPR))
    rows = [
        {"dataset": "usps", "risk": name, "recall": _metric(-1 if "TracIn" in name else 0), "auc": _metric(0)}
        for name in names
    ]
    part = page.ALONE["attribution"]({"recalls": rows, "repeats": {"count": 3}, "sizes": {}})
    assert "below SHAPr in 2 of 4 comparisons" in part.rows[0].finding
    printed = [line.split(",")[-1] for line in part.tables["table7.csv"].splitlines()[1:]]
    assert printed == [str(published.ATTRIBUTION["USPS"][index]) for index in (0, 1, 2, 1, 2)]
    without_tracin = [row | {"dataset": "credit"} for row in rows[:2]]
    part = page.ALONE["attribution"]({"recalls": rows + without_tracin, "repeats": {"count": 3}, "sizes": {}})
    assert "below SHAPr in 2 of 5 comparisons (the last layer, on 1 datasets also all layers" in part.rows[0].finding
    assert part.tables["table7.csv"].endswith(f",{published.ATTRIBUTION['CREDIT'][1]}\n")


@pytest.mark.parametrize(("r", "agrees"), [((0.9, -0.8), ("yes", "yes")), ((-0.9, 0.8), ("no", "no"))])
def test_table_10_is_compared_with_an_attacker_who_has_the_original_records(r, agrees):
    metrics = {name: _metric(-1) for name in ("shapr", "attack")}
    sweep = [
        {"dataset": "usps", "size": size, "half": half, "queried": queried, "metrics": metrics}
        for size in (0, 352)
        for half in (noise.NOISY, noise.CLEAN)
        for queried in (noise.TRAINED, noise.KNOWN)
    ]
    used = {("shapr", noise.KNOWN): r[0], ("score", noise.MIXED): r[1]}
    correlations = [
        {"dataset": "usps", "risk": risk, "queried": queried, "r": used.get((risk, queried), 0.0), "p": 0.01}
        for risk, queries in noise.QUERIES.items()
        for queried in queries
    ]
    result = {"correlations": correlations, "sweep": sweep, "repeats": {"count": 5}}
    shapr, score, halves = page.ALONE["noise"](result | {"sizes": {"usps": {"members": 2000}}}).rows
    assert (shapr.agrees, score.agrees) == agrees
    assert halves.agrees == "yes", "SHAPr of the noisy half is significantly lower"
    assert halves.detail.endswith("members: USPS 2,000 (paper 3,000)")
