"""The SHAPr paper's datasets, commands, results and page."""

import dataclasses
import json

import numpy as np
import pytest
from papers.pages import existing
from papers.shapr import measures, models, page, published, results
from papers.shapr.__main__ import ALONE, SWEEPS, main
from papers.shapr.data import SOURCES, drawn, load

from guestlist import InputError

pytest.importorskip("torch")


def test_missing_data_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("GUESTLIST_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"usps.npz is not in \$GUESTLIST_DATA"):
        load("usps")


SHAPES = {
    "location30": (5010, 446), "usps": (9298, 256), "flowers": (3670, 256), "meps": (15675, 40), "credit": (30000, 23),
    "census": (48842, 108),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_datasets_are_read(name, real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data(SOURCES[name].file).parent))
    pool = load(name)
    assert pool.x.shape == SHAPES[name]
    assert np.isfinite(pool.x).all()
    assert sorted(set(pool.y)) == list(range(pool.classes))
    assert {(SOURCES[name].paper, column) for column in pool.groups} == {
        key[:2] for key in published.GROUPS if key[0] == SOURCES[name].paper
    }
    part = drawn(pool, 100)
    assert len(part.x) == len(part.y) == 100
    assert all(len(values) == 100 for values in part.groups.values())


@pytest.mark.slow
def test_commands_write_what_the_page_reads(real_data, monkeypatch, tmp_path):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("location30.npz").parent))
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    setting = models.Setting(hidden=(64, 32), epochs=15, full=0, max_members=150, models=((1000, 7),))
    main(["location30", "--repeats", "2", "--folder", str(tmp_path / "models")], setting)
    written = json.loads((tmp_path / "results" / "location30.json").read_text())
    assert written["command"] == "python -m papers.shapr location30 --repeats 2"
    assert written["repeats"] == {"count": 2, "unit": "targets, 6 references each"}
    assert written["sizes"]["location30"] == {"members": 150, "nonmembers": 150, "features": 446}
    rows = {(row["attack"], row["risk"]): row for row in written["effects"]}
    assert rows[measures.SELF_SHADOW, measures.EVERY_MEMBER]["f1"]["mean"] > 0.9, (
        "a network that knows its members by heart"
    )
    auc = {risk: rows[measures.SELF_SHADOW, risk]["auc"]["mean"] for risk in measures.RISKS}
    assert auc[measures.SCORE] > max(auc[space] for space in measures.SPACES), "the score reads what the attack reads"
    made = page.page()
    assert made.tables["table8.csv"].splitlines()[1].startswith("LOCATION,150,150,446,")
    assert "nan" not in made.text
    assert "None" not in made.text
    few = dataclasses.replace(setting, epochs=2, max_members=60)
    for name in SWEEPS.keys() - {"backdoors"}:  # the results are tested elsewhere
        main([name, "--repeats", "2", "--datasets", "location30", "--folder", str(tmp_path / "models")], few)
        written = json.loads((tmp_path / "results" / f"{name}.json").read_text())
        assert written["command"] == f"python -m papers.shapr {name} --repeats 2 --datasets location30"
        assert written["repeats"]["count"] == 2
        assert {row["dataset"] for row in written["sweep"]} == {"location30"}
        made = page.page()
        assert f"](images/shapr_{name}.svg)" in made.text
        assert made.pictures[f"shapr_{name}.svg"].count("<polyline") > 5
        assert "nan" not in made.text
        assert "None" not in made.text


@pytest.mark.slow
def test_backdoors_of_images_have_a_section(real_data, monkeypatch, tmp_path):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("usps.npz").parent))
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    few = models.Setting(hidden=(16,), epochs=2, full=0, max_members=60)
    main(["backdoors", "--repeats", "2", "--datasets", "usps", "--folder", str(tmp_path / "models")], few)
    written = json.loads((tmp_path / "results" / "backdoors.json").read_text())
    assert [row["backdoor"] for row in written["backdoors"]] == ["trigger", "label"]
    made = page.page()
    assert "](images/shapr_backdoors.svg)" in made.text
    assert "nan" not in made.text


def test_a_run_can_add_datasets_to_a_committed_result(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    assert results.others("noise", ["usps"], 5) == ({}, {}, 0.0)
    rows = [{"dataset": "usps", "r": 0.1}, {"dataset": "meps", "r": 0.2}]
    sizes = {"usps": {"members": 2000}, "meps": {"members": 2000}}
    results.write("noise", "", sizes, {"count": 5, "unit": "targets"}, 12.3, {"sweep": rows, "correlations": rows[:1]})
    kept, tables, seconds = results.others("noise", ["usps"], 5)
    assert (kept, seconds) == ({"meps": {"members": 2000}}, 12.3)
    assert tables == {"sweep": rows[1:], "correlations": []}
    with pytest.raises(InputError, match="Run without --add"):
        results.others("noise", ["usps"], 3)


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out.replace(",", " ").split()
    assert [name for name in (*SOURCES, *ALONE, "page", "all") if name not in printed] == []


def test_sizes_name_the_datasets_with_fewer_members():
    sizes = {"usps": {"members": 3000}, "credit": {"members": 2000}}
    assert page._members(sizes) == "members: CREDIT 2,000 (paper 15,000), others as in the paper"
    assert page._size(sizes) == ("reduced", False)
    sizes["credit"]["members"] = 15_000
    assert (page._members(sizes), page._size(sizes)) == ("the paper's members", ("full", False))
    assert page._size(sizes, ["usps", "credit", "mnist"]) == ("reduced", False), "one dataset was not run"
    sizes["mnist"] = {"members": 35_000}
    assert page._members(sizes) == "members: MNIST 35,000 (half of all records; paper 60,000), others as in the paper"
    assert page._size(sizes) == ("reduced", True), "more members leave fewer non-members"
    sizes["meps"] = {"members": 7500}
    assert page._members(sizes).endswith(", others as in the paper; MEPS panel 21 (paper 19)")
    assert page._size(sizes) == ("other data", True)
    sizes["meps"] = {"members": 2000}
    assert page._size(sizes) == ("reduced", False)


def _largest():
    """Return the sizes of results with the most members that leave the same number of non-members."""
    setting = models.Setting(max_members=35_000)
    members = {name: setting.members(source) for name, source in SOURCES.items()}
    return {name: {"members": count, "nonmembers": count} for name, count in members.items()}


def test_no_dataset_has_more_members_than_leave_the_same_number_of_nonmembers():
    sizes = _largest()
    assert {name: size["members"] for name, size in sizes.items()} == {
        name: source.most_members for name, source in SOURCES.items()
    }
    assert (sizes["mnist"]["members"], sizes["census"]["members"]) == (35_000, 24_000)


def test_rows_follow_the_sizes_of_the_results():
    committed = existing(SOURCES, results.read)
    if set(committed) != set(SOURCES):
        pytest.skip("not every dataset has a committed result")
    largest = {name: result | {"sizes": {name: _largest()[name]}} for name, result in committed.items()}
    rows = {row.where: row for part in page.DATASETS for row in part(largest).rows}
    assert {(row.size, row.largest) for row in rows.values()} == {("other data", True)}
    assert rows["Table III"].detail == (
        "members: MNIST 35,000 (half of all records; paper 60,000), FMNIST 35,000 (half of all records; paper 60,000), "
        "others as in the paper; MEPS panel 21 (paper 19); FLOWER 256 features (paper 2,048)"
    )
    assert rows["Table IX"].detail == "the paper's members; MEPS panel 21 (paper 19)"
    smaller = largest | {"census": committed["census"] | {"sizes": {"census": {"members": 2000}}}}
    rows = {row.where: row for part in page.DATASETS for row in part(smaller).rows}
    assert {(row.size, row.largest) for row in rows.values()} == {("reduced", False)}
    assert "CENSUS 2,000 (paper 24,000)" in rows["Table IX"].detail
    fewer = {name: result for name, result in largest.items() if name != "usps"}
    assert page.DATASETS[0](fewer).rows[0].size == "reduced", "one dataset was not run"


@pytest.mark.parametrize("name", ["attribution", "noise"])
def test_rows_of_changed_training_follow_the_datasets_that_were_run(name):
    committed = results.read(name)
    if committed is None:
        pytest.skip(f"{name} has no committed result")
    row = page.ALONE[name](committed | {"sizes": _largest()}).rows[0]
    assert (row.size, row.largest) == ("other data", True)
    row = page.ALONE[name](committed | {"sizes": {"usps": {"members": 3000}}}).rows[0]
    assert (row.size, row.largest) == ("reduced", False)
    assert row.detail.endswith("; the paper's members")


def test_times_are_of_the_datasets_that_are_there(real_data, monkeypatch, tmp_path):
    (tmp_path / "location30.npz").symlink_to(real_data("location30.npz"))
    monkeypatch.setenv("GUESTLIST_DATA", str(tmp_path))
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    main(["times", "--max-records", "60"], models.Setting(hidden=(8,), epochs=1))
    written = json.loads((tmp_path / "results" / "times.json").read_text())
    sizes = [(row["what"], row["members"], row["tests"], row["features"]) for row in written["timings"]]
    assert sizes == [("SHAPr", 60, 60, 446), ("privacy risk score", 60, 60, 446)]
    made = page.page()
    assert "LOCATION,SHAPr,60,60,446," in made.tables["times.csv"]
    assert "Leave-one-out of 100 records" in made.text


def test_every_result_has_its_section():
    assert set(page.ALONE) == set(ALONE)
    assert {path.stem for path in results.FOLDER.glob("*.json")} <= {*SOURCES, *ALONE}


def test_committed_results_are_consistent():
    """Shares are shares; flagging every record has recall 1; a result printed as better is better by its own numbers."""
    for result in existing(SOURCES, results.read).values():
        for row in result["effects"]:
            for measure in ("f1", "precision", "recall", "auc"):
                mean = row[measure]["mean"]
                assert mean is None or 0 <= mean <= 1
            if row["risk"] == measures.EVERY_MEMBER:
                assert row["recall"]["mean"] == 1
                assert row["auc"]["mean"] in (None, 0.5)
        for row in result["distributions"]:
            assert sum(row["called"]) + sum(row["not_called"]) == pytest.approx(1, abs=0.01)
