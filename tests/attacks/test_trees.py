"""The attack on the leaves of trees: the contract of all attacks, on trees, and a slow version of the formula."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import Data
from guestlist._findings.headline import FIXED, Headline
from guestlist._report.diagnostics import sentence
from guestlist._views import Evidence, LeavesView, Signals
from guestlist.attacks import ATTACKS
from guestlist.errors import NotCollectedError
from guestlist.evidence import Leaves, missing_evidence
from guestlist.games import single_target_split
from guestlist.metrics import auc
from guestlist.models import as_target

leaf_shares = ATTACKS["leaf_shares"].score


def view(leaves, labels):
    records = len(labels)
    return Signals({}, np.zeros((0, records), dtype=bool), labels, Evidence({"leaves": leaves}))


def leaf_signals(model, seed=0, records=400, noise=False):
    """Signals from the file of a model for members and non-members; with ``noise``, membership is permuted."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=records)
    x = rng.normal(size=(records, 4)) + y[:, None]
    member = rng.random(records) < 0.5
    model.fit(x[member], y[member])
    split = single_target_split(member, np.ones(records, dtype=bool))
    evidence = Leaves().take(as_target(model), Data(x, y, np.arange(records)), split)
    return view(evidence, y), rng.permutation(member) if noise else member


def boosted(library, **settings):
    def make():
        package = pytest.importorskip(library)
        name = {"xgboost": "XGBClassifier", "lightgbm": "LGBMClassifier"}[library]
        return getattr(package, name)(n_estimators=10, n_jobs=1, **settings)

    return make


MODELS = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(10, random_state=0),
    "weighted forest": lambda: RandomForestClassifier(10, class_weight="balanced", random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(10, max_depth=6, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=5, subsample=0.7, random_state=0),
    "xgboost": boosted("xgboost"),
    "lightgbm": boosted("lightgbm", verbose=-1),
}


@pytest.mark.parametrize("name", MODELS)
def test_scores_rise_with_membership(name):
    signals, member = leaf_signals(MODELS[name]())
    scores = leaf_shares(signals)
    assert scores.shape == member.shape
    assert np.isfinite(scores).all()
    assert auc(scores, member).low > 0.55


@pytest.mark.slow
def test_no_advantage_where_membership_is_noise():
    aucs = []
    for seed in range(60):
        signals, truth = leaf_signals(RandomForestClassifier(4, random_state=seed), seed, records=200, noise=True)
        aucs.append(auc(leaf_shares(signals), truth).value)
    assert abs(np.mean(aucs) - 0.5) < 4 * np.std(aucs) / np.sqrt(len(aucs))


@pytest.mark.parametrize("name", MODELS)
def test_shuffled_records_give_shuffled_scores(name):
    signals, _ = leaf_signals(MODELS[name]())
    order = np.random.default_rng(1).permutation(len(signals.labels))
    np.testing.assert_allclose(leaf_shares(signals.take(order)), leaf_shares(signals)[order], rtol=1e-9)


def test_the_score_is_the_likelihood_ratio_of_the_counts():
    """Enumerate the outcomes: a record's leaf holds n of the sample, whose members are drawn one by one."""
    rng = np.random.default_rng(0)
    records, trees, rate = 60, 7, 0.6
    leaf, labels = rng.integers(4, size=(records, trees)), rng.integers(2, size=records)
    bag = rng.integers(15, 36, size=trees).astype(float)  # at most the 36 members
    candidates = np.array(
        [[((leaf[:, t] == leaf[i, t]) & (labels == labels[i])).sum() for t in range(trees)] for i in range(records)]
    )
    held = np.minimum(rng.integers(1, 4, size=candidates.shape), np.maximum(candidates - 1, 1)).astype(float)
    scores = leaf_shares(view(LeavesView(leaf, held, True, bag, rate, np.ones(records, dtype=bool)), labels))
    for i in range(records):
        if (candidates[i] == held[i]).any():
            continue  # certain
        ratios = []
        for t in range(trees):
            others, n, b = candidates[i, t] - 1, held[i, t], bag[t] / records
            without = binom.pmf(n, others, b)
            within = b / rate * binom.pmf(n - 1, others, b) + (1 - b / rate) * without
            ratios.append(np.log(within / without))
        assert scores[i] == pytest.approx(np.mean(ratios), abs=1e-4)
    assert (candidates > held).all(axis=1).sum() > 20


def test_a_leaf_with_all_candidates_counted_is_certain():
    """Leaf 0: two candidates, two in training. Leaf 1: three, of which one. The last record is not evaluated."""
    leaf = np.array([[0], [0], [1], [1], [1], [0]])
    held = np.array([[2.0], [2.0], [1.0], [1.0], [1.0], [2.0]])
    evaluated = np.arange(6) < 5
    scores = leaf_shares(view(LeavesView(leaf, held, False, np.array([3.0]), 0.6, evaluated), np.zeros(6, dtype=int)))
    assert scores[0] == scores[1] > 10
    assert scores[2] == pytest.approx(np.log((1 / 2) / (0.6 / 0.4)), abs=1e-4)
    assert np.isnan(scores[5])


@pytest.mark.parametrize(("others", "expected"), [("of the other class", 1.0), ("of the same class", 0.5)])
def test_fully_grown_trees_separate_each_member_from_all_but_its_duplicate(others, expected):
    """Members on a line, of one class and the other in turn; each leaf is one member's, and one non-member's."""
    x, y = np.arange(100.0)[:, None], np.arange(100) % 2
    model = DecisionTreeClassifier(random_state=0).fit(x, y)
    their = y if others == "of the same class" else 1 - y
    pool = Data(np.vstack([x, x + 0.25]), np.r_[y, their], np.arange(200))
    evidence = Leaves().take(
        as_target(model), pool, single_target_split(np.arange(200) < 100, np.ones(200, dtype=bool))
    )
    scores = leaf_shares(view(evidence, pool.y))
    assert auc(scores, np.arange(200) < 100).value == expected


def test_a_target_that_is_no_tree_is_reported(blobs):
    evidence = Evidence(missing=missing_evidence())
    signals = Signals({}, np.zeros((0, 3), dtype=bool), np.zeros(3, dtype=int), evidence)
    with pytest.raises(NotCollectedError, match="leaves of trees"):
        leaf_shares(signals)
    with pytest.raises(NotCollectedError, match="leaves of trees"):
        gl.audit(LogisticRegression().fit(*blobs[0]), *blobs, references=0, attacks=["leaf_shares"])


@pytest.mark.slow
def test_an_audit_of_a_forest_runs_it_and_lists_the_leaves(blobs, tree):
    rng = np.random.default_rng(0)
    population = rng.normal(size=(50, 5)), rng.integers(3, size=50)
    results = gl.audit(tree, *blobs, population, references=8, jobs=1, attacks=["loss", "leaf_shares"])
    assert results.attack("leaf_shares").auc.low > results.attack("loss").auc.high
    assert results.headline.name == "loss"  # of stand-in targets only the outputs are known
    expected = gl.risks.leaf_risk(tree, blobs[0])
    members = results.records[results.records["member"]]
    np.testing.assert_array_equal(members["risk_alone_in_leaves"], expected["alone"])
    lone = (expected["alone"] > 0.5).sum()
    assert lone > 0
    assert results.check("GL110").state == "issue"
    assert sentence(results.check("GL110")).startswith(f"{lone} of 240 members are alone in their leaf")


@pytest.mark.slow
def test_alone_it_is_the_headline(blobs, tree):
    results = gl.audit(tree, *blobs, references=8, jobs=1, attacks=["leaf_shares"])
    assert results.headline == Headline("leaf_shares", FIXED, 0, None)


@pytest.mark.slow
def test_on_a_forest_with_small_leaves_it_has_a_higher_tpr_than_reference_attacks():
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    members, nonmembers = ((x[part], y[part]) for part in np.split(order, [898]))
    model = RandomForestClassifier(50, random_state=0).fit(*members)
    results = gl.audit(
        model, members, nonmembers, references=8, attacks=["leaf_shares", "loss", "lira", "rmia"], jobs=1
    )
    others = [results.attack(name).auc.high for name in ("loss", "lira", "rmia")]
    assert results.attack("leaf_shares").auc.low > max(others)
