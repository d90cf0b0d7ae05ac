"""Datasets of the papers are built from the files that their sources publish."""

import gzip
import io
import pickle
import re
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from papers.datasets import (
    ADULT_COLUMNS,
    CENSUS_COLUMNS,
    COMPAS_IDENTIFIERS,
    HEART_COLUMNS,
    HOSPITALS,
    LOCATION_ROWS,
    MEPS_COLUMNS,
    MEPS_NUMBERS,
    MEPS_VISITS,
    SOURCES,
    census,
    checksum,
    digits,
    main,
    make,
    meps,
    read,
    usps,
)
from papers.features import FLOWERS, cifar_features, cifar_subset, flowers, imdb

import papers


def write_raw(name, table, folder):
    """Write a table as its source publishes it."""
    if name == "student_por.parquet":
        table.to_csv(folder / "student-por.csv", sep=";", index=False)
    elif name == "compas.parquet":
        table.assign(**dict.fromkeys(COMPAS_IDENTIFIERS, "x")).to_csv(
            folder / "compas-scores-two-years.csv", index=False
        )
    elif name == "bank_marketing.parquet":
        table.to_csv(folder / "bank-full.csv", sep=";", index=False)
    elif name == "credit_default.parquet":
        table.to_csv(folder / "UCI_Credit_Card.csv", index=False)
    elif name == "adult.parquet":
        train, test = (table.loc[table["split"] == split, list(ADULT_COLUMNS)] for split in ("train", "test"))
        train.to_csv(folder / "adult.data", header=False, index=False)
        lines = test.assign(income=test["income"] + ".").to_csv(header=False, index=False)
        (folder / "adult.test").write_text("|1x3 Cross validator\n" + lines)
    else:
        for file, hospital in HOSPITALS.items():
            part = table.loc[table["hospital"] == hospital, list(HEART_COLUMNS)]
            part.to_csv(folder / f"processed.{file}.data", header=False, index=False, na_rep="?")


def archived(path, files):
    """Write a compressed archive of files, given by name and content."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


@pytest.mark.parametrize(
    "name",
    [
        "student_por.parquet",
        "compas.parquet",
        "heart_disease.parquet",
        *(
            pytest.param(f"{name}.parquet", marks=pytest.mark.slow)
            for name in ("bank_marketing", "credit_default", "adult")
        ),
    ],
)
def test_a_table_is_made_from_the_original_files(name, real_data, tmp_path):
    table = pd.read_parquet(real_data(name))
    assert checksum(table) == SOURCES[name].sha256
    write_raw(name, table, tmp_path)
    assert make(name, tmp_path, tmp_path / "data") == f"{name}: written to {tmp_path / 'data'}."
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "data" / name), table, check_dtype=False)


@pytest.fixture
def survey(real_data):
    """The survey from which ``meps21.parquet`` is selected, with other codes and with records that are excluded."""
    table = pd.read_parquet(real_data("meps21.parquet"))
    offsets = pd.Series({name: 0 if name in MEPS_NUMBERS else 1 for name in MEPS_COLUMNS})
    selected = (table[list(MEPS_COLUMNS)] + offsets).rename(columns=MEPS_COLUMNS)
    selected["PCS42"] += np.where(selected["PCS42"] > 0, 0.75, 0)  # the survey has decimals
    selected = selected.assign(RACEV2X=1, HISPANX=2 - (table["RACE"] == 0), PANEL=21, HIBPDX=1, EDUCYR=12, HIDEG=3)
    selected = selected.assign(**dict.fromkeys(MEPS_VISITS, 0)).assign(OBTOTV16=10 * table["label"])
    excluded = pd.concat([selected.tail(4)] * 2, ignore_index=True)
    excluded.loc[:3, "PANEL"] = 20
    excluded.loc[4, "AGE53X"] = -1
    excluded.loc[5, "HIBPDX"] = -9
    excluded.loc[6, "FTSTU53X"] = -7
    excluded.loc[7, "MARRY53X"] = -1
    return pd.concat([excluded, selected], ignore_index=True)


def test_meps_is_selected_from_the_survey(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(
        pd, "read_sas", lambda file, format: survey if (file.read(), format) == (b"x", "xport") else None
    )
    with zipfile.ZipFile(tmp_path / "h192ssp.zip", "w") as archive:
        archive.writestr("h192.ssp", "x")
    assert checksum(meps(tmp_path)) == SOURCES["meps21.parquet"].sha256


def test_both_files_of_the_census_are_stacked(tmp_path):
    record = [f"{column} x" for column in CENSUS_COLUMNS[1:-1]]
    for name, income in (("census-income.data", "- 50000."), ("census-income.test", "50000+.")):
        (tmp_path / name).write_text(", ".join(["21", *record, income]) + "\n")
    table = census(tmp_path)
    assert table["income"].tolist() == ["- 50000.", "50000+."]
    assert table["split"].tolist() == ["train", "test"]
    assert table["age"].tolist() == [21, 21]
    assert make("census_income_kdd.parquet", tmp_path, tmp_path).endswith("the data of the committed results.")


def test_missing_files_are_named_with_their_source(tmp_path, capsys):
    main([str(tmp_path), "--out", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(SOURCES)
    assert lines[2] == (
        f"student_por.parquet: student-por.csv is not in {tmp_path}. Download it from UCI, doi:10.24432/C5TG7T."
    )


@pytest.mark.slow
def test_location30_and_the_authors_predictions_are_built_from_the_original_files(real_data, tmp_path):
    location, predictions = (read(real_data(name)) for name in ("location30.npz", "location30_predictions.npz"))
    bits = np.unpackbits(location["x_packed"], axis=1, count=int(location["n_features"]))
    lines = [f'"{label + 1}",' + ",".join(map(str, row)) for label, row in zip(location["y"], bits, strict=True)]
    archived(tmp_path / "dataset_location.tgz", {"bangkok": "\n".join(lines).encode()})
    assert make("location30.npz", tmp_path, tmp_path / "data") == f"location30.npz: written to {tmp_path / 'data'}."
    assert checksum(read(tmp_path / "data" / "location30.npz")) == SOURCES["location30.npz"].sha256

    unused = {label: list(np.flatnonzero(location["y"] == label)) for label in range(30)}
    order = np.zeros(len(location["y"]), dtype=int)
    for model, ranges in LOCATION_ROWS.items():
        at = np.concatenate([np.arange(*rows) for rows in ranges])
        order[at] = [unused[label].pop() for label in predictions[f"{model}_labels"]]
        np.savez(
            tmp_path / f"location_{model}_predictions.npz",
            tc_output=predictions[f"{model}_probs"],
            defense_output=predictions[f"{model}_defended_probs"],
        )
    np.savez(tmp_path / "shuffle_index.npz", x=order)
    name = "location30_predictions.npz"
    assert make(name, tmp_path, tmp_path / "data") == f"{name}: written to {tmp_path / 'data'}."


LARGE = ("census_income_kdd.parquet", "fashion_mnist.npz", "mnist.npz")  # seconds to read


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long) if name in LARGE else name
        for name, source in SOURCES.items()
        if source.exact
    ],
)
def test_checksums_are_those_of_the_data_of_the_committed_results(name, real_data):
    assert checksum(read(real_data(name))) == SOURCES[name].sha256


def test_images_of_digits_are_read_from_their_formats(tmp_path):
    images = np.arange(2 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(2, 28, 28)
    for name in ("train", "t10k"):
        for kind, values in (("images-idx3", images), ("labels-idx1", np.array([7, 2], dtype=np.uint8))):
            header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">i4").tobytes()
            (tmp_path / f"{name}-{kind}-ubyte.gz").write_bytes(gzip.compress(header + values.tobytes()))
    read_digits = digits(tmp_path)
    np.testing.assert_array_equal(read_digits["x_test"], images)
    assert read_digits["y_train"].tolist() == [7, 2]

    rows = np.round(np.linspace(-1, 1, 2 * 256), 3).reshape(2, 256)
    for split in ("train", "test"):
        lines = "\n".join(f"{label}.0000 " + " ".join(map(str, row)) for label, row in zip((6, 5), rows, strict=True))
        (tmp_path / f"zip.{split}.gz").write_bytes(gzip.compress(lines.encode()))
    read_usps = usps(tmp_path)
    np.testing.assert_array_equal(read_usps["x_train"].reshape(2, 256), rows.astype(np.float32))
    assert read_usps["y_test"].tolist() == [6, 5]


def test_features_of_cifar_are_components_fitted_on_the_training_images(tmp_path):
    rng = np.random.default_rng(0)
    parts = {
        split: {b"data": rng.integers(256, size=(count, 3072), dtype=np.uint8), b"fine_labels": [0, 1] * (count // 2)}
        for split, count in (("train", 20), ("test", 6))
    }
    parts["meta"] = {b"fine_label_names": [b"apple", b"aquarium_fish"]}
    archived(
        tmp_path / "cifar-100-python.tar.gz",
        {f"cifar-100-python/{name}": pickle.dumps(part) for name, part in parts.items()},
    )
    first_pixels = parts["train"][b"data"].reshape(-1, 3, 1024)[:, :, 0]
    built = cifar_features(tmp_path, 100, extract=lambda images: images[:, 0, 0].astype(float), components=3)
    centred = first_pixels - first_pixels.mean(axis=0)
    np.testing.assert_allclose(np.linalg.norm(built["x_train"], axis=1), np.linalg.norm(centred, axis=1), rtol=1e-2)
    assert built["x_test"].shape == (6, 3)
    assert built["classes"].tolist() == ["apple", "aquarium_fish"]
    subset = cifar_subset(tmp_path, 100, train=4, test=2)
    assert np.bincount(subset["y_train"]).tolist() == [4, 4]
    assert subset["x_test"].shape == (4, 32, 32, 3)


def test_features_of_photographs_and_reviews_keep_their_labels(tmp_path):
    image = pytest.importorskip("PIL.Image")
    files = {}
    for index, name in enumerate(FLOWERS):
        for shade in (0, 100):
            content = io.BytesIO()
            image.new("RGB", (20, 30), (40 * index, shade, 0)).save(content, "JPEG")
            files[f"flower_photos/{name}/{shade}.jpg"] = content.getvalue()
    archived(tmp_path / "flower_photos.tgz", files)
    built = flowers(tmp_path, extract=lambda images: images.mean(axis=(1, 2)), components=2)
    assert built["x"].shape == (10, 2)
    assert np.bincount(built["y"]).tolist() == [2] * 5

    reviews = {
        f"aclImdb/{split}/{sentiment}/{number}_9.txt": f"{split} {sentiment} {number}<br />".encode()
        for split in ("train", "test")
        for sentiment in ("pos", "neg")
        for number in range(4)
    }
    reviews["aclImdb/train/pos/9_9.txt"] = b"train pos 0<br />"  # a duplicate
    archived(tmp_path / "aclImdb_v1.tar.gz", reviews)
    texts = []

    def embed(given):
        texts.extend(given)
        return np.zeros((len(given), 3))

    built = imdb(tmp_path, extract=embed, each=3)
    assert len(set(texts)) == len(texts) == 12
    assert [text.startswith("train") for text in texts] == built["is_train"].tolist()
    assert [" pos " in text for text in texts] == built["y"].astype(bool).tolist()


def test_a_rebuilt_subset_is_written_with_a_note(tmp_path):
    labels = np.repeat(np.arange(100), 50).tolist()
    part = {b"data": np.zeros((len(labels), 3072), dtype=np.uint8), b"fine_labels": labels}
    names = {b"fine_label_names": [b"name"] * 100}
    files = {"train": part, "test": part, "meta": names}
    archived(
        tmp_path / "cifar-100-python.tar.gz",
        {f"cifar-100-python/{name}": pickle.dumps(content) for name, content in files.items()},
    )
    line = make("cifar100_subset.npz", tmp_path, tmp_path / "data")
    assert line.endswith("Its numbers differ from those of the committed results, as expected of this dataset.")
    assert read(tmp_path / "data" / "cifar100_subset.npz")["x_train"].shape == (4500, 32, 32, 3)


def test_every_file_that_the_papers_read_has_a_source():
    code = "".join(path.read_text("utf-8") for path in Path(papers.__file__).parent.glob("*/*.py"))
    named = set(re.findall(r'"(\w+\.(?:npz|parquet))"', code))
    user_files = {"purchase100.npz", "texas100.npz"}  # files of the user
    assert named - user_files == set(SOURCES)
