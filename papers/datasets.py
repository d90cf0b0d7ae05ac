"""``python -m papers.datasets RAW --out DATA``: build the papers' datasets from files as their sources publish them.

Download the original files into one folder, run the command, and set ``$GUESTLIST_DATA`` to the output folder. The command
names every missing file with its source. A table or array is only written if its checksum is that of the data of the
committed results. Features of pretrained networks and random subsets cannot be identical; they are marked as such, as is
MEPS, whose publisher documents no code.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from papers.features import Arrays, cifar_features, cifar_subset, flowers, imdb

HOSPITALS = {"cleveland": "Cleveland", "hungarian": "Hungary", "switzerland": "Switzerland", "va": "VA Long Beach"}
HEART_COLUMNS = (
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca", "thal", "num",
)  # fmt: skip
# Names and other identifiers of people, which no paper uses.
COMPAS_IDENTIFIERS = ("name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number")
CENSUS_COLUMNS = (
    "age", "class of worker", "detailed industry recode", "detailed occupation recode", "education", "wage per hour",
    "enroll in edu inst last wk", "marital stat", "major industry code", "major occupation code", "race",
    "hispanic origin", "sex", "member of a labor union", "reason for unemployment",
    "full or part time employment stat", "capital gains", "capital losses", "dividends from stocks", "tax filer stat",
    "region of previous residence", "state of previous residence", "detailed household and family stat",
    "detailed household summary in household", "instance weight", "migration code-change in msa",
    "migration code-change in reg", "migration code-move within reg", "live in this house 1 year ago",
    "migration prev res in sunbelt", "num persons worked for employer", "family members under 18",
    "country of birth father", "country of birth mother", "country of birth self", "citizenship",
    "own business or self employed", "fill inc questionnaire for veteran's admin", "veterans benefits",
    "weeks worked in year", "year", "income",
)  # fmt: skip


# Columns of meps21.parquet, with the name in the survey's file where it differs.
MEPS_COLUMNS = {
    "REGION": "REGION53", "AGE": "AGE53X", "SEX": "SEX", "RACE": "RACEV2X", "MARRY": "MARRY53X", "FTSTU": "FTSTU53X",
    "ACTDTY": "ACTDTY53", "HONRDC": "HONRDC53", "RTHLTH": "RTHLTH53", "MNHLTH": "MNHLTH53", "CHDDX": "CHDDX",
    "ANGIDX": "ANGIDX", "MIDX": "MIDX", "OHRTDX": "OHRTDX", "STRKDX": "STRKDX", "EMPHDX": "EMPHDX",
    "CHBRON": "CHBRON53", "CHOLDX": "CHOLDX", "CANCERDX": "CANCERDX", "DIABDX": "DIABDX", "JTPAIN": "JTPAIN53",
    "ARTHDX": "ARTHDX", "ARTHTYPE": "ARTHTYPE", "ASTHDX": "ASTHDX", "ADHDADDX": "ADHDADDX", "PREGNT": "PREGNT53",
    "WLKLIM": "WLKLIM53", "ACTLIM": "ACTLIM53", "SOCLIM": "SOCLIM53", "COGLIM": "COGLIM53", "DFHEAR42": "DFHEAR42",
    "DFSEE42": "DFSEE42", "ADSMOK42": "ADSMOK42", "PCS42": "PCS42", "MCS42": "MCS42", "K6SUM42": "K6SUM42",
    "PHQ242": "PHQ242", "EMPST": "EMPST53", "POVCAT": "POVCAT16", "INSCOV": "INSCOV16",
}  # fmt: skip
MEPS_NUMBERS = ("AGE", "RACE", "PCS42", "MCS42", "K6SUM42")  # the other columns are categories
MEPS_KNOWN = (
    "REGION",
    "AGE",
    "MARRY",
    "ASTHDX",
)  # columns that must have a value; other categories may be "inapplicable"
MEPS_VISITS = ("OBTOTV16", "OPTOTV16", "ERTOT16", "IPNGTD16", "HHTOTD16")
INAPPLICABLE = -1
MANY_VISITS = 10


Content = pd.DataFrame | Arrays
ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
# Rows of the authors' shuffled Location30 records: members, then non-members.
LOCATION_ROWS = {"target": ((0, 1000), (2000, 3000)), "shadow": ((3000, 3500), (4000, 4500))}


@dataclass(frozen=True)
class Source:
    """One dataset.

    Args:
        origin: source of the original files.
        files: names of the original files.
        build: function from the folder of the original files to a table or to arrays by name.
        sha256: checksum of the content, see ``checksum``.
        exact: whether a rebuilt file is identical; features, random subsets and MEPS are only comparable.
    """

    origin: str
    files: tuple[str, ...]
    build: Callable[[Path], Content]
    sha256: str
    exact: bool = True


def compas(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "compas-scores-two-years.csv").drop(columns=list(COMPAS_IDENTIFIERS))


def heart(folder: Path) -> pd.DataFrame:
    parts = []
    for name, hospital in HOSPITALS.items():
        part = pd.read_csv(folder / f"processed.{name}.data", names=HEART_COLUMNS, na_values="?")
        floats = part.drop(columns="num").astype(float)
        parts.append(floats.assign(num=part["num"].astype(int), hospital=hospital))
    return pd.concat(parts, ignore_index=True)


def students(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "student-por.csv", sep=";")


def census(folder: Path) -> pd.DataFrame:
    parts = []
    for split, name in {"train": "census-income.data", "test": "census-income.test"}.items():
        part = pd.read_csv(folder / name, names=CENSUS_COLUMNS, skipinitialspace=True, na_filter=False)
        parts.append(part.assign(split=split))
    return pd.concat(parts, ignore_index=True)


def adult(folder: Path) -> pd.DataFrame:
    parts = []
    for split, name, skipped in (("train", "adult.data", 0), ("test", "adult.test", 1)):
        part = pd.read_csv(folder / name, names=ADULT_COLUMNS, skipinitialspace=True, skiprows=skipped, na_filter=False)
        parts.append(part.assign(income=part["income"].str.rstrip("."), split=split))
    return pd.concat(parts, ignore_index=True)


def bank(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "bank-full.csv", sep=";")


def credit(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "UCI_Credit_Card.csv").astype(np.int64)


def meps(folder: Path) -> pd.DataFrame:
    """Build the table from the survey's file of 2016 in SAS transport format."""
    with zipfile.ZipFile(folder / "h192ssp.zip") as archive, archive.open("h192.ssp") as file:
        return meps_panel(pd.read_sas(io.BytesIO(file.read()), format="xport"))


def meps_panel(survey: pd.DataFrame) -> pd.DataFrame:
    """Select panel 21 with AIF360's variables and exclusions, and number categories in the order of their appearance."""
    survey = survey[survey["PANEL"] == 21]
    table = pd.DataFrame({name: survey[column] for name, column in MEPS_COLUMNS.items()})
    table["RACE"] = (survey["HISPANX"] == 2) & (survey["RACEV2X"] == 1)
    table["label"] = survey[list(MEPS_VISITS)].sum(axis=1) >= MANY_VISITS
    categories = [name for name in MEPS_COLUMNS if name not in MEPS_NUMBERS]
    excluding = [
        *(survey[MEPS_COLUMNS[name]] for name in categories),
        *(survey[n] for n in ("HIBPDX", "EDUCYR", "HIDEG")),
    ]
    valid = (pd.concat(excluding, axis=1) >= INAPPLICABLE).all(axis=1)
    valid &= (table[list(MEPS_KNOWN)] >= 0).all(axis=1)
    table = table[valid].reset_index(drop=True)
    for name in categories:
        table[name] = pd.factorize(table[name])[0]
    return table.astype("int64")


def location30(folder: Path) -> Arrays:
    with tarfile.open(folder / "dataset_location.tgz") as archive:
        lines = archive.extractfile("bangkok").read().decode().replace('"', "").split()
    rows = np.array([line.split(",") for line in lines], dtype=np.int64)
    packed = np.packbits(rows[:, 1:].astype(np.uint8), axis=1)
    return {"x_packed": packed, "n_features": np.array(rows.shape[1] - 1), "y": (rows[:, 0] - 1).astype(np.uint8)}


def location30_predictions(folder: Path) -> Arrays:
    """Return the authors' predictions with labels and membership, by their order of the Location30 records."""
    labels = location30(folder)["y"]
    with np.load(folder / "shuffle_index.npz", allow_pickle=False) as file:
        order = file["x"]
    arrays: Arrays = {}
    for model, (members, nonmembers) in LOCATION_ROWS.items():
        with np.load(folder / f"location_{model}_predictions.npz", allow_pickle=False) as file:
            arrays[f"{model}_probs"], arrays[f"{model}_defended_probs"] = file["tc_output"], file["defense_output"]
        rows = np.concatenate([order[slice(*members)], order[slice(*nonmembers)]])
        arrays[f"{model}_labels"] = labels[rows].astype(np.int16)
        arrays[f"{model}_member"] = np.arange(len(rows)) < members[1] - members[0]
    return arrays


def digits(folder: Path, prefix: str = "") -> Arrays:
    """Return images and labels from four files in IDX format."""
    arrays: Arrays = {}
    for split, name in (("train", "train"), ("test", "t10k")):
        arrays[f"x_{split}"] = idx(folder / f"{prefix}{name}-images-idx3-ubyte.gz")
        arrays[f"y_{split}"] = idx(folder / f"{prefix}{name}-labels-idx1-ubyte.gz")
    return arrays


def idx(path: Path) -> np.ndarray:
    """Return the array of a compressed IDX file of bytes: 4 bytes of type, the shape as 32-bit integers, the values."""
    content = gzip.decompress(path.read_bytes())
    dimensions = content[3]
    shape = np.frombuffer(content, dtype=">i4", count=dimensions, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def usps(folder: Path) -> Arrays:
    arrays: Arrays = {}
    for split in ("train", "test"):
        rows = np.loadtxt(folder / f"zip.{split}.gz")
        arrays[f"x_{split}"] = rows[:, 1:].reshape(-1, 16, 16).astype(np.float32)
        arrays[f"y_{split}"] = rows[:, 0].astype(np.uint8)
    return arrays


def _idx_files(prefix: str) -> tuple[str, ...]:
    return tuple(
        f"{prefix}{name}-{kind}-ubyte.gz" for name in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
    )


_LOCATION = "https://github.com/privacytrustlab/datasets"
_PREDICTIONS = f"https://github.com/inspire-group/membership-inference-evaluation (MemGuard) and {_LOCATION}"
_CIFAR = "https://www.cs.toronto.edu/~kriz/cifar.html"
SOURCES = {
    "compas.parquet": Source(
        "https://github.com/propublica/compas-analysis",
        ("compas-scores-two-years.csv",),
        compas,
        "3bbc3288b268942fe3166bb6bfc0b6dbde3f31ed839ea636fffa1a6457d2c9f4",
    ),
    "heart_disease.parquet": Source(
        "UCI, doi:10.24432/C52P4X",
        tuple(f"processed.{name}.data" for name in HOSPITALS),
        heart,
        "253edf4d7ff55f8229c172ae5ef2f64faad8075271a49219b6b595f750b96e14",
    ),
    "student_por.parquet": Source(
        "UCI, doi:10.24432/C5TG7T",
        ("student-por.csv",),
        students,
        "3fb408fe4b66d4cdb90ad4ec5e3fb6de94ba662d0471a3d46c03da483069f76b",
    ),
    "census_income_kdd.parquet": Source(
        "UCI, doi:10.24432/C5N30T",
        ("census-income.data", "census-income.test"),
        census,
        "dc6f4b9e2ce6c95b806fa1c7fa6e48f93bc1178b74a97f45f2761cd883edb585",
    ),
    "adult.parquet": Source(
        "UCI, doi:10.24432/C5XW20",
        ("adult.data", "adult.test"),
        adult,
        "d99d5b2c07ff6c7e09b6e0cefe115f6835d5c7b6efebdb9276238f1243c6369b",
    ),
    "bank_marketing.parquet": Source(
        "UCI, doi:10.24432/C5K306",
        ("bank-full.csv",),
        bank,
        "b44507c26634736d4a0619ec2d7c4b6ff56a2c63cbeb5176d3134e7b25e416f0",
    ),
    "credit_default.parquet": Source(
        "Kaggle, uciml/default-of-credit-card-clients-dataset (UCI, doi:10.24432/C55S3H)",
        ("UCI_Credit_Card.csv",),
        credit,
        "f7b7d22d1f8dd27dadb25d4b78d8a4ae7c441ab6cc12d1ea58c0efc54d4d1788",
    ),
    "meps21.parquet": Source(
        "https://meps.ahrq.gov, file HC-192 in SAS transport format",
        ("h192ssp.zip",),
        meps,
        "2421cfc3c6250fbae430408079127813ebb8e42eefb42ea662924ceadd3d6e8e",
        exact=False,
    ),
    "location30.npz": Source(
        _LOCATION,
        ("dataset_location.tgz",),
        location30,
        "b5fe30b8c0b2c05c95f594fb63d470327065841c1c7d7172c2349d0226a0806b",
    ),
    "location30_predictions.npz": Source(
        _PREDICTIONS,
        (
            "dataset_location.tgz",
            "shuffle_index.npz",
            *(f"location_{model}_predictions.npz" for model in LOCATION_ROWS),
        ),
        location30_predictions,
        "d9f002e87fb48d896683a43f00e2462911dc9e9602f917ca6f61b13df71922b4",
    ),
    "mnist.npz": Source(
        "https://yann.lecun.com/exdb/mnist (or its mirror ossci-datasets.s3.amazonaws.com/mnist)",
        _idx_files(""),
        digits,
        "51ea33bae9f51e6756a3648edb97929917a6645bdcda51a9229a2a37956685cd",
    ),
    "fashion_mnist.npz": Source(
        "https://github.com/zalandoresearch/fashion-mnist (add the prefix fashion- to the names)",
        _idx_files("fashion-"),
        partial(digits, prefix="fashion-"),
        "7dd22d2d94588280efa1c7fb93f816b3afb50828ff3f543fbb69838305bf3a07",
    ),
    "usps.npz": Source(
        "https://hastie.su.domains/ElemStatLearn/data.html (ZIP code)",
        ("zip.train.gz", "zip.test.gz"),
        usps,
        "b2a7927f1ece17ad7f1a76de7a837b838909c0f33142f0fa34803f63d9cfedc7",
    ),
    "cifar100_subset.npz": Source(
        _CIFAR,
        ("cifar-100-python.tar.gz",),
        partial(cifar_subset, classes=100, train=45, test=10),
        "b455f2ad8e612f23c9c585cd98f98a5a92577f4fa3d65fb7ae1587ed4feddc4e",
        exact=False,
    ),
    "cifar10_subset.npz": Source(
        _CIFAR,
        ("cifar-10-python.tar.gz",),
        partial(cifar_subset, classes=10, train=900, test=200),
        "bd1e5bfcadd8af230f73f9cc1fb39c2af6d64c47bbfa07021bc75ad26103ee56",
        exact=False,
    ),
    "cifar100_features.npz": Source(
        _CIFAR,
        ("cifar-100-python.tar.gz",),
        partial(cifar_features, classes=100),
        "ef6623f0a5fa726c8aaeb4fa1e2e1d8903565909c9be7a2381a2aa2fb790f7c2",
        exact=False,
    ),
    "cifar10_features.npz": Source(
        _CIFAR,
        ("cifar-10-python.tar.gz",),
        partial(cifar_features, classes=10),
        "a604e44d2f52e4ad7cf04e1624caf4fc18fbdb407ca0f85141e388dccc996d22",
        exact=False,
    ),
    "flowers_features.npz": Source(
        "https://www.tensorflow.org/datasets/catalog/tf_flowers",
        ("flower_photos.tgz",),
        flowers,
        "e497b316e89d998c537384c6094348fab3a42d8313ea1592c73c43cbbe7e34fd",
        exact=False,
    ),
    "imdb_embeddings.npz": Source(
        "https://ai.stanford.edu/~amaas/data/sentiment",
        ("aclImdb_v1.tar.gz",),
        imdb,
        "c85ba2396c22aaf4f4db6f5780b64db328416ab4f8c1f47e248d2f0b00a99f75",
        exact=False,
    ),
}


def checksum(content: Content) -> str:
    """Return the checksum of a table or of arrays, for any version of the library that wrote the file."""
    digest = hashlib.sha256()
    if isinstance(content, pd.DataFrame):
        digest.update(content.to_csv(index=False, lineterminator="\n").encode())
    else:
        for name, values in sorted(content.items()):
            digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
            digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def read(path: Path) -> Content:
    """Return the content of a built file."""
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def make(name: str, raw: Path, out: Path) -> str:
    """Write one dataset, and return a line with the result or the reason for a failure."""
    source = SOURCES[name]
    missing = [file for file in source.files if not (raw / file).exists()]
    if missing:
        return f"{name}: {missing[0]} is not in {raw}. Download it from {source.origin}."
    content = source.build(raw)
    same = checksum(content) == source.sha256
    if source.exact and not same:
        return f"{name}: not written, because its content differs from the data of the committed results."
    out.mkdir(parents=True, exist_ok=True)
    if isinstance(content, pd.DataFrame):
        content.to_parquet(out / name)
    else:
        np.savez_compressed(out / name, **content)
    note = "" if same else " Its numbers differ from those of the committed results, as expected of this dataset."
    return f"{name}: written to {out}.{note}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m papers.datasets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("raw", type=Path, help="folder with the original files")
    parser.add_argument("--out", type=Path, default=Path("data"), help="folder of the datasets (default: %(default)s)")
    options = parser.parse_args(arguments)
    for name in SOURCES:
        print(make(name, options.raw, options.out))


if __name__ == "__main__":
    main()
