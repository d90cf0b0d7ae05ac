"""Quantiles of risks over groups, and rank correlations, against plain loops."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from example_results import HOSTILE
from guestlist import Results
from guestlist._findings import headline, risk_distribution
from guestlist._report.page import report_page
from guestlist._report.sections import risks as section
from guestlist.risks import risks_of
from guestlist.testing import evaluate_case, leaking_case


@pytest.fixture(scope="module")
def case():
    base = leaking_case(records=400)
    sex = np.where(np.arange(400) % 3 == 0, "f", "m")
    town = np.where(np.arange(400) < 390, "here", "there")  # five members or so: too few
    return replace(base, records=base.records.drop(columns="group_half").assign(group_sex=sex, group_town=town))


def test_quantiles_are_those_of_the_members_of_a_group(case):
    distribution = risk_distribution.find_risk_distribution(case)
    evaluated, member = case.truth.evaluated, case.truth.member
    sex = case.records["group_sex"].to_numpy()
    for name, values in risks_of(case).items():
        rows = {(*row.values.items(),): row for row in distribution.quantiles if row.risk == name}
        assert [*rows] == [(), (("sex", "f"),), (("sex", "m"),), (("town", "here"),)]
        risks = np.sort(values[evaluated & member & (sex == "f") & ~np.isnan(values)])
        row = rows[(("sex", "f"),)]
        assert row.members == len(risks)
        assert set(row.quantiles) <= set(risks)
        for level, quantile in zip(risk_distribution.LEVELS, row.quantiles, strict=True):
            assert np.mean(risks < quantile) <= level + 1 / len(risks)
            assert np.mean(risks <= quantile) >= level - 1 / len(risks)


def test_correlations_are_over_members(case):
    distribution = risk_distribution.find_risk_distribution(case)
    attack = case.of(headline.find).name
    member = case.truth.evaluated & case.truth.member
    columns = {**risks_of(case), attack: case.scores[attack]}
    assert distribution.names == (*columns,)
    for i, a in enumerate(columns.values()):
        for j, b in enumerate(columns.values()):
            known = member & ~np.isnan(a) & ~np.isnan(b)
            assert distribution.spearman[i][j] == pytest.approx(spearmanr(a[known], b[known]).statistic, abs=1e-5)


@pytest.mark.slow
def test_the_page_draws_each_risk_and_escapes_groups(case):
    results = evaluate_case(case)
    drawn = section.risk_distribution_section(results)
    assert len(drawn.charts) == len({row.risk for row in results.risk_distribution.quantiles})
    chart = drawn.charts["spread-0"]
    assert chart.series[2].x == tuple(row.quantiles[2] for row in results.risk_distribution.quantiles[:4])
    assert list(chart.y.names) == ["all members", "sex = f", "sex = m", "town = here"]
    assert str(Results.from_document(results.document()).risk_distribution) == str(results.risk_distribution)
    spreads = tuple(replace(row, values={HOSTILE: HOSTILE}) for row in results.risk_distribution.quantiles)
    made = report_page(replace(results, risk_distribution=replace(results.risk_distribution, quantiles=spreads)))
    assert "<script>alert('x')" not in made
    assert "<img src=x" not in made


def test_many_groups_are_cut_to_the_largest():
    rows = [risk_distribution.RiskQuantiles("mu", {}, 500, (0.0,) * 5)]
    rows += [risk_distribution.RiskQuantiles("mu", {"town": str(i)}, 10 + i, (0.0,) * 5) for i in range(30)]
    largest_groups = section._largest_groups(tuple(rows))
    assert [row.values.get("town") for row in largest_groups] == [
        None,
        *(str(i) for i in range(30 - section.MAX_GROUPS, 30)),
    ]
