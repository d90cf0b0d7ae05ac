"""Song & Mittal's tables on small models: the same code, the same directions."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from papers.systematic_evaluation import (
    difficulty,
    memguard,
    models,
    page,
    published,
    results,
    thresholds,
    white_box,
)
from papers.systematic_evaluation.__main__ import COMMANDS, PAIR_COMMANDS, main
from papers.systematic_evaluation.data import (
    PREDICTIONS,
    Records,
    location30,
    published_outputs,
    purchase100,
    texas100,
)

from guestlist import InputError

torch = pytest.importorskip("torch")

SMALL = models.Setting(records=240, hidden=(64,), epochs=60, references=2)


def clusters(records=600, classes=6, seed=0) -> Records:
    """Overlapping classes in many dimensions: a network learns its members by heart and errs on others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=records)
    return Records((1.5 * np.eye(classes, 40)[y] + rng.normal(size=(records, 40))).astype(np.float32), y)


@pytest.mark.slow
def test_all_attacks_are_judged_on_what_the_white_box_attacker_does_not_know(tmp_path):
    rows, [fitted] = white_box.outcomes(clusters(), SMALL, tmp_path, repeats=1)
    assert {row.attack for row in rows} == {*published.WHITE_BOX["Texas100"], white_box.WHITE_BOX_NETWORK}
    assert {row.records for row in rows} == {SMALL.records}, "half of the members and half of the non-members"
    assert all(row.accuracy > 51 for row in rows)
    assert all(0.5 < row.auc < 1 for row in rows)
    right = {row.attack: row for row in rows}["correctness"]
    assert right.accuracy == pytest.approx(50 + (fitted.train_accuracy - fitted.test_accuracy) / 2, abs=5)


def test_the_attack_network_reads_the_gradient_of_the_last_layer():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
    x = torch.randn(6, 5)
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    gradient, outputs, label, loss = white_box.attack_inputs(module, x, y)
    for row in range(6):
        own_loss = torch.nn.functional.cross_entropy(module(x[row : row + 1]), y[row : row + 1])
        weight, bias = torch.autograd.grad(own_loss, list(module[-1].parameters()))
        np.testing.assert_allclose(gradient[row, :, :-1], weight, atol=1e-6)
        np.testing.assert_allclose(gradient[row, :, -1], bias, atol=1e-6)
        assert float(loss[row]) == pytest.approx(own_loss.item(), abs=1e-6)
    assert outputs.sum(dim=1).numpy() == pytest.approx(1)
    assert label.argmax(dim=1).tolist() == y.tolist()


@pytest.mark.slow
def test_the_authors_answers_give_their_table(real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data(PREDICTIONS).parent))
    rows = memguard.accuracies()
    assert len(rows) == 8
    assert all(row.accuracy == row.paper for row in rows)


def test_purchase100_and_texas100_are_read_from_files_in_the_published_format(monkeypatch, tmp_path):
    (tmp_path / "texas" / "100").mkdir(parents=True)
    (tmp_path / "dataset_purchase").write_text("3,0,1,1\n100,1,0,0\n")
    (tmp_path / "texas" / "100" / "feats").write_text("0,1\n1,1\n")
    (tmp_path / "texas" / "100" / "labels").write_text("1\n100\n")
    monkeypatch.setenv("GUESTLIST_DATA", str(tmp_path))
    purchase, texas = purchase100(), texas100()
    assert (purchase.x.tolist(), purchase.y.tolist()) == ([[0, 1, 1], [1, 0, 0]], [2, 99])
    assert (texas.x.tolist(), texas.y.tolist()) == ([[0, 1], [1, 1]], [0, 99])
    monkeypatch.setenv("GUESTLIST_DATA", str(tmp_path / "texas"))
    with pytest.raises(InputError, match=r"dataset_purchase is not in \$GUESTLIST_DATA"):
        purchase100()


def test_missing_data_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("GUESTLIST_DATA", str(tmp_path))
    with pytest.raises(InputError, match=rf"{PREDICTIONS} is not in \$GUESTLIST_DATA"):
        published_outputs("target", defended=False)


def test_noise_is_where_it_is_said_to_be():
    records = Records(np.zeros((6000, 1)), np.repeat(np.arange(6), 1000))
    half = difficulty.noisy(records, np.arange(3), 0.6)
    changed = half.y != records.y
    assert not changed[3000:].any()
    assert set(half.y[:3000]) == {0, 1, 2}
    assert changed[:3000].mean() == pytest.approx(0.6 * 2 / 3, abs=0.03), "a third is drawn as it was"


@pytest.mark.parametrize(("uneven", "shown"), [(2.0, True), (0.5, False)])
def test_class_difficulty_is_a_cause_only_where_the_experiment_shows_it(uneven, shown, monkeypatch):
    names = {difficulty.AS_THEY_ARE: 0.0, difficulty.FEW_RECORDS: 0.0, difficulty.EVEN: 0.0, difficulty.UNEVEN: uneven}
    gains = {name: thresholds.Gain("mentr", 60.0, 1.0, 60 + gain, 1.0, gain, 1.0) for name, gain in names.items()}
    result = {
        "repeats": {"count": 3},
        "changed": [asdict(difficulty.Changed(name, count, [gains[name]])) for name in names for count in (1, 8)],
        "levels": [asdict(difficulty.Level(name, 33.0, 80.0, 50.0, 10.0, [3])) for name in names],
    }
    monkeypatch.setattr(page, "read", lambda name: result)
    assert ("it is +2.0" in page._difficulty_cause()) == shown
    assert bool(page._difficulty_cause()) == shown


def test_sides_are_apart():
    records = clusters(records=50)
    (inside, _), (outside, _) = records.sides(25, seed=1)
    assert len(np.unique(np.vstack([inside, outside]), axis=0)) == 50
    with pytest.raises(InputError, match="size=26 to be at most half of the 50"):
        records.sides(26, seed=1)


def test_location30_is_read(real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("location30.npz").parent))
    records = location30()
    assert records.x.shape == (5010, 446)
    assert sorted(set(records.y)) == list(range(30))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table4", *COMMANDS])
def test_commands_write_what_the_page_reads(name, real_data, monkeypatch, tmp_path):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("location30.npz").parent))
    real_data(PREDICTIONS)
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(memguard, "EPOCHS", 2)
    monkeypatch.setattr(difficulty, "MAX_EPOCHS", 4)
    folder = str(tmp_path / "cache")
    main(
        [name, "--repeats", "1", "--folder", folder], models.Setting(records=200, hidden=(32,), epochs=12, references=2)
    )
    written = json.loads((tmp_path / f"{name}.json").read_text())
    assert written["command"].startswith(f"python -m papers.systematic_evaluation {name}")
    assert {"versions", "sizes", "repeats", "seconds"} <= set(written)
    assert "Location30" in written["sizes"]
    if name in CHECKS:
        CHECKS[name](written)
    made = page.page()
    assert "±" not in made.text, "a single target has no standard deviation"
    assert f"{written['command']}," in made.tables["runs.csv"]
    assert len(made.tables) > 1


def check_networks(written):
    networks = {
        (row["defended"], row["shadow_defended"], row["attack"]): row["accuracy"] for row in written["networks"]
    }
    for name in published.NETWORKS:
        assert networks[False, False, name] > 65
        assert networks[True, True, name] < networks[False, False, name], "MemGuard takes something from networks"


def check_difficulty(written):
    names = [difficulty.AS_THEY_ARE, difficulty.FEW_RECORDS, difficulty.EVEN, difficulty.UNEVEN]
    rows = [(row["records"], row["references"]) for row in written["changed"]]
    assert rows == [(name, count) for name in names for count in (1, 2)]
    gains = [gain for row in written["changed"] for gain in row["gains"]]
    assert all(gain["gain"] == pytest.approx(gain["per_class"] - gain["single"], abs=1e-3) for gain in gains)
    level = {row["records"]: row for row in written["levels"]}
    assert level[difficulty.FEW_RECORDS]["members"] == 60 / 30
    assert level[difficulty.EVEN]["test_accuracy"] < level[difficulty.AS_THEY_ARE]["test_accuracy"], "noise is hard"


CHECKS = {"table4": check_networks, "difficulty": check_difficulty}


def test_every_command_has_its_part_of_the_page():
    assert set(page.PARTS) == {"table4", *COMMANDS, *PAIR_COMMANDS}
    assert {path.stem for path in results.FOLDER.glob("*.json")} <= set(page.PARTS)
