"""The paper on data dependencies at a small size: sizes and features are the paper's, and statements follow the figures."""

from dataclasses import replace
from functools import cache, partial
from math import inf
from types import SimpleNamespace

import pytest
from pandas import read_parquet
from papers.data_dependencies import __main__ as command
from papers.data_dependencies import page, results
from papers.data_dependencies import statements as say
from papers.data_dependencies.bounds import bounds, largest_gain
from papers.data_dependencies.census import of_1994
from papers.data_dependencies.data import FILES, TABLES, available
from papers.data_dependencies.figures import GAMES, Row
from papers.data_dependencies.published import COMPAS_REPEATED, FEATURES, GAIN, GAIN_AT, SHARES
from scipy.stats import t as student

import guestlist as gl
from guestlist.datasets import local


def test_figure_1_is_exact():
    by_epsilon = {bound.epsilon: bound for bound in bounds()}
    assert by_epsilon[0.1].humphries == pytest.approx(0.04997, abs=5e-6)
    assert by_epsilon[1.0].humphries == pytest.approx(0.46212, abs=5e-6)
    assert by_epsilon[2.0].humphries == pytest.approx(0.76160, abs=5e-6)
    assert largest_gain() == (pytest.approx(GAIN, abs=1e-6), pytest.approx(GAIN_AT, abs=2e-4))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name == "census" else name for name in FEATURES]
)
def test_tables_have_the_papers_features(name):
    if not available(name):
        pytest.skip(f"the file of {name} is not there")
    table = TABLES[name]()
    assert table.features == FEATURES[name]
    assert not table.frame.isna().any().any()
    if name == "compas":
        assert len(table.frame) == 6172
        assert table.frame.duplicated().sum() == COMPAS_REPEATED
    if name == "heart":
        assert table.frame["source"].value_counts().to_dict() == {
            "Cleveland": 303,
            "Hungary": 294,
            "VA Long Beach": 200,
            "Switzerland": 123,
        }


def test_the_census_has_the_papers_people():
    """99,827 of 1994, before equal records are taken once."""
    if not available("census"):
        pytest.skip("the file of census is not there")
    assert of_1994(read_parquet(local(FILES["census"]))).sum() == 99_827


@pytest.fixture(scope="module")
def small_tables():
    """Name to a function that returns at most 3,000 records of the table, read once."""

    @cache
    def small(name):
        table = TABLES[name]()
        return replace(table, frame=table.frame.sample(min(len(table.frame), 3000), random_state=0))

    return {name: partial(small, name) for name in TABLES}


# Every game, table and type of shadow model once; other figures differ in their sizes.
TRIED = (
    "figure2_shadow",
    "figure2_private",
    "figure3",
    "figure4",
    "figure5_shadow",
    "figure6",
    "figure7",
    "figure9_shadow",
)


def test_every_table_is_tried():
    assert {played_game.table for name in TRIED for played_game in GAMES[name]} == {
        played_game.table for played in GAMES.values() for played_game in played
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
@pytest.mark.every_third
def test_every_figure_runs_at_a_small_size(name, small_tables, tmp_path, monkeypatch):
    """Every game of it, its counterpart and, where it has them, shadows: 120 members or so, one epoch, two repeats."""
    pytest.importorskip("opacus")
    monkeypatch.setattr(command, "TABLES", small_tables)
    played = GAMES[name]
    if not all(available(played_game.table) for played_game in played):
        pytest.skip(f"the file of {played[0].table} is not there")
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    smaller = max((played_game.game.members or 0) // 120 for played_game in played) or 1
    options = {"epsilons": (0.1, float("inf")), "epochs": 1, "hidden": (4,), "validation": 100, "smaller": smaller}
    played = played[:2]
    command.run(name, 2, tmp_path / "runs", games=[played_game.called for played_game in played], **options)
    attacks = 3 if played[0].shadows else 2
    rows = results.read(name)["rows"]
    assert [row["game"] for row in rows[:: 2 * attacks]] == [played_game.called for played_game in played]
    assert len(rows) == len(played) * 2 * attacks
    assert all(-1 <= row[arm][0] <= 1 for row in rows for arm in ("apart", "mixed"))
    made = page.page()
    assert f"python -m papers.data_dependencies {name} --repeats 2 --games " in made.tables["runs.csv"]
    assert "--epsilons 0.1 inf," in made.tables["runs.csv"]
    assert made.tables[f"{name}.csv"].count("\n") == 1 + len(rows)


@pytest.mark.slow
def test_a_small_run_of_a_figure_makes_a_section(tmp_path, monkeypatch):
    pytest.importorskip("opacus")
    if not available("students"):
        pytest.skip("the file of students is not there")
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    command.run("figure1")
    command.run("figure7", 2, tmp_path / "runs", epsilons=(1.0, float("inf")), epochs=2, hidden=(8,))
    made = page.page()
    assert [row.where for row in made.rows if row.agrees] == ["Figure 1", "Figure 7"]
    assert set(made.pictures) == {"data_dependencies_bounds.svg", "data_dependencies_sources.svg"}
    assert "649 records, 42 features" in made.tables["runs.csv"]


@pytest.fixture
def fake_runs(tmp_path, monkeypatch):
    """Return a function that runs figure 5 without training, with a number that says which run wrote a row."""
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(command, "TABLES", {"adult education": lambda: SimpleNamespace(frame=[0] * 50, features=87)})

    def run(number, repeats=3, **options):
        def rows(played, _table, setting, root, _jobs, _smaller):
            return [
                Row(
                    played.called, attack, None if epsilon == inf else epsilon, [number], [0.0], [1.0, 0.9, 1.1], {}, {}
                )
                for epsilon in setting.epsilons
                for attack in ("average_threshold", "optimal_threshold")
            ]

        monkeypatch.setattr(command, "rows", rows)
        command.run("figure5", repeats, tmp_path, **options)
        return results.read("figure5")

    return run


def runs_by_game_and_epsilon(result):
    return {(row["game"], row["epsilon"]): row["apart"][0] for row in result["rows"]}


def test_a_run_adds_its_games_and_epsilons_to_the_committed_result(fake_runs):
    run = "python -m papers.data_dependencies figure5 --repeats 3"
    first = fake_runs(1, epsilons=(0.1, inf))
    assert first["command"] == f"{run} --epsilons 0.1 inf"
    fake_runs(2, epsilons=(1.0,), games=["p = 0.25", "p = 1"], add=True)
    last = fake_runs(3, epsilons=(0.1,), games=["p = 1"], add=True)
    assert last["command"] == (
        f"{run} --epsilons 0.1 inf && {run} --games 'p = 0.25' 'p = 1' --epsilons 1 --add && "
        f"{run} --games 'p = 1' --epsilons 0.1 --add"
    )
    assert runs_by_game_and_epsilon(last) == {
        **{(f"p = {share:g}", epsilon): 1 for share in SHARES for epsilon in (0.1, None)},
        ("p = 0.25", 1.0): 2,
        ("p = 1", 1.0): 2,
        ("p = 1", 0.1): 3,
    }
    assert [row["epsilon"] for row in last["rows"] if row["game"] == "p = 0.25"] == [0.1, 0.1, 1.0, 1.0, None, None]
    assert last["seconds"] >= first["seconds"]
    assert fake_runs(4, epsilons=(0.1,), games=["p = 1"], add=True)["command"] == last["command"]
    assert fake_runs(5, games=["p = 1"])["command"] == f"{run} --games 'p = 1'", (
        "without add, a run replaces everything"
    )


def test_an_added_run_corrects_the_intervals_for_all_differences_of_a_game(fake_runs):
    """As one run of all epsilons would: 2 attacks at 3 epsilons are 6 differences, and other games keep their 4."""
    fake_runs(1, epsilons=(0.1, inf))
    both = fake_runs(2, epsilons=(1.0,), games=["p = 1"], add=True)
    quantile = {number: student.isf(0.025 / number, 2) for number in (2, 4, 6)}
    for row in both["rows"]:
        _, low, high = row["difference"]
        half = 0.1 * quantile[6] / quantile[2 if row["epsilon"] == 1 else 4] if row["game"] == "p = 1" else 0.1
        assert (low, high) == (pytest.approx(1 - half, abs=1e-4), pytest.approx(1 + half, abs=1e-4))


def test_a_run_adds_only_to_a_result_of_its_repeats_and_sizes(fake_runs, monkeypatch):
    fake_runs(1, epsilons=(0.1,), add=True)  # nothing is committed
    with pytest.raises(gl.InputError, match="has 3 repeats, this run 5"):
        fake_runs(2, repeats=5, add=True)
    with pytest.raises(gl.InputError, match=r"figure5 has no game 'p = 2'\. Choose from 'p = 0', 'p = 0.5'"):
        fake_runs(2, games=["p = 2"])
    monkeypatch.setitem(command.TABLES, "adult education", lambda: SimpleNamespace(frame=[0] * 49, features=87))
    with pytest.raises(gl.InputError, match="different records or features of adult education"):
        fake_runs(2, add=True)


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    printed = capsys.readouterr().out.replace(",", " ").split()
    assert [name for name in (*command.ALL, "page", "all") if name not in printed] == []


def small_row(difference, *, apart=0.5, epsilon=1.0, game="g", attack="optimal_threshold"):
    return {
        "game": game,
        "attack": attack,
        "epsilon": epsilon,
        "apart": [apart, apart - 0.01, apart + 0.01],
        "mixed": [0.1, 0.05, 0.15],
        "difference": [difference, difference - 0.01, difference + 0.01],
    }


def test_statements_hold_only_where_intervals_show_them():
    yes, no = small_row(0.2), small_row(0.0, apart=0.2, epsilon=None)
    assert say.count([yes, no], say.larger_than_control) == "1 of 2"
    assert say.above_bound(yes)  # .462
    assert not say.above_bound(small_row(0.2, apart=0.46))
    assert say.of_attack([yes, no], "optimal_threshold", lowest=10) == [no]
    assert say.similar(no, small_row(0.0, apart=0.24))
    assert not say.similar(small_row(0.0, apart=0.1), no)
    assert not say.similar(no, small_row(0.0, apart=0.1))


@pytest.mark.parametrize(
    ("difference", "repeats", "agrees"), [(0.2, 10, "yes"), (0.2, 3, "yes"), (0.0, 10, "no"), (0.0, 3, "open")]
)
def test_the_verdict_follows_the_results(difference, repeats, agrees):
    [row] = page.PARTS["figure3"]({"rows": [small_row(difference)], "sizes": {}, "repeats": {"count": repeats}}).rows
    assert (row.where, row.agrees) == ("Figure 3", agrees)
    assert row.finding.endswith("3 repeats are too few to decide.") == (agrees == "open")


def test_shadow_models_of_the_paper_are_plain():
    shadows = {
        name: {(played_game.shadows, played_game.shadow_training) for played_game in played}
        for name, played in GAMES.items()
    }
    plain = [name for name in shadows if name.endswith("_shadow")]
    assert [shadows[name] for name in plain] == [{(5, "plain")}] * 4
    assert shadows["figure2_private"] == {(2, "private")}
    assert {played_game.game.members for name in ("figure4", "figure5") for played_game in GAMES[name]} == {10_000}


def test_the_row_of_plain_shadow_models_compares_them_with_private_ones(monkeypatch):
    rows = {
        name: [small_row(0.2, apart=apart, epsilon=0.1, attack="shadow")]
        for name, apart in {"figure2_shadow": 0.5, "figure2_shadow_small": 0.4, "figure2_private": 0.15}.items()
    }
    made = {name: {"rows": parts, "sizes": {}, "repeats": {"count": 10}} for name, parts in rows.items()}
    monkeypatch.setattr(page, "read", made.get)
    [row] = page.PARTS["figure2_shadow"](made["figure2_shadow"]).rows
    assert row.size == "full"
    assert row.finding.endswith("With 1,000 members and ε = 0.1 it is 0.40, with private shadow models 0.15.")
    assert page.PARTS["figure2_shadow_small"](made["figure2_shadow_small"]).rows == ()
    assert page.PARTS["figure2_private"](made["figure2_private"]).rows == ()
    del made["figure2_shadow"]
    [row] = page.PARTS["figure2_shadow_small"](made["figure2_shadow_small"]).rows
    assert row.size == "reduced"
    del made["figure2_shadow_small"]
    [row] = page.PARTS["figure2_private"](made["figure2_private"]).rows
    assert row.detail.endswith("trained with the target's ε (paper: plain)")
    made["figure2_private"]["rows"] = [small_row(0.0, epsilon=0.1, attack="shadow")]
    [row] = page.PARTS["figure2_private"](made["figure2_private"]).rows
    assert row.agrees == "open", "private shadow models cannot decide about plain ones"


def test_the_page_says_neutrally_how_members_of_one_gender_differ_from_the_control():
    rows = [small_row(0.2, game="p = 0"), small_row(-0.1, game="p = 1")]
    assert (
        "(p = 0), the optimal threshold's advantage is larger than in the control in 1 of 1 settings; "
        in page._ends(rows, "men")
    )
    assert page._ends(rows, "men").endswith("with only men (p = 1) in 0 of 1. The mean is larger in 1 and 0.")


def test_two_shares_at_full_size_decide_about_them_only(monkeypatch):
    def rows(at_0, at_half):
        attacks = ("average_threshold", "optimal_threshold")
        first = [small_row(0.1, apart=at_0, epsilon=0.1, game="p = 0", attack=attack) for attack in attacks]
        return first + [
            small_row(0.1, apart=at_half, epsilon=None, game="p = 0.5", attack=attack) for attack in attacks
        ]

    only_men = [small_row(0.0, apart=-0.1, game="p = 1", attack="average_threshold")]
    made = {
        "figure4": {"rows": rows(0.09, 0.08), "sizes": {}, "repeats": {"count": 3}},
        "figure4_small": {"rows": rows(0.09, 0.16) + only_men, "sizes": {}, "repeats": {"count": 10}},
    }
    monkeypatch.setattr(page, "read", made.get)
    assert page.PARTS["figure4"](made["figure4"]).rows == ()
    biased, pair = page.PARTS["figure4_small"](made["figure4_small"]).rows
    assert (biased.size, biased.agrees) == ("reduced", "yes")
    assert (pair.size, pair.agrees) == ("full", "yes")
    assert pair.detail == "p = 0 with ε = 0.1; p = 0.5 with ε = ∞ (paper 5 values); 3 repeats (paper 50)"
    assert "Ours are 0.09 and 0.08; 0.09 and 0.08. With 1,000 members the last two are 0.09 and 0.16." in pair.finding
    made["figure4"]["rows"] = [row for row in rows(0.09, 0.08) if row["game"] == "p = 0"]
    _, pair = page.PARTS["figure4_small"](made["figure4_small"]).rows
    assert (pair.size, pair.agrees) == ("reduced", "no"), "a run that has begun decides nothing"
    del made["figure4"]
    _, pair = page.PARTS["figure4_small"](made["figure4_small"]).rows
    assert (pair.size, pair.agrees) == ("reduced", "no")


def biased_rows(epsilons, advantage):
    """Rows of a figure of attribute bias at all shares p; ``advantage`` maps p to the advantage and its difference."""
    return [
        small_row(
            *advantage(share)[1:], apart=advantage(share)[0], epsilon=epsilon, game=f"p = {share:g}", attack=attack
        )
        for share in SHARES
        for attack in ("average_threshold", "optimal_threshold")
        for epsilon in epsilons
    ]


def test_all_shares_at_full_size_replace_the_small_figures(monkeypatch):
    """The rows of the small size stay out: every number of the page is that of 10,000 members, or names its size."""
    full = {"sizes": {}, "repeats": {"count": 3}}
    small = {"sizes": {}, "repeats": {"count": 10}}
    made = {
        "figure4": full | {"rows": biased_rows((0.1, None), lambda p: (0.04 - 0.09 * p, 0.1 - 0.2 * p))},
        "figure4_small": small | {"rows": biased_rows((0.1, 1.0, None), lambda p: (0.1, 0.1))},
        "figure5": full | {"rows": biased_rows((0.1, None), lambda p: (0.1, 0.2 * p))},
        "figure5_small": small | {"rows": biased_rows((0.1, 1.0, None), lambda p: (0.1, 0.0))},
    }
    monkeypatch.setattr(page, "read", made.get)
    parts = {name: page.PARTS[name](result) for name, result in made.items()}
    assert parts["figure4_small"].rows == parts["figure5_small"].rows == ()
    assert parts["figure4_small"].pictures == parts["figure5_small"].pictures == {}
    assert parts["figure4_small"].tables.keys() == {"figure4_small.csv"}
    detail = "p = 0, 0.25, 0.5, 0.75, 1; ε = 0.1, ∞ (paper 5 values); 3 repeats (paper 50)"
    men, pair = parts["figure4"].rows
    [education] = parts["figure5"].rows
    assert {(row.size, row.detail) for row in (men, pair, education)} == {("full", detail)}
    assert men.finding.endswith("(in 4 of 4 settings; with 1,000 members in 0 of 6).")
    assert (men.agrees, pair.agrees, education.agrees) == ("yes", "yes", "yes")
    assert education.finding == (
        "larger in 2 of 2 settings at p = 1, in 0 of 2 at p = 0. The mean is larger in 2 and 0. At p = 1 and ε = 0.1 the "
        "advantage is 0.10, the bound 0.05 (paper: above it). With 1,000 members larger in 0 of 3 at p = 1 and "
        "0 of 3 at p = 0."
    )
    text = parts["figure4"].text + parts["figure5"].text
    assert "The advantage at p = 0 is the largest of all p at 2 of 2 values of ε." in text
    assert text.count("10,000 members") == 2
    assert "1,000 members," not in text.replace("10,000", "")
    picture = parts["figure4"].pictures["data_dependencies_gender.svg"]
    assert "ε = 0.1" in picture
    assert "ε = 1<" not in picture
    every_epsilon = {"rows": biased_rows((0.1, 1.0, 10.0, 100.0, None), lambda p: (0.1, 0.1))} | full
    assert (
        page.PARTS["figure4"](every_epsilon).rows[0].detail.endswith("; ε = 0.1, 1, 10, 100, ∞; 3 repeats (paper 50)")
    )


def test_figure_4_reads_the_threshold_attacks_of_the_run_with_shadow_models(monkeypatch):
    """At epsilons that its own run lacks; intervals are corrected for the differences that the page then shows."""
    size = {"sizes": {}, "repeats": {"count": 3}}
    own = biased_rows((0.1, None), lambda p: (0.1, 0.1))
    shadows = [
        small_row(0.2, apart=0.3, epsilon=epsilon, game=game, attack=attack)
        for game in ("p = 0", "p = 1")
        for epsilon in (0.1, 1.0, None)
        for attack in ("average_threshold", "optimal_threshold", "shadow")
    ]
    made = {"figure4": size | {"rows": own}, "figure4_shadow": size | {"rows": shadows}}
    monkeypatch.setattr(page, "read", made.get)
    part = page.PARTS["figure4"](made["figure4"])
    assert part.rows[0].detail == (
        "p = 0, 1 with ε = 0.1, 1, ∞; p = 0.25, 0.5, 0.75 with ε = 0.1, ∞ (paper 5 values); 3 repeats (paper 50)"
    )
    assert part.rows[0].results == ("figure4", "figure4_shadow")
    assert "Values at p = 0, 1; ε = 1 are from the run with shadow models." in part.text
    assert part.rows[1].results == ("figure4",), "p = 0 at 0.1 and p = 0.5 without privacy are its own"
    rows = page._with_shadow_run(made["figure4"])["rows"]
    assert [(row["epsilon"], row["result"]) for row in rows[:6:2]] == [
        (0.1, "figure4"),
        (1.0, "figure4_shadow"),
        (None, "figure4"),
    ]
    assert {row["attack"] for row in rows} == {"average_threshold", "optimal_threshold"}
    quantile = {number: student.isf(0.025 / number, 2) for number in (4, 6, 9)}
    for row, number in zip(rows[:6:2], (4, 9, 4), strict=True):
        mean, low, high = row["difference"]
        half = 0.01 * quantile[6] / quantile[number]
        assert (low, high) == (pytest.approx(mean - half, abs=1e-4), pytest.approx(mean + half, abs=1e-4))
    made["figure4_shadow"]["repeats"] = {"count": 5}
    assert page._with_shadow_run(made["figure4"]) == made["figure4"]


def test_the_two_committed_runs_of_figure_4_have_the_same_targets_at_the_lowest_epsilon():
    own, shadows = (results.read(name) for name in ("figure4", "figure4_shadow"))
    if not (own and shadows):
        pytest.skip("one of them has no committed result")
    means = [
        {(row["game"], row["attack"]): [row[arm][0] for arm in ("apart", "mixed")] for row in say.at(run["rows"], 0.1)}
        for run in (own, shadows)
    ]
    both = means[0].keys() & means[1].keys()
    assert len(both) == 6
    assert [means[0][key] for key in both] == [pytest.approx(means[1][key], abs=2e-4) for key in both]
