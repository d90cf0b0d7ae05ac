"""Attacks combined: a slow version, the contract of all attacks, and a false-positive rate that is what it says."""

from math import ceil

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from guestlist import InputError
from guestlist._kernels import aucs
from guestlist._views import Rotation, Signals
from guestlist.attacks import ATTACKS, RULES, combined, score_every_target, select_attacks
from guestlist.attacks.selection import Combination, parse_combination
from guestlist.cli import main
from guestlist.errors import NotCollectedError
from guestlist.metrics import auc, conformal_p_values
from guestlist.testing import DESIGNS, awkward_simulation, gaussian_simulation, noise_simulation, target_of

NAMES = ("loss", "difficulty_offline", "shadow")


def slowly(names, rule, signals):
    """Score and p-value of each record, in loops over stand-in targets and records."""
    values = {name: matrix[1:] for name, matrix in signals.values.items()}
    stand_ins = Rotation(values, signals.reference_member, signals.labels)
    models, records = signals.reference_member.shape
    computed = [np.round(ATTACKS[name].score(signals), 9) for name in names]  # what is equal but for rounding is equal
    theirs = [[np.round(ATTACKS[name].score(stand_ins.facing(k)), 9) for k in range(models)] for name in names]
    cells = [(k, i) for k in range(models) for i in range(records) if not signals.reference_member[k, i]]

    def level(of_attack, value, target_count):
        known = [theirs[of_attack][k][i] for k, i in cells if not np.isnan(theirs[of_attack][k][i])]
        return (target_count + sum(other >= value for other in known)) / (target_count + len(known))

    def joint(levels):
        known = sorted(p for p in levels if not np.isnan(p))
        if not known or (rule == "intersection" and len(known) < len(levels)):
            return np.nan
        return known[{"union": 0, "intersection": -1, "majority": ceil((len(known) + 1) / 2) - 1}[rule]]

    def levels(values, target_count):
        return joint([np.nan if np.isnan(v) else level(a, v, target_count) for a, v in enumerate(values)])

    target = np.array([levels([scores[i] for scores in computed], 1) for i in range(records)])
    stand_in = [levels([theirs[a][k][i] for a in range(len(names))], 0) for k, i in cells]
    stand_in = [p for p in stand_in if not np.isnan(p)]
    p_value = [np.nan if np.isnan(p) else (1 + sum(m <= p for m in stand_in)) / (1 + len(stand_in)) for p in target]
    return -np.log(target), np.array(p_value)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("names", [("loss", "shadow"), NAMES, (*NAMES, "difficulty")])
def test_equal_to_the_slow_version(rule, names):
    signals, _ = target_of(awkward_simulation(records=20, models=6))
    scores = combined(names, rule)
    score, p_value = slowly(names, rule, signals)
    np.testing.assert_allclose(scores(signals), score, rtol=1e-12)
    np.testing.assert_allclose(scores.p_value(signals), p_value, rtol=1e-12)
    assert np.isnan(score).any()  # or else nothing was missing


@pytest.mark.parametrize("rule", RULES)
def test_scores_rise_with_membership(rule):
    signals, member = target_of(gaussian_simulation(2.0, records=1000, models=17))
    scores = combined(NAMES, rule)(signals)
    assert scores.shape == member.shape
    assert auc(scores, member).low > 0.55


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_no_advantage_where_there_is_no_leak(design):
    for rule in RULES:
        mean_aucs = []
        for seed in range(24):
            simulation = noise_simulation(
                records=100, models=6, seed=seed, log_deviation_sd=0.5, design=DESIGNS[design]
            )
            mean_aucs.append(
                aucs(score_every_target(combined(NAMES, rule).attack, simulation), simulation.member).mean()
            )
        assert np.std(mean_aucs, ddof=1) < 0.04  # or else the next line could not fail
        assert abs(np.mean(mean_aucs) - 0.5) < 4 * np.std(mean_aucs, ddof=1) / np.sqrt(len(mean_aucs)), rule


@pytest.mark.parametrize("rule", RULES)
def test_the_order_of_records_and_references_is_irrelevant(rule):
    signals, _ = target_of(awkward_simulation(records=100, models=9))
    scores, rng = combined(NAMES, rule), np.random.default_rng(1)
    order = rng.permutation(100)
    np.testing.assert_allclose(scores(signals.take(order)), scores(signals)[order], rtol=1e-10)
    models = rng.permutation(8)
    values = {key: matrix[np.r_[0, 1 + models]] for key, matrix in signals.values.items()}
    np.testing.assert_allclose(
        scores(Signals(values, signals.reference_member[models], signals.labels)), scores(signals), rtol=1e-10
    )


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_the_false_positive_rate_is_that_of_the_combination(rule):
    """If nothing leaks, a level of 5 % flags 5 %; the uncorrected levels of the attacks do not."""
    alpha, joint, raw = 0.05, [], []
    for seed in range(40):
        signals = noise_simulation(records=500, models=17, seed=seed).facing(0)
        scores = combined(["loss", "difficulty_offline"], rule)
        joint.append((scores.p_value(signals) <= alpha).mean())
        raw.append((np.exp(-scores(signals)) <= alpha).mean())
    error = np.std(joint, ddof=1) / np.sqrt(len(joint))
    assert error < 0.002
    assert abs(np.mean(joint) - alpha) < 4 * error
    if rule == "union":
        assert np.mean(raw) > 1.4 * alpha
    else:
        assert np.mean(raw) < 0.7 * alpha


@pytest.mark.parametrize("rule", RULES)
def test_an_attack_combined_with_itself_ranks_as_it_does_alone(rule):
    simulation = gaussian_simulation(1.0, records=400, models=17)
    signals = simulation.facing(0)
    alone, stand_ins = ATTACKS["loss"].score(signals), simulation.take(np.arange(1, 17))
    combined_scores = combined(["loss", "loss"], rule)(signals)
    np.testing.assert_allclose(
        np.exp(-combined_scores),
        conformal_p_values(alone, score_every_target(ATTACKS["loss"], stand_ins)[~stand_ins.member]),
    )
    order = np.argsort(alone)
    assert (np.diff(combined_scores[order]) >= 0).all()
    assert len(np.unique(combined_scores)) > 300


def test_a_missing_score_is_no_vote_but_breaks_an_intersection():
    simulation = awkward_simulation(records=60, models=9)
    signals = simulation.facing(0)
    none_out = signals.reference_member.all(axis=0) & ~np.isnan(signals.target("loss"))
    assert none_out.any()  # so difficulty_offline has no score there, and loss has one
    assert not np.isnan(combined(["loss", "difficulty_offline"])(signals)[none_out]).any()
    assert not np.isnan(combined(["loss", "difficulty_offline"], "majority")(signals)[none_out]).any()
    assert np.isnan(combined(["loss", "difficulty_offline"], "intersection")(signals)[none_out]).all()


def test_how_it_is_written():
    assert parse_combination("union(loss,lira)") == Combination(("loss", "lira"), "union")
    assert parse_combination(" majority ( loss , lira,rmia ) ") == combined(["loss", "lira", "rmia"], "majority")
    assert parse_combination("loss") is None
    (name,) = select_attacks(["union(loss, lira)"], 5)
    assert name == "union_loss_lira"
    assert select_attacks([combined(["loss", "lira"])], 5)[name].score == combined(["loss", "lira"])


@pytest.mark.parametrize(
    ("written", "references", "message"),
    [
        ("either(loss,lira)", 8, "'either'.*union, majority, intersection"),
        ("union(loss,lyra)", 8, "no attack 'lyra' to combine"),
        ("union(loss)", 8, "at least two attacks"),
        ("union()", 8, "at least two attacks"),
        ("union(loss,distillation)", 8, "distillation cannot be combined.*no distilled"),
        ("union(loss,leaf_shares)", 8, "leaf_shares cannot be combined.*no leaves"),
        ("union(loss,confidence)", 1, "at least 2 reference models, found 1"),
        ("union(loss,lira)", 4, "at least 5 reference models, found 4"),
        ("union(loss,lira", 8, "no attack 'union"),
    ],
)
def test_impossible_combinations_are_reported_before_anything_is_trained(
    written, references, message, tree, blobs, tmp_path
):
    with pytest.raises(InputError, match=message):
        gl.audit(tree, *blobs, references=references, attacks=["loss", written], folder=tmp_path / "audit")
    assert not (tmp_path / "audit").exists()


def test_too_few_references_of_signals_are_reported():
    signals = gaussian_simulation(1.0, records=20, models=2).facing(0)
    with pytest.raises(InputError, match="at least 2 reference models, found 1"):
        combined(["loss", "confidence"])(signals)


@pytest.mark.slow
def test_attacks_on_knn_targets_take_part(blobs, tree):
    model = KNeighborsClassifier(3).fit(*blobs[0])
    results = gl.audit(model, *blobs, references=3, jobs=1, attacks=["loss", "union(loss,t_waka)"])
    assert results.attack("union_loss_t_waka").unscored == 0
    with pytest.raises(NotCollectedError, match="KNeighborsClassifier"):
        gl.audit(tree, *blobs, references=3, attacks=["union(loss,t_waka)"])


@pytest.mark.slow
def test_an_audit_and_its_command(blobs, tree, tmp_path):
    import pandas as pd
    import skops.io

    skops.io.dump(tree, tmp_path / "m.skops")
    for side, (x, y) in zip(("members", "nonmembers"), blobs, strict=True):
        pd.DataFrame(x, columns=list("abcde")).assign(y=y).to_parquet(tmp_path / f"{side}.parquet")
    arguments = ["audit", "--model", tmp_path / "m.skops", "--label", "y", "--references", 6, "--jobs", 1, "--quiet"]
    arguments += ["--members", tmp_path / "members.parquet", "--nonmembers", tmp_path / "nonmembers.parquet"]
    arguments += ["--attack", "loss", "--attack", "majority(loss,lira,rmia)", "--out", tmp_path / "out"]
    result = CliRunner().invoke(main, [str(part) for part in arguments])
    assert result.exit_code == 0, result.output
    from_python = gl.audit(
        tree, *blobs, references=6, jobs=1, attacks=["loss", combined(["loss", "lira", "rmia"], "majority")]
    )
    results = gl.read_results(tmp_path / "out")
    assert set(results.attacks["attack"]) == {"loss", "majority_loss_lira_rmia"}
    written = results.attack("majority_loss_lira_rmia")
    assert written.auc == from_python.attack("majority_loss_lira_rmia").auc
    assert written.auc.low > 0.5
    wrong = [*arguments[:-1], tmp_path / "other", "--attack", "most(loss,lira)"]
    result = CliRunner().invoke(main, [str(part) for part in wrong])
    assert result.exit_code == 2
    assert "union, majority, intersection" in result.output
