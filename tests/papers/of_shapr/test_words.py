"""What is said of the SHAPr paper's figures beside ours: winners, groups, trends."""

import pytest
from papers.errata import shapr as errata
from papers.shapr import attribution, comparison, groups, measures, noise, published, removal, trends
from papers.shapr.data import SOURCES
from papers.shapr.spread import BETTER, NO_DIFFERENCE, WORSE, verdict

pytest.importorskip("torch")


def test_a_verdict_needs_a_small_p():
    assert verdict(0.1, 0.04) == BETTER
    assert verdict(-0.1, 0.04) == WORSE
    assert verdict(-0.1, 0.05) == NO_DIFFERENCE
    assert verdict(0.1, None) == ""


def test_the_papers_winner_is_read_from_its_figures():
    assert comparison.theirs(((0.94, 0.02), (0.90, 0.02))) == WORSE
    assert comparison.theirs(((0.72, 0.0), (0.96, 0.0))) == BETTER
    assert comparison.theirs(((0.89, 0.01), (0.89, 0.01))) == NO_DIFFERENCE
    assert comparison.theirs(((0.65, 0.07), (0.67, 0.06))) == NO_DIFFERENCE


def _result(difference, p, everybody, shapr, auc):
    """A result in which every attack and risk has the same figures."""
    figure = {"mean": shapr, "spread": 0.01, "difference": difference, "p": p}
    rows = [
        {"attack": attack, "risk": risk, "f1": figure, "recall": figure, "auc": figure | {"mean": auc}}
        for attack in measures.ATTACKS
        for risk in (measures.EVERY_MEMBER, *measures.SPACES)
    ]
    rows = [row | {"f1": figure | {"mean": everybody}} if row["risk"] == measures.EVERY_MEMBER else row for row in rows]
    return {"effects": rows, "repeats": {"count": 4}}


def test_other_winners_are_named():
    said = comparison.differences({
        "location30": _result(0.1, 0.01, 0.9, 0.8, 0.52), "mnist": _result(0.1, 0.01, 0.7, 0.8, 0.505)
    })  # fmt: skip
    lines = dict(zip(comparison.TABLES, said.splitlines(), strict=False))
    assert "the winner is the paper's on MNIST. **It is the other one on LOCATION.**" in lines["Table III"]
    assert "the paper's on LOCATION, MNIST." in lines["Table IV"]
    assert "4 of 8 (first layer)" in said, "everybody has the higher F1 on one of two datasets"
    assert "against LiRA above 0.5 on LOCATION, below on none" in said
    said = comparison.differences({"location30": _result(0.1, 0.5, 0.9, 0.8, 0.4)})
    assert "finds no difference on LOCATION (no difference; paper worse)" in said
    assert "against LiRA above 0.5 on none, below on LOCATION" in said


def test_groups_are_told_as_the_paper_told_them():
    def group(name, difference):
        figure = {"mean": 0.6, "spread": 0.01, "difference": difference, "p": 1.0 if difference == 0 else 0.01}
        return {"column": "sex", "group": name, "members": 10} | dict.fromkeys(groups.FIGURES, figure)

    rows = [group("Male", 0.0), group("Female", -0.1) | {"score": {"mean": 0.5, "difference": 0.1, "p": 0.5}}]
    rows[1]["accuracy"] = {"mean": 0.7, "difference": 0.1, "p": 0.01}
    first, _, together, *_ = comparison.groups_said({"credit": {"groups": rows}}).splitlines()
    assert first == (
        "* CREDIT, Female against Male: attack accuracy higher (paper higher); SHAPr (first layer) lower, SHAPr (outputs) "
        "lower, risk score no different; test accuracy lower, gap lower."
    )
    assert "Of 1 comparisons" in together
    assert "test accuracy in 1, and the way of the attack's accuracy in 0" in together
    assert together.endswith("the way of the gap in 0.")


def test_attributions_are_told_beside_shapr():
    worse, same = ({"mean": 0.2, "difference": -0.5, "p": p} for p in (0.01, 0.3))
    row = {"dataset": "usps", "influence_functions": worse, "tracin": same}
    row |= {f"{name}_auc": {"mean": mean} for name, mean in zip(attribution.VALUES, (0.6, 0.5, 0.7), strict=True)}
    said = comparison.attributions_said([row])
    assert "as in the paper: influence functions." in said
    assert said.endswith("that of TracIn.\n")


def test_the_papers_winner_may_come_out_in_another_space():
    result = _result(0.1, 0.01, 0.9, 0.8, 0.5)
    worse = {"mean": 0.8, "spread": 0.01, "difference": -0.1, "p": 0.01}
    result["effects"] = [
        row | {"f1": worse} if (row["attack"], row["risk"]) == (measures.OWN, measures.OUTPUTS) else row
        for row in result["effects"]
    ]
    said = comparison.differences({"location30": result}).splitlines()
    assert said[0].endswith("in another space on LOCATION (outputs).")
    assert "another space" not in said[1]


def test_the_papers_recalls_are_those_of_the_errata():
    """Two transcriptions of Table V."""
    for name, (score, shapr) in published.RECALL_MENTR.items():
        assert (score[0], shapr[0]) == errata.TABLE_5[name]
    assert all(recall[0] == errata.TABLE_5[name][1] for name, recall in published.ATTRIBUTION.items())
    for table in (published.F1_MENTR, published.F1_LIRA, published.RECALL_LIRA, published.SECONDS, published.ACCURACY):
        assert set(table) == {source.paper for source in SOURCES.values()}


def _figure(side):
    """One that is higher, lower or no different."""
    return {"mean": 0.5, "spread": 0.01, "difference": 0.1 * side, "p": 0.01 if side else 0.5}


def test_regularisation_is_told_as_it_goes():
    def row(weight, shapr, attack, test):
        sides = {"shapr": shapr, "at_risk": shapr, "outputs": 0, "score": attack, "attack": attack, "test": test}
        figures = {name: _figure(side) for name, side in sides.items()}
        return {"dataset": "location30", "weight": weight, "figures": figures}

    said = trends.regularisation_said([row(0.0, 0, 0, 0), row(0.1, -1, -1, 1), row(0.2, 1, -1, 1)])
    assert "of 2 weights, against none: SHAPr of all members is lower at 1, higher at 1;" in said
    assert "the attack's accuracy is lower at 2, higher at 0." in said
    assert "accuracy at 1 of 2 weights, the opposite way at 1, and the way of the test accuracy at 1." in said


SCALED = ((0.0, 0.8), (0.5, 0.5), (0.75, 0.2))  # share and SHAPr: 0.8, 1 and 0.8 where it is not times members


def test_removal_is_told_against_before_and_against_chance():
    after = {"shapr": _figure(-1), "attack": _figure(1), "test": _figure(0)}
    row = {"dataset": "location30", "by": removal.HIGHEST, "share": 0.5, "after": after, "attack": _figure(0)}
    other = row | {"by": removal.RANDOM, "after": dict.fromkeys(after, _figure(1))}
    said = trends.removal_said([row, other])
    assert "of 1 shares" in said
    assert "their SHAPr is lower at 1, higher at 0; the attack's accuracy on them is lower at 0, higher at 1;" in said
    assert "removed at random, the attack's accuracy is lower at 0, higher at 0." in said
    shapr = [{**row, "share": share, "after": after | {"shapr": _figure(0) | {"mean": mean}}} for share, mean in SCALED]
    assert trends.scaled(shapr[1]) == pytest.approx(1.0)
    courses = [trends.removal_said(rows).splitlines()[2] for rows in (shapr[:2], shapr[1:], shapr)]
    assert ["always rises" in courses[0], "always falls" in courses[1], "both rises and falls" in courses[2]] == [
        True
    ] * 3


def test_noise_is_told_at_its_largest():
    def row(size, half, asked, shapr, attack):
        figures = {"shapr": _figure(shapr), "attack": _figure(attack), "test": _figure(0)}
        return {"dataset": "mnist", "size": size, "half": half, "asked": asked, "figures": figures}

    rows = [row(1, half, asked, 0, 0) for half in (noise.NOISY, noise.CLEAN) for asked in (noise.TRAINED, noise.KNOWN)]
    rows += [row(9, noise.NOISY, noise.TRAINED, -1, 1), row(9, noise.NOISY, noise.KNOWN, -1, -1)]
    rows += [row(9, noise.CLEAN, asked, 1, 0) for asked in (noise.TRAINED, noise.KNOWN)]
    assert trends.noise_said(rows) == (
        "* MNIST: SHAPr of the noisy half lower (paper lower), of the clean half higher (paper: no consistent trend); attack on "
        "the noisy half, asked as trained on, higher, asked as known lower (paper lower), on the clean half no different; test "
        "accuracy no different.\n"
    )
    assert trends.not_run(rows) == "Not run on LOCATION, FMNIST, USPS, FLOWER, MEPS, CREDIT, CENSUS.\n"
    rows[4]["figures"]["attack"]["p"] = None
    assert "as trained on, higher (one repeat, not tested), asked as known lower (paper" in trends.noise_said(rows)
    rows = [
        {"dataset": "usps", "risk": risk, "asked": asked, "r": r, "p": 0.01}
        for risk, r in (("shapr", 0.3), ("score", 0.9))
        for asked in noise.ASKED[risk]
    ]
    first, *_, last, _ = trends.correlations_said(rows).splitlines()
    assert "SHAPr, asked as trained on: the paper's sign on USPS; the other one on none." in first
    assert "risk score, asked as known: the paper's sign on none; the other one on USPS." in last
