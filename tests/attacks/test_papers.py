"""LiRA and RMIA compared with transcriptions of their papers, on Gaussian simulations and on real models.

RMIA counts population records z with r(x) / r(z) >= gamma. The count is a staircase over r(x), and the attack here
scores by log r(x) itself, so the two never disagree about an order; the count only has ties where a stair is wide.
Hence their AUCs differ by at most half of the share of (member, non-member) pairs that share a stair, and their TPRs
by no more than the members on the stair at the threshold. At gamma = 1, with Z records z drawn as the non-members are,
the stair around a given record holds at most 2 / (Z + 1) of the non-members on average, so that the difference is
below 1 / Z; at larger gamma the lowest stair, a count of 0, is wider.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import guestlist as gl
import oracles_papers as papers
from guestlist._store import open_store
from guestlist._views import Signals
from guestlist.attacks import ATTACKS
from guestlist.attacks.likelihood import tuned_a
from guestlist.metrics import auc, tpr_at_fpr
from guestlist.testing import gaussian_simulation

pytestmark = pytest.mark.usefixtures("in_the_order_given")

FPRS = (0.01, 0.05)
GAMMAS = (1, 2)
LIRA = {"lira": papers.lira_online, "lira_offline": papers.lira_offline}
RMIA = ("rmia", "rmia_offline")


class Run(NamedTuple):
    """One audit: its signals, the membership, and the metrics of every attack as guestlist reports them."""

    signals: Signals
    evaluated: np.ndarray
    member: np.ndarray
    results: gl.Results | None = None

    def ours(self, name: str) -> np.ndarray:
        return ATTACKS[name].score(self.signals)[self.evaluated]

    def figures(self, name: str) -> list[float]:
        """AUC, TPR at 1 % and TPR at 5 % FPR."""
        if self.results is None:
            scores = self.ours(name)
            return [auc(scores, self.member).value, *(tpr_at_fpr(scores, self.member, fpr).value for fpr in FPRS)]
        attack = self.results.attack(name)
        return [attack.auc.value, *(rate.tpr.value for rate in attack.rates if rate.fpr in FPRS)]


def gaussian() -> Run:
    simulation = gaussian_simulation(1.0, records=800, models=33, log_deviation_sd=0.3)
    evaluated = np.arange(800) < 600
    # Population records are none of the target's members: their outputs are drawn from a model without them.
    values = {name: matrix.copy() for name, matrix in simulation.values.items()}
    values["margin"][0, ~evaluated] -= 1.0 * simulation.member[0, ~evaluated]
    values["p_y"][0] = 1 / (1 + np.exp(-values["margin"][0]))
    values["loss"][0] = -np.log(values["p_y"][0])
    return Run(replace(simulation, values=values).facing(0), evaluated, simulation.member[0, evaluated])


def trained(folder) -> Run:
    """33 logistic regressions on digits, by an audit, whose metrics are compared."""
    x, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(x))[:900]
    x, y = x[rows] / 16, y[rows]
    model = LogisticRegression(C=30, tol=1e-2, max_iter=1000).fit(x[:300], y[:300])
    names = [*RMIA, *(f"{name}_{variance}" for name in LIRA for variance in ("pooled", "record"))]
    parts = [(x[a : a + 300], y[a : a + 300]) for a in (0, 300, 600)]
    results = gl.audit(model, *parts, references=32, attacks=names, folder=folder, jobs=1)
    store = open_store(folder)
    return Run(store.rotation().facing(0), store.split.evaluated[0], np.arange(600) < 300, results)


@pytest.fixture(scope="module", params=["gaussian", "trained"])
def run(request, tmp_path_factory):
    return gaussian() if request.param == "gaussian" else trained(tmp_path_factory.mktemp("papers") / "audit")


def figures(scores, member) -> list[float]:
    return [papers.auc(scores, member), *(papers.tpr(scores, member, fpr) for fpr in FPRS)]


@pytest.mark.slow
@pytest.mark.parametrize("variance", ["pooled", "record"])
@pytest.mark.parametrize("name", LIRA)
def test_lira_reaches_what_the_paper_s_algorithm_reaches(run, name, variance):
    signals = run.signals
    margins = signals.target("margin"), signals.reference("margin")
    theirs = LIRA[name](*margins, signals.reference_member, variance)[run.evaluated]
    expected = figures(theirs, run.member)
    assert 0.55 < expected[0] < 1
    assert run.figures(f"{name}_{variance}") == pytest.approx(expected, abs=1e-9)
    if name == "lira":
        np.testing.assert_allclose(run.ours(f"lira_{variance}"), theirs, rtol=1e-9, atol=1e-9)


def test_offline_lira_has_the_same_order_with_any_single_variance(run):
    """Pooling all confidences adds the variance between records; offline that is only another scale."""
    signals = run.signals
    margins = signals.target("margin"), signals.reference("margin"), signals.reference_member
    chosen = ~signals.reference_member
    kinds = [papers.one_variance(margins[1], chosen, kind) for kind in ("fixed", "pooled")]
    assert kinds[0] > 1.2 * kinds[1]
    expected = papers.lira_offline(*margins, "fixed")[run.evaluated]
    assert run.figures("lira_offline_pooled") == pytest.approx(figures(expected, run.member), abs=1e-9)


def counts(run, name, gamma) -> tuple[np.ndarray, int]:
    """(evaluated records,) the paper's counts, and the number of population records."""
    signals = run.signals
    reference, inside = signals.reference("p_y"), signals.reference_member
    if name == "rmia":
        marginal = papers.marginal_online(reference, inside)
    else:
        marginal = papers.marginal_offline(reference, inside, a=float(tuned_a(signals)[0]))
    population = np.flatnonzero(~run.evaluated)
    return papers.rmia_counts(signals.target("p_y"), marginal, population, gamma)[run.evaluated], len(population)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", RMIA)
def test_rmia_reaches_what_the_paper_s_count_reaches(run, name, gamma):
    ours = run.ours(name)
    count, z = counts(run, name, gamma)
    order = np.argsort(ours)
    assert (np.diff(count[order]) >= 0).all(), "the count never falls where our score rises"
    member = run.member
    tied = (count[member][:, None] == count[~member][None]).mean()
    metrics = run.figures(name)
    expected = papers.auc(count, member)
    assert 0.55 < expected < 1
    assert metrics[0] == pytest.approx(expected, abs=tied / 2 + 1e-12)
    if gamma == 1:
        assert metrics[0] == pytest.approx(expected, abs=1 / z)
    for fpr, tpr in zip(FPRS, metrics[1:], strict=True):
        stair = papers.threshold(count, member, fpr)
        above, up_to = (count > stair)[member].mean(), (count >= stair)[member].mean()
        assert above - 1e-9 <= tpr <= up_to + 1e-9, "the stair at the threshold is all that they can differ by"
