"""``knn``: exact K-NN values of the records of a table, and what they are good for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guestlist.cli.common import as_json, check_table_path, write_table
from guestlist.cli.kinds import FILE, JOBS, PATH, SEED, SHARE, WholeNumber
from guestlist.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ON_TEST = {"shapley": "knn_shapley", "banzhaf": "knn_banzhaf", "waka": "waka", "loo": "knn_loo"}
ON_SELF = {"self_shapley": "self_shapley", "self_waka": "self_waka"}

table = click.argument("table", type=PATH)
label = click.option("--label", required=True, help="Column that holds the label.")
id_ = click.option("--id", "id_", help="Column that names the records.")
test = click.option("--test", type=PATH, help="Records on which values are averaged, for all but self_… values.")
k = click.option("--k", type=WholeNumber(1), default=5, show_default=True, help="Neighbours.")
threads = click.option("--jobs", type=JOBS, default=1, show_default=True, help="Threads.")
value = click.option(
    "--value",
    "name",
    type=click.Choice([*ON_TEST, *ON_SELF]),
    default="self_waka",
    show_default=True,
    help="What a record is worth.",
)


@click.group()
def knn():
    """Exact K-NN values: what each record of a table adds, and how exposed it is.

    Numbers are standardised and words one-hot encoded.
    """


@knn.command()
@table
@label
@test
@value
@k
@id_
@threads
@click.option("--out", type=FILE, required=True, help="Where to write id, label and value: .csv or .parquet.")
def values(table, label, test, name, k, id_, jobs, out):
    """The value of each record of TABLE."""
    import pandas as pd

    check_table_path(out)
    data, tests = _read(table, test, label, id_)
    found = pd.DataFrame({"id": data.ids, "label": data.y, name: _value(name, data, tests, k, jobs)})
    write_table(out, found)
    click.echo(out)


@knn.command()
@table
@label
@click.option("--test", type=PATH, required=True, help="Records on which accuracy is measured.")
@value
@k
@click.option("--first", type=click.Choice(["lowest", "highest"]), default="lowest", show_default=True)
@click.option("--repeats", type=WholeNumber(1), default=10, show_default=True, help="Random orders to compare with.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@threads
@as_json
def minimise(table, label, test, name, k, first, repeats, seed, jobs, as_json):
    """Accuracy of K-NN as records of TABLE are removed by value, against random."""
    import numpy as np

    from guestlist.neighbours import Knn, minimisation_curve

    data, tests = _read(table, test, label, None)
    of = _value(name, data, tests, k, jobs)
    rng = np.random.default_rng(seed)
    curve = minimisation_curve(data.x, data.y, tests.x, tests.y, of, Knn(k), rng=rng, first=first, repeats=repeats)
    rows = [
        {"removed": float(share), f"by {name}": float(a), "at random": float(r)}
        for share, a, r in zip(curve.shares, curve.accuracy, curve.random.mean(axis=0), strict=True)
    ]
    _show(rows, as_json)


@knn.command()
@table
@label
@test
@value
@k
@click.option("--share", type=SHARE, default=0.1, show_default=True, help="Share of the records to remove.")
@threads
@as_json
def onion(table, label, test, name, k, share, jobs, as_json):
    """What the values of the rest become when the records of TABLE with the highest ones are removed."""
    import numpy as np

    from guestlist.data import Data
    from guestlist.neighbours import onion_effect

    data, tests = _read(table, test, label, None)

    def of(x, y):
        return _value(name, Data(x, y, np.arange(len(y))), tests, k, jobs)

    effect = onion_effect(data.x, data.y, of, share=share)
    stays = ~effect.removed
    rows = [
        {
            "removed": int(effect.removed.sum()),
            "mean of the rest before": float(effect.before[stays].mean()),
            "mean of the rest after": float(effect.after[stays].mean()),
            "share of the rest that rose": float((effect.change[stays] > 1e-12).mean()),
        }
    ]
    _show(rows, as_json)


@knn.command()
@table
@label
@k
@id_
@click.option("--remove", multiple=True, required=True, help="Id of a record to remove (by default its row number).")
@click.option(
    "--lists", type=FILE, help="Neighbour lists: read from this .npz if it is there, else made and kept in it."
)
@click.option(
    "--most", type=WholeNumber(1), default=10, show_default=True, help="How many of the most changed records to show."
)
@threads
@as_json
def influence(table, label, k, id_, remove, lists, most, jobs, as_json):
    """How the self-WaKA of the others changes when some records of TABLE are removed."""
    import numpy as np

    from guestlist.neighbours import waka_influence

    data, _ = _read(table, None, label, id_)
    ids = data.ids if id_ else np.arange(len(data)).astype(str)
    unknown = [name for name in remove if name not in set(ids)]
    if unknown:
        raise InputError(f"There is no record {', '.join(unknown)}; ids look like {ids[0]}.")
    removed = np.isin(ids.astype(str), remove)
    change = waka_influence(_lists(lists, data, k, jobs, spare=max(64, int(removed.sum()))), removed)
    order = np.argsort(-np.abs(np.nan_to_num(change)), kind="stable")[:most]
    _show([{"id": str(ids[i]), "label": str(data.y[i]), "change": float(change[i])} for i in order], as_json)


def _read(table: Path, test: Path | None, label: str, id_: str | None):
    """Training records and, if given, test records, as points in one space."""
    from guestlist.data import as_data
    from guestlist.neighbours.encoding import encode_tables

    data = as_data(table, side="table", label=label, id=id_)
    if test is None:
        return _checked(table, data.with_x(encode_tables(data.x)[0])), None
    tests = as_data(test, side="test", label=label)
    features: pd.DataFrame = data.x  # files hold tables
    others: pd.DataFrame = tests.x
    absent = [column for column in features.columns if column not in others.columns]
    if absent:
        raise InputError(f"{test} lacks the columns {', '.join(absent)}.")
    x, x_test = encode_tables(features, others[list(features.columns)])
    return _checked(table, data.with_x(x)), _checked(test, tests.with_x(x_test))


def _checked(path: Path, data):
    """The records, refused in the name of their file where they have no distances or no labels."""
    from guestlist.neighbours import checks

    try:
        checks.check_records(data.x, "features")
        checks.check_labels(data.y, len(data), "labels")
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    return data


def _lists(kept: Path | None, data, k: int, jobs: int, spare: int):
    """Neighbour lists of these records: those that were kept, or new ones."""
    import numpy as np

    from guestlist.hashes import fingerprint
    from guestlist.neighbours import Knn, NeighbourLists, neighbour_lists
    from guestlist.store.files import read_npz, write_npz

    whose = fingerprint(data)
    if kept is not None and kept.exists():
        try:
            arrays = read_npz(kept)
            found = str(arrays.pop("records"))
            lists = NeighbourLists(**{**arrays, "k": int(arrays["k"]), "p": float(arrays["p"])})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{kept} holds no neighbour lists ({error}).") from error
        if (found, lists.k) != (whose, k):
            raise InputError(f"{kept} holds the lists of other records, or of k = {lists.k}. Name another file.")
        return lists
    lists = neighbour_lists(data.x, data.y, Knn(k), spare=spare, n_jobs=jobs)
    if kept is not None:
        write_npz(kept, records=np.array(whose), **vars(lists))
    return lists


def _value(name: str, data, tests, k: int, jobs: int) -> np.ndarray:
    from guestlist import neighbours

    if name in ON_SELF:
        return getattr(neighbours, name)(data.x, data.y, neighbours.Knn(k), n_jobs=jobs)
    if tests is None:
        raise click.UsageError(f"The value {name} is averaged over test records: give --test, or a self_… value.")
    return getattr(neighbours, ON_TEST[name])(data.x, data.y, tests.x, tests.y, neighbours.Knn(k), n_jobs=jobs)


def _show(rows: list[dict], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    from guestlist.cli.show import show_table

    shown = [{name: f"{v:.4g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows]
    show_table(shown)
