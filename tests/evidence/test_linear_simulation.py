r"""A simulation in which the effect of leaving out a record has a closed form: least squares.

The model is a linear classifier fitted by ridge regression to signs s = ±1: w = A^-1 X's with A = X'X + λI. It outputs
with the logits (0, x'w), so a record's margin is s x'w = 1 - s e, where e = s - x'w is its residual.

* Leaving member i out changes A by x x', and by Sherman and Morrison its residual becomes e / (1 - h) with the leverage
  h = x'A^-1 x. Its margin without it is thus 1 - s e / (1 - h), and membership shifts the margin by s e h / (1 - h).
  A non-member is not in X, and its shift is 0.
* A distilled model is fitted to the target's logits f = Pw on population records P. Without a penalty it is the target,
  w = (P'P)^-1 P'Pw, whatever the target trained on: the whole shift of a member has passed on, and attack D sees
  nothing. With a penalty it is (P'P + λI)^-1 P'Pw. With noise of variance σ² in the labels it is normal around w with
  covariance σ² (P'P)^-1: the expected shift is still 0, for members and non-members alike.

So L finds here what D cannot, and both can be written down.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

import guestlist as gl
from guestlist._store import open_store
from guestlist._views import Evidence
from guestlist.attacks import ATTACKS
from guestlist.evidence import Distilled, LeftOut

pytestmark = pytest.mark.usefixtures("in_the_order_given")

MEMBERS, NONMEMBERS, POPULATION, FEATURES = 40, 30, 100, 6
PENALTY = 0.5


def ridge(x, s, penalty):
    return np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ s)


@dataclass(frozen=True)
class Linear:
    """A fitted model: the coefficients, and a term added to every output, normal with variance ``noise`` squared."""

    w: np.ndarray
    noise: float = 0.0
    direction: np.ndarray | None = None

    def __call__(self, x):
        f = x @ self.w
        if self.noise:
            f = f + self.noise * (x @ self.direction) / np.linalg.norm(x, axis=1)
        return np.column_stack([np.zeros(len(x)), f])


@dataclass(frozen=True)
class Train:
    noise: float = 0.0

    def __call__(self, data, rng):
        return Linear(ridge(data.x, 2 * data.y - 1, PENALTY), self.noise, rng.normal(size=data.x.shape[1]))


@dataclass(frozen=True)
class Distil:
    penalty: float = 0.0
    noise: float = 0.0

    def __call__(self, data, soft, rng):
        f = np.log(soft[:, 1] / soft[:, 0]) + self.noise * rng.normal(size=len(soft))
        return Linear(ridge(data.x, f, self.penalty))


@dataclass(frozen=True)
class Simulation:
    x: np.ndarray
    y: np.ndarray

    @property
    def sign(self):
        return 2 * self.y - 1

    @property
    def w(self):
        return ridge(self.x[:MEMBERS], self.sign[:MEMBERS], PENALTY)

    @property
    def margin(self):
        return self.sign * (self.x @ self.w)

    def shift(self):
        """(records,) how much larger the target's margin is than without the record: s e h / (1 - h), or 0."""
        inside = self.x[:MEMBERS]
        inverse = np.linalg.inv(inside.T @ inside + PENALTY * np.eye(FEATURES))
        h = np.einsum("id,de,ie->i", self.x, inverse, self.x)
        e = self.sign - self.x @ self.w
        return np.where(np.arange(len(self.y)) < MEMBERS, self.sign * e * h / (1 - h), 0.0)

    def collect(self, folder, plan, train=None, distil=None):
        rows = np.split(np.arange(len(self.y)), [MEMBERS, MEMBERS + NONMEMBERS])
        sides = [(self.x[r], self.y[r]) for r in rows]
        target = gl.function_target(
            Linear(self.w), classes=[0, 1], train=train, distil=distil, scale="logits", recipe="ridge"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gl.AuditWarning)
            gl.audit(target, *sides, references=0, evidence=[plan], folder=folder, jobs=1)
        store = open_store(folder)
        return type(plan).read(store), store.rotation().facing(0)


@pytest.fixture(scope="module")
def simulation():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(MEMBERS + NONMEMBERS + POPULATION, FEATURES))
    score = x @ rng.normal(size=FEATURES) + 1.5 * rng.normal(size=len(x))
    return Simulation(x, (score > 0).astype(int))


ASKED = np.arange(MEMBERS + NONMEMBERS)


@pytest.mark.slow
def test_models_without_a_record_have_the_closed_form_loss_on_it(simulation, tmp_path):
    models, _ = simulation.collect(tmp_path, LeftOut(records=1000, models=2), Train())
    margin = (simulation.margin - simulation.shift())[ASKED]
    assert np.abs(simulation.shift()[:MEMBERS]).min() > 0
    np.testing.assert_allclose(models.values["margin"][:, ASKED], np.tile(margin, (2, 1)), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(models.values["loss"][1, ASKED], np.log1p(np.exp(-margin)), rtol=1e-9)


@pytest.mark.slow
def test_without_noise_the_score_is_a_rising_function_of_the_shift(simulation, tmp_path):
    """Models that all agree have the smallest deviation there is, 1e-8: the score is the log-odds of Student's t at
    shift / (1e-8 √(1 + 1/4)) with 3 degrees of freedom, and 0 for non-members."""
    models, signals = simulation.collect(tmp_path, LeftOut(records=1000, models=4), Train())
    scores = ATTACKS["leave_one_out"].score(replace(signals, evidence=Evidence({"left_out": models})))[ASKED]
    shift = simulation.shift()[ASKED]
    t = shift / (1e-8 * np.sqrt(1 + 1 / 4))
    expected = stats.t.logcdf(t, 3) - stats.t.logsf(t, 3)
    np.testing.assert_allclose(scores[:MEMBERS], expected[:MEMBERS], rtol=1e-6)
    np.testing.assert_array_equal(np.argsort(scores[:MEMBERS]), np.argsort(shift[:MEMBERS]))
    np.testing.assert_allclose(scores[MEMBERS:], 0, atol=1e-6)
    # Least squares pulls margins towards 1: a member is found where it is fitted too little, and hides beyond.
    assert ((scores[:MEMBERS] > 0) == (simulation.margin[:MEMBERS] < 1)).all()


@pytest.mark.slow
@pytest.mark.parametrize("targets", [200, pytest.param(400, marks=pytest.mark.long)])
def test_with_noise_the_power_is_that_of_the_noncentral_t(targets, simulation, tmp_path):
    """Every model adds normal noise of deviation τ to its margin, the target included. With n models, the target's
    margin over their mean and deviation is noncentral t: n - 1 degrees of freedom, noncentrality
    shift / (τ √(1 + 1/n)). So a level-alpha test calls a member with a known chance, and a non-member with alpha.
    """
    noise, n, alpha = 0.05, 12, 0.1
    models, signals = simulation.collect(tmp_path, LeftOut(records=30, models=n), Train(noise))
    chosen = ~np.isnan(models.values["margin"]).any(axis=0)
    rng = np.random.default_rng(0)
    called = []
    for _ in range(targets):  # each with its own noise
        margin = simulation.sign * Linear(simulation.w, noise, rng.normal(size=FEATURES))(simulation.x)[:, 1]
        values = {**signals.values, "margin": margin[None]}
        facing = replace(signals, values=values, evidence=Evidence({"left_out": models}))
        called.append(ATTACKS["leave_one_out"].p_value(facing) <= alpha)
    share = np.mean(called, axis=0)
    power = stats.nct.sf(stats.t.isf(alpha, n - 1), n - 1, simulation.shift() / (noise * np.sqrt(1 + 1 / n)))
    assert power[:MEMBERS].max() - power[:MEMBERS].min() > 0.5
    assert power[MEMBERS] == pytest.approx(alpha)
    # Members have models of their own, so what their chances are off by is independent.
    members = chosen & (np.arange(len(share)) < MEMBERS)
    off = (share - power)[members]
    assert abs(off.mean()) < 4 * off.std(ddof=1) / np.sqrt(members.sum())
    assert off.std() < 0.2
    # Non-members share their models; what they say is normal around the target, so the mean is close, no more.
    assert share[chosen & ~members].mean() == pytest.approx(alpha, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, pytest.param(8, marks=pytest.mark.long)])
def test_the_noise_of_left_out_models_is_normal_around_the_closed_form(n, simulation, tmp_path):
    noise = 0.05
    models, _ = simulation.collect(tmp_path, LeftOut(records=MEMBERS, models=n), Train(noise))
    z = ((models.values["margin"] - (simulation.margin - simulation.shift())) / noise)[:, :MEMBERS]
    # Every member has models of its own: all of these are independent.
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3


@pytest.mark.slow
def test_distilled_models_are_the_target_and_see_no_member(simulation, tmp_path):
    models, signals = simulation.collect(tmp_path, Distilled(4), distil=Distil())
    np.testing.assert_allclose(models.values["margin"], np.tile(simulation.margin, (4, 1)), rtol=1e-9, atol=1e-10)
    assert not models.member[:, ASKED].any()
    p_values = ATTACKS["distillation"].p_value(replace(signals, evidence=Evidence({"distilled": models})))
    np.testing.assert_allclose(p_values, 0.5, atol=1e-3)


@pytest.mark.slow
def test_a_penalty_shrinks_distilled_models_by_a_known_amount(simulation, tmp_path):
    models, _ = simulation.collect(tmp_path, Distilled(3), distil=Distil(penalty=2.0))
    for margin, rows in zip(models.values["margin"], models.member, strict=True):
        p = simulation.x[rows]
        w = np.linalg.solve(p.T @ p + 2.0 * np.eye(FEATURES), p.T @ p @ simulation.w)
        np.testing.assert_allclose(margin, simulation.sign * (simulation.x @ w), rtol=1e-9, atol=1e-10)


@pytest.mark.slow
def test_with_noise_distilled_models_scatter_around_the_target(simulation, tmp_path):
    """(v - w)'P'P(v - w) / σ² of a distilled v is chi-square, one degree per feature; the mean shift is 0 everywhere."""
    noise, n = 0.3, 40
    models, _ = simulation.collect(tmp_path, Distilled(n), distil=Distil(noise=noise))
    total, z = 0.0, []
    for margin, rows in zip(models.values["margin"], models.member, strict=True):
        v = np.linalg.lstsq(simulation.x, simulation.sign * margin, rcond=None)[0]
        inner = simulation.x[rows].T @ simulation.x[rows]
        total += (v - simulation.w) @ inner @ (v - simulation.w) / noise**2
        deviation = noise * np.sqrt(np.einsum("id,de,ie->i", simulation.x, np.linalg.inv(inner), simulation.x))
        z.append((margin - simulation.margin) / deviation)
    low, high = stats.chi2.ppf([1e-3, 1 - 1e-3], n * FEATURES)
    assert low < total < high
    z = np.mean(z, axis=0) * np.sqrt(n)  # standard normal for every record
    assert np.abs(z).max() < 4.5
