"""Entry points with wrong inputs. A row makes a call from correct inputs and a ``random.Random``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

import guestlist as gl
from benchmarks.faults import malformed
from benchmarks.faults.endings import Ending, command_ending, ending
from guestlist import knn

RECORDS = 24


@dataclass(frozen=True)
class Inputs:
    """A folder of correct inputs, a finished audit and files, with a folder for wrong ones."""

    folder: Path

    @property
    def audit(self) -> Path:
        return self.folder / "audit"

    def wrong(self, name: str) -> Path:
        return self.folder / "wrong" / name


def records(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(RECORDS, 3)), np.arange(RECORDS) % 2


def outputs(x) -> np.ndarray:
    """Return outputs like a logistic regression on the first feature."""
    second = 1 / (1 + np.exp(-np.asarray(x, dtype=np.float64)[:, 0]))
    return np.column_stack([1 - second, second])


def train(data, rng):
    return outputs


def table(seed: int = 0) -> pd.DataFrame:
    x, y = records(seed)
    return pd.DataFrame(x, columns=["a", "b", "c"]).assign(
        town=np.where(x[:, 1] > 0, "Ulm", "Pau"), who=[f"p{i}" for i in range(RECORDS)], y=y
    )


def make_inputs(folder: Path) -> Inputs:
    """Audit once, and write one file of every supported type."""
    import skops.io
    from sklearn.tree import DecisionTreeClassifier

    inputs = Inputs(folder)
    (folder / "wrong").mkdir(parents=True)
    members, others = table(0), table(1)
    members.to_csv(folder / "members.csv", index=False)
    others.to_csv(folder / "others.csv", index=False)
    members.to_parquet(folder / "members.parquet")
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(members[["a", "b", "c"]], members["y"])
    skops.io.dump(model, folder / "model.skops")
    features = ["a", "b", "c"]
    both_sets = [(part[features], part["y"]) for part in (members, others)]
    gl.audit(model, *both_sets, references=4, jobs=1, attacks=["loss", "lira"], folder=inputs.audit, progress=False)
    gl.read_results(inputs.audit).to_html(inputs.audit / "report.html")
    shutil.copytree(inputs.audit, folder / "second")
    probabilities = outputs(members[features].to_numpy())
    member = np.arange(RECORDS) < RECORDS // 2
    np.savez_compressed(folder / "p.npz", probs=probabilities, labels=members["y"].to_numpy(), member=member)
    predictions = pd.DataFrame(
        {"p_0": probabilities[:, 0], "p_1": probabilities[:, 1], "label": members["y"], "member": member}
    )
    predictions.to_csv(folder / "p.csv", index=False)
    predictions.to_parquet(folder / "p.parquet")
    policy = 'max_auc = 0.9\nmax_tpr = ["0.5@0.1"]\nattacks = ["loss"]\nleast_records = 5\nwithout_references = true\n'
    (folder / "policy.toml").write_text(policy)
    return inputs


def _some_wrong(rng: Random, right: dict[str, Any], arrays: tuple[str, ...], others: tuple[str, ...]) -> dict[str, Any]:
    """Return arguments of which one or two are wrong."""
    arguments = dict(right)
    for _ in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.7:
            name = rng.choice(arrays)
            arguments[name] = (
                malformed.array(rng, arguments[name]) if arguments.get(name) is not None else malformed.value(rng)
            )
        else:
            arguments[rng.choice(others)] = malformed.value(rng)
    return arguments


def _predictions(rng: Random) -> dict[str, Any]:
    x, y = records()
    right = {
        "outputs": outputs(x),
        "labels": y,
        "member": np.arange(RECORDS) < RECORDS // 2,
        "ids": np.array([f"r{i}" for i in range(RECORDS)]) if rng.random() < 0.3 else None,
        "persons": np.array([f"p{i // 2}" for i in range(RECORDS)]) if rng.random() < 0.3 else None,
        "classes": np.array(["no", "yes"]) if rng.random() < 0.3 else None,
    }
    arrays = ("outputs", "labels", "member", "ids", "persons", "classes")
    return _some_wrong(rng, right, arrays, ("scale", "groups", "features", "labelled", "classes"))


def predictions(rng: Random, inputs: Inputs) -> Ending:
    """Call gl.Predictions, and sometimes audit the result."""
    arguments = _predictions(rng)
    return ending(lambda: gl.Predictions(**arguments))


def audit_predictions(rng: Random, inputs: Inputs) -> Ending:
    arguments = _predictions(rng)
    extra: dict[str, Any] = {"attacks": ["loss"], "baseline": rng.random() < 0.2}
    if rng.random() < 0.3:
        extra[rng.choice(["shadow", "attacks", "prior", "about", "ignore", "baseline"])] = malformed.value(rng)
    return ending(lambda: gl.audit_predictions(gl.Predictions(**arguments), **extra))


AUDIT = (
    "model", "population", "label", "group", "id", "person", "attacks", "evidence", "seed", "jobs", "engine", "duplicates",
    "prior", "ignore", "baseline", "claimed", "progress", "about", "references",
)  # fmt: skip


def audit(rng: Random, inputs: Inputs) -> Ending:
    """Call gl.audit on a cheap function, with 0 to 2 references; records as arrays or tables."""
    target = gl.function_target(outputs, classes=[0, 1], train=train, recipe="none")
    arguments: dict[str, Any] = {
        "model": target,
        "references": rng.choice([0, 0, 0, 1, 2]),
        "attacks": ["loss"],
        "jobs": 1,
    }
    arguments |= {"baseline": rng.random() < 0.1, "progress": False}
    if rng.random() < 0.5:
        sets = {name: list(records(seed)) for seed, name in enumerate(("members", "nonmembers", "population"))}
        if rng.random() < 0.7:
            del sets["population"]
        changed = sets[rng.choice(list(sets))]
        part = rng.randrange(2)
        changed[part] = malformed.array(rng, changed[part])
        arguments |= {name: tuple(pair) for name, pair in sets.items()}
    else:
        tables = {name: table(seed).drop(columns="town") for seed, name in enumerate(("members", "nonmembers"))}
        name = rng.choice(list(tables))
        arguments |= {**tables, name: _wrong_table(rng, tables[name]), "label": "y", "id": "who"}
        if rng.random() < 0.3:
            arguments["group"] = rng.choice(["a", ["a", "b"], "nothing", None, [None], 5])
    if rng.random() < 0.4:
        arguments[rng.choice(AUDIT)] = malformed.value(rng)
    return ending(lambda: gl.audit(**arguments))


def _wrong_table(rng: Random, right: pd.DataFrame) -> Any:
    column = rng.choice(list(right.columns))
    with_column = [
        lambda: right.assign(
            **{column: right[column].astype(object).where(right.index != 7, malformed._cell_value(rng))}
        ),
        lambda: right.drop(columns=column),
        lambda: right.rename(columns={column: rng.choice(list(right.columns))}),
        lambda: right.rename(columns={column: malformed._cell_value(rng)}),
        lambda: right.assign(**{column: malformed._extended(rng, right[column].to_numpy())}),
        lambda: right.set_index(column),
        lambda: right.set_index([column, "who"]) if column != "who" else right,
        lambda: malformed.array(rng, right),
    ]
    try:
        return rng.choice(with_column)()
    except Exception:  # this column does not support the conversion
        return malformed.value(rng)


ON_TEST = ("knn_shapley", "knn_banzhaf", "knn_loo", "waka")
ON_SELF = ("self_shapley", "self_waka", "neighbour_lists", "knn_loss_distributions")
WITH_LOSS = ("knn_likelihood_ratio", "t_waka")


def values(rng: Random, inputs: Inputs) -> Ending:
    """Call the functions of ``guestlist.knn``."""
    name = rng.choice([*ON_TEST, *ON_SELF, *WITH_LOSS, "minimisation_curve", "onion_effect", "waka_influence", "Knn"])
    x, y = records()
    right: dict[str, Any] = {"x": x, "y": y}
    if name == "Knn":
        options = {rng.choice(["k", "metric", "precision", "ties"]): malformed.value(rng)}
        return ending(lambda: knn.self_shapley(x, y, knn.Knn(**options)))
    if name in (*ON_TEST, "minimisation_curve"):
        right |= dict(zip(("x_test", "y_test"), records(1), strict=True))
    if name in WITH_LOSS:
        right["target_loss"] = np.linspace(0, 1, RECORDS)
    others: tuple[str, ...] = ("knn", "n_jobs")
    if name == "minimisation_curve":
        right |= {"values": np.arange(RECORDS) / 3, "rng": np.random.default_rng(0), "repeats": 2}
        others = ("values", "first", "shares", "repeats", "model", "rng")
    elif name == "onion_effect":
        right["value"], others = knn.self_shapley, ("share", "value")
    elif name == "waka_influence":
        lists = knn.neighbour_lists(x, y)
        wrong = malformed.array(rng, np.array([1, 2]))
        return ending(lambda: knn.waka_influence(lists, wrong))
    elif name in ("self_waka", "waka", "knn_banzhaf", *WITH_LOSS, "knn_loss_distributions", "neighbour_lists"):
        others = (*others, "p")
    arrays = tuple(result for result in right if result in ("x", "y", "x_test", "y_test", "target_loss", "values"))
    arguments = _some_wrong(rng, right, arrays, others)
    if callable(arguments.get("value")):
        arguments["value"] = knn.self_shapley  # errors of a user's function are not guestlist's
    return ending(lambda: getattr(knn, name)(**arguments))


def files(rng: Random, inputs: Inputs) -> Ending:
    """Run ``guestlist audit --predictions`` and other commands that read files, on damaged files."""
    name = rng.choice(["p.npz", "p.csv", "p.parquet", "members.csv", "members.parquet", "model.skops", "policy.toml"])
    path = inputs.wrong(name)
    path.write_bytes(malformed.content(rng, (inputs.folder / name).read_bytes()))
    out = inputs.wrong("out")
    shutil.rmtree(out, ignore_errors=True)
    if name.startswith("p."):
        return command_ending(
            ["audit", "--predictions", str(path), "--out", str(out), "--attack", "loss", "--no-baseline"]
        )
    if name == "policy.toml":
        return command_ending(["gate", str(inputs.folder / "second"), "--policy", str(path)])
    members = path if name.startswith("members") else inputs.folder / "members.csv"
    model = path if name.startswith("model") else inputs.folder / "model.skops"
    arguments = ["--model", str(model), "--members", str(members), "--label", "y"]
    if rng.random() < 0.4:
        return command_ending(["trees", *arguments, "--id", "who"])
    if name.startswith("members") and rng.random() < 0.4:
        chosen = ["--label", "y", "--id", "who", "--k", "2", "--out", str(inputs.wrong("values.csv"))]
        return command_ending(["knn", "values", str(path), *chosen])
    extra = [
        "--nonmembers",
        str(inputs.folder / "others.csv"),
        "--out",
        str(out),
        "--references",
        "0",
        "--attack",
        "loss",
    ]
    return command_ending(["audit", *arguments, *extra, "--no-baseline", "--quiet"])


def _asserted(folder: Path) -> None:
    """Assert a limit that every AUC keeps; an open check of the intact folder may still fail it."""
    with suppress(AssertionError):
        gl.assert_private(folder, max_auc=1.0, without_references=True)


def folders(rng: Random, inputs: Inputs) -> Ending:
    """Run commands that read an audit folder, with one of its files damaged or missing."""
    folder = inputs.wrong("folder")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(inputs.audit, folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".html")
    path = rng.choice([result for result in paths if result.suffix == ".json"] if rng.random() < 0.6 else paths)
    if path.suffix == ".json" and rng.random() < 0.8:
        path.write_bytes(malformed.document(rng, path.read_bytes()))
    elif rng.random() < 0.1:
        path.unlink()
    else:
        path.write_bytes(malformed.content(rng, path.read_bytes()))
    damaged, second = str(folder), str(inputs.folder / "second")
    if rng.random() < 0.2:
        library = [
            lambda: gl.read_results(folder).summary(),
            lambda: gl.compare({"here": gl.read_results(folder), "there": gl.read_results(second)}),
            lambda: gl.read_case(folder).view,
            lambda: _asserted(folder),
        ]
        return ending(rng.choice(library))
    commands = [
        ["gate", damaged, "--max-auc", "0.9", "--max-tpr", "0.1@0.01", "--show-ids"],
        ["gate", damaged, "--policy", str(inputs.folder / "policy.toml")],
        ["report", damaged],
        ["export", damaged],
        ["export", damaged, "--as", "model_card"],
        ["compare", damaged, second],
        ["risks", damaged, "--top", "3"],
        ["forget", damaged, "--ids", "members:1"],
        ["epsilon", damaged],
    ]
    return command_ending(rng.choice(commands))


ENTRIES: dict[str, Callable[[Random, Inputs], Ending]] = {
    "predictions": predictions,
    "audit_predictions": audit_predictions,
    "audit": audit,
    "neighbours": values,
    "files": files,
    "folders": folders,
}
