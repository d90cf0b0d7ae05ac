"""Risks that need no references: leverage, deviation of the loss in training, tail of the loss, SHAPr in other spaces."""

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression, Ridge

import guestlist as gl
from guestlist import InputError
from guestlist.cli import main
from guestlist.errors import FolderError, NotCollectedError
from guestlist.evidence import parse_plan
from guestlist.risks import RISKS, risks_of

pytestmark = pytest.mark.slow
FREE = ("leverage", "loss_trace", "loss_tail")


@pytest.fixture(scope="module")
def sides():
    """60 members and 40 others; the first member is an outlier with a wrong label."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, 4)), rng.integers(2, size=100)
    x[:, 0] += 3 * y
    x[0], y[0] = [8.0, 0.0, 6.0, 0.0], 0
    return (x[:60], y[:60]), (x[60:], y[60:])


def collected(model, sides, folder, **options):
    return gl.collect(model, *sides, references=0, folder=folder, jobs=1, baseline=False, **options)


def in_order(case, values):
    """Values of members and of others, as they were given."""
    ordered = np.empty(len(values))
    ordered[case.records["row"].to_numpy()] = values
    return np.split(ordered, [case.truth.member.sum()])


@pytest.fixture(scope="module")
def network(sides, tmp_path_factory):
    """A network with the course of its training, and SHAPr in all spaces."""
    pytest.importorskip("torch")
    fit = gl.defences.Fit(epochs=40, learning_rate=0.02)
    course = fit.checkpoints(
        gl.defences.mlp(4, 2, hidden=(16, 8)), gl.Data(*sides[0]), np.random.default_rng(0), every=2
    )
    target = gl.torch_target(course[-1], checkpoints=course, train=fit)
    folder = tmp_path_factory.mktemp("audits") / "a"
    spaces = gl.evidence.Spaces(("first_layer", "last_hidden", "inputs"))
    return target, course, folder, collected(target, sides, folder, evidence=[spaces])


def test_leverage_of_a_ridge_is_that_of_its_arrays(sides, tmp_path):
    (x, y), (other, z) = sides
    case = collected(Ridge(alpha=2.0).fit(x, y), ((x, y.astype(float)), (other, z.astype(float))), tmp_path)
    everyone, member = np.vstack([x, other]), np.arange(100) < 60
    leverages = np.concatenate(in_order(case, risks_of(case)["leverage"]))
    np.testing.assert_allclose(leverages, gl.risks.leverage(everyone, member=member, penalty=2.0))


def test_all_are_there_by_default_and_rise_with_exposure(network):
    *_, case = network
    risks = risks_of(case)
    assert set(FREE) < set(risks)
    for name in FREE:
        members, others = in_order(case, risks[name])
        assert members[0] > np.quantile(members, 0.75), name
        assert not np.isnan(others).any()


def test_the_deviation_of_the_loss_is_computed_by_hand(network, sides):
    _, course, _, case = network
    torch = pytest.importorskip("torch")
    x, y = (torch.as_tensor(part) for part in sides[0])
    with torch.no_grad():
        trace = [
            torch.nn.functional.cross_entropy(checkpoint(x.float()), y, reduction="none").numpy()
            for checkpoint in course
        ]
    expected = np.subtract(*np.percentile(trace, [75, 25], axis=0))
    np.testing.assert_allclose(in_order(case, risks_of(case)["loss_trace"])[0], expected, rtol=1e-4, atol=1e-6)


def test_the_tail_of_the_loss_is_counted_by_hand(network, sides):
    *_, case = network
    members, others = in_order(case, risks_of(case)["loss_tail"])
    member_losses, other = in_order(case, case.view.target("loss"))
    for values, losses, labels in ((members, member_losses, sides[0][1]), (others, other, sides[1][1])):
        for value, loss, label in zip(values, losses, labels, strict=True):
            of_class = member_losses[sides[0][1] == label]
            assert value == pytest.approx(np.mean((of_class < loss) + 0.5 * (of_class == loss)))


@pytest.mark.parametrize(("space", "layer"), [("first_layer", 2), ("last_hidden", 4), ("inputs", 0)])
def test_shapr_in_a_space_is_that_of_its_array(network, sides, space, layer):
    target, course, _, case = network
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        member_features, other = (course[-1][:layer](torch.as_tensor(x).float()).double().numpy() for x, _ in sides)
    expected = gl.risks.shapr(member_features, sides[0][1], other, sides[1][1])
    members, others = in_order(case, risks_of(case)[f"shapr_{space}"])
    np.testing.assert_allclose(members, expected, atol=1e-9)
    assert np.isnan(others).all()
    direct = gl.risks.shapr_of(target, *sides, space=space)
    np.testing.assert_allclose(direct["shapr"], expected, atol=1e-9)
    np.testing.assert_array_equal(direct["label"], sides[0][1])


def test_the_default_space(network, sides):
    target = network[0]
    by_name = gl.risks.shapr_of(target, *sides, space="first_layer")
    np.testing.assert_array_equal(gl.risks.shapr_of(target, *sides)["shapr"], by_name["shapr"])
    model = LogisticRegression().fit(*sides[0])
    expected = gl.risks.shapr(
        model.predict_proba(sides[0][0]), sides[0][1], model.predict_proba(sides[1][0]), sides[1][1]
    )
    np.testing.assert_allclose(gl.risks.shapr_of(model, *sides)["shapr"], expected, atol=1e-6)


def test_they_are_read_from_the_folder_and_hold_no_features(network):
    _, _, folder, case = network
    again = gl.read_case(folder)
    for name, values in risks_of(case).items():
        np.testing.assert_array_equal(risks_of(again)[name], values)
    arrays = {path.parent.name: np.load(path) for path in (folder / "evidence").glob("*/*.npz")}
    assert set(arrays) == {"leverage", "loss_trace", "spaces"}
    assert all(part.shape == (100,) for file in arrays.values() for part in file.values())
    printed = CliRunner().invoke(
        main, ["risks", str(folder), "--risk", "shapr,shapr_first_layer,leverage", "--top", "3"]
    )
    assert printed.exit_code == 0, printed.output


def test_saved_results_are_not_computed_again(network, sides, tmp_path):
    target, course, folder, case = network
    content = {path: path.read_bytes() for path in (folder / "evidence").glob("*/*")}
    again = collected(gl.torch_target(course[-1], train=gl.defences.Fit(epochs=40, learning_rate=0.02)), sides, folder)
    assert set(risks_of(again)) == set(risks_of(case))
    assert {path: path.read_bytes() for path in (folder / "evidence").glob("*/*")} == content
    with pytest.raises(FolderError, match="holds 'spaces' collected with names"):
        collected(target, sides, folder, evidence=[gl.evidence.Spaces("inputs")])
    assert parse_plan("spaces:names=first_layer+inputs") == gl.evidence.Spaces(("first_layer", "inputs"))


def test_the_order_of_records_is_nothing(network, sides, tmp_path):
    target, _, _, case = network
    order = np.random.default_rng(1).permutation(60)
    (x, y), others = sides
    again = collected(target, ((x[order], y[order]), others), tmp_path)
    for name in FREE:
        before, after = (in_order(audited, risks_of(audited)[name])[0] for audited in (case, again))
        np.testing.assert_allclose(after, before[order], atol=1e-9)


def test_no_attack_is_given_what_takes_the_truth(network):
    *_, case = network
    assert not {"leverage", "loss_trace", "spaces"} & set(case.view.evidence.parts)
    with pytest.raises(NotCollectedError, match="the model owner"):
        case.view.evidence.need("leverage")


def test_records_that_are_not_evaluated_have_no_value(sides, tmp_path):
    population = np.random.default_rng(2).normal(size=(20, 4)), np.arange(20) % 2
    model = LogisticRegression().fit(*sides[0])
    case = gl.collect(model, *sides, population, references=0, folder=tmp_path, jobs=1, baseline=False)
    for name in ("leverage", "loss_tail"):
        np.testing.assert_array_equal(np.isnan(risks_of(case)[name]), ~case.truth.evaluated)


def test_a_missing_capability_is_reported(sides):
    model = LogisticRegression().fit(*sides[0])
    with pytest.raises(InputError, match=r"no checkpoints.*checkpoints=gl.defences.Fit"):
        gl.audit(model, *sides, references=0, evidence=[gl.evidence.LossTrace()])
    with pytest.raises(InputError, match="'first_layer' needs a torch target, and LogisticRegression is not one"):
        gl.audit(model, *sides, references=0, evidence=[gl.evidence.Spaces()])
    with pytest.raises(InputError, match=r"no space 'middle'.* inputs"):
        gl.risks.shapr_of(model, *sides, space="middle")
    with pytest.raises(ValueError, match=r"names=\('outputs',\) must be among"):
        gl.evidence.Spaces("outputs")


def test_checkpoints_are_modules_and_more_than_one(network):
    _, course, *_ = network
    for wrong, message in (
        (course[:1], "at least two modules; found Network"),
        ([course[0], "epoch-2.pt"], "no file epoch-2.pt"),
    ):
        with pytest.raises(InputError, match=message):
            gl.torch_target(course[-1], checkpoints=wrong)


def test_a_game_keeps_the_course_of_training(sides):
    pytest.importorskip("torch")
    x, y = (np.concatenate(part) for part in zip(*sides, strict=True))
    played = {"model": gl.defences.mlp(4, 2, hidden=(8,)), "references": 0, "jobs": 1}
    fit, game = gl.defences.Fit(epochs=3), gl.games.Sides(50, 50)
    traced = gl.play(game, fit, (x, y), evidence=[gl.evidence.LossTrace()], **played).records
    plain = gl.play(game, fit, (x, y), **played).records
    assert (traced["risk_loss_trace"] >= 0).all()
    assert "risk_loss_trace" not in plain
    np.testing.assert_array_equal(traced["risk_loss_tail"], plain["risk_loss_tail"])  # the same target, to the bit


def test_every_risk_without_references_is_in_the_table_of_predictive_values(network):
    *_, case = network
    assert {row.risk for row in gl.risks.predictive_values(case, attacks=["loss"])} >= {
        *FREE,
        "shapr_first_layer",
        "all_members",
    }
    assert all(RISKS[name].references == 0 for name in FREE)


def test_leverage_names_those_that_an_attack_with_references_calls(tmp_path):
    """A ridge regression of records at very different distances from the middle."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 25)) * rng.exponential(size=(400, 1))
    y = x @ rng.normal(size=25) + rng.normal(size=400)
    played = {"references": 16, "jobs": 1, "attacks": ["lira"], "folder": tmp_path / "a"}
    gl.play(gl.games.Sides(200, 200), Ridge(alpha=0.1), (x, y), **played)
    rows = gl.risks.predictive_values(gl.read_case(tmp_path / "a"), ["leverage", "loss_tail"], ["lira"])
    assert next(row for row in rows if row.risk == "leverage").auc.low > 0.7
