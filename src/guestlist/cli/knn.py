"""Command ``knn``: exact K-NN values of the records of a table, and their applications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guestlist import _store
from guestlist import knn as neighbours
from guestlist.cli.common import (
    FILE,
    INPUTS,
    JOBS,
    PATH,
    REPORT,
    RUN,
    SEED,
    SHARE,
    Group,
    WholeNumber,
    as_json,
    check_table_path,
    option,
    print_json,
    write_table,
)
from guestlist.cli.show import show_table
from guestlist.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


ON_TEST = {"shapley": "knn_shapley", "banzhaf": "knn_banzhaf", "waka": "waka", "loo": "knn_loo"}
ON_SELF = {"self_shapley": "self_shapley", "self_waka": "self_waka"}

table = click.argument("table", type=PATH)
label = option(INPUTS, "--label", metavar="COLUMN", required=True, help="Column with the label.")
id_ = option(
    INPUTS, "--id", "id_", metavar="COLUMN", help="Column with the record id.  [default: index or row numbers]"
)
test = option(
    INPUTS, "--test", type=PATH, help="Test records over which values are averaged; not used by self_… values."
)
k = option(INPUTS, "--k", type=WholeNumber(1), default=5, show_default=True, help="Number of neighbours.")
threads = option(RUN, "--jobs", type=JOBS, default=1, show_default=True, help="Number of threads; -1 for one per core.")
value = option(
    INPUTS,
    "--value",
    "name",
    type=click.Choice([*ON_TEST, *ON_SELF]),
    default="self_waka",
    show_default=True,
    help="Value to compute for each record.",
)


@click.group(cls=Group)
def knn():
    """Compute exact K-NN values of the records of a table.

    A value measures how much a record contributes to a K-NN model, or how exposed it is. Numbers are standardised and
    categorical columns one-hot encoded.
    """


@knn.command()
@table
@label
@test
@value
@k
@id_
@threads
@option(REPORT, "--out", type=FILE, required=True, help="File for ids, labels and values: .csv or .parquet.")
def values(table, label, test, name, k, id_, jobs, out):
    """Write the value of each record of a table."""
    import pandas as pd

    check_table_path(out)
    data, tests = _read(table, test, label, id_)
    write_table(out, pd.DataFrame({"id": data.ids, "label": data.y, name: _values(name, data, tests, k, jobs)}))
    click.echo(out)


@knn.command()
@table
@label
@option(INPUTS, "--test", type=PATH, required=True, help="Test records for the accuracy.")
@value
@k
@option(
    INPUTS,
    "--first",
    type=click.Choice(["lowest", "highest"]),
    default="lowest",
    show_default=True,
    help="Values that are removed first.",
)
@option(
    RUN,
    "--repeats",
    type=WholeNumber(1),
    default=10,
    show_default=True,
    help="Number of random orders to compare with.",
)
@option(RUN, "--seed", type=SEED, default=0, show_default=True, help="Random seed.")
@threads
@as_json
def minimise(table, label, test, name, k, first, repeats, seed, jobs, as_json):
    """Compare removing records by value with random removal.

    Prints the accuracy of K-NN on the test records as more records of TABLE are removed.
    """
    import numpy as np

    data, tests = _read(table, test, label, None)
    curve = neighbours.minimisation_curve(
        data.x,
        data.y,
        tests.x,
        tests.y,
        _values(name, data, tests, k, jobs),
        neighbours.Knn(k),
        rng=np.random.default_rng(seed),
        first=first,
        repeats=repeats,
    )
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
@option(INPUTS, "--share", type=SHARE, default=0.1, show_default=True, help="Share of the records to remove.")
@threads
@as_json
def onion(table, label, test, name, k, share, jobs, as_json):
    """Remove the highest values and measure how others change.

    Prints the values of the remaining records of TABLE before and after.
    """
    import numpy as np

    from guestlist.data import Data

    data, tests = _read(table, test, label, None)

    def values_of(x, y):
        return _values(name, Data(x, y, np.arange(len(y))), tests, k, jobs)

    effect = neighbours.onion_effect(data.x, data.y, values_of, share=share)
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
@option(INPUTS, "--remove", metavar="ID", multiple=True, required=True, help="Id of a record to remove. Repeatable.")
@option(RUN, "--lists", type=FILE, help="File with neighbour lists (.npz). It is written if it does not exist.")
@option(
    REPORT,
    "--top",
    "max_rows",
    type=WholeNumber(1),
    default=10,
    show_default=True,
    help="Number of records to list, most changed first.",
)
@threads
@as_json
def influence(table, label, k, id_, remove, lists, max_rows, jobs, as_json):
    """Measure how removing records changes others' self-WaKA."""
    import numpy as np

    data, _ = _read(table, None, label, id_)
    ids = data.ids if id_ else np.arange(len(data)).astype(str)
    unknown = [name for name in remove if name not in set(ids)]
    if unknown:
        raise InputError(
            f"{table} has no record {', '.join(unknown)}. Ids look like {ids[0]}; check --remove and --id."
        )
    removed = np.isin(ids.astype(str), remove)
    change = neighbours.waka_influence(
        _neighbour_lists(lists, data, k, jobs, spare=max(64, int(removed.sum()))), removed
    )
    order = np.argsort(-np.abs(np.nan_to_num(change)), kind="stable")[:max_rows]
    _show([{"id": str(ids[i]), "label": str(data.y[i]), "change": float(change[i])} for i in order], as_json)


def _read(table: Path, test: Path | None, label: str, id_: str | None):
    """Read training records and, if given, test records, encoded in the same way."""
    from guestlist._util import encode_tables
    from guestlist.data import as_data

    data = as_data(table, side="table", label=label, id=id_)
    if test is None:
        return _validated(table, data.changed(x=encode_tables(data.x)[0])), None
    tests = as_data(test, side="test", label=label)
    features: pd.DataFrame = data.x  # files hold tables
    test_features: pd.DataFrame = tests.x
    absent = [column for column in features.columns if column not in test_features.columns]
    if absent:
        raise InputError(
            f"{test} lacks the columns {', '.join(absent)} of {table}. Add them, or remove them from {table}."
        )
    x, x_test = encode_tables(features, test_features[list(features.columns)])
    return _validated(table, data.changed(x=x)), _validated(test, tests.changed(x=x_test))


def _validated(path: Path, data):
    """Validate features and labels; an error names the file."""
    from guestlist.knn.model import check_labels, check_records

    try:
        check_records(data.x, "features")
        check_labels(data.y, len(data), "labels")
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    return data


def _neighbour_lists(path: Path | None, data, k: int, jobs: int, spare: int):
    """Return neighbour lists of the records: the stored ones, or new ones."""
    import numpy as np

    records = _store.fingerprint(data)
    if path is not None and path.exists():
        try:
            arrays: dict[str, Any] = dict(_store.read_npz(path))
            stored_records = str(arrays.pop("records"))
            lists = neighbours.NeighbourLists(**{**arrays, "k": int(arrays["k"]), "p": float(arrays["p"])})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"Cannot read neighbour lists from {path}: {error}. Delete it or choose another file."
            ) from error
        if (stored_records, lists.k) != (records, k):
            raise InputError(
                f"{path} has the neighbour lists of different records, or of k = {lists.k}. Choose another file."
            )
        return lists
    lists = neighbours.neighbour_lists(data.x, data.y, neighbours.Knn(k), spare=spare, n_jobs=jobs)
    if path is not None:
        _store.write_npz(path, records=np.array(records), **vars(lists))
    return lists


def _values(name: str, data, tests, k: int, jobs: int) -> np.ndarray:
    if name in ON_SELF:
        return getattr(neighbours, name)(data.x, data.y, neighbours.Knn(k), n_jobs=jobs)
    if tests is None:
        raise click.UsageError(
            f"--value {name} is averaged over test records. Add --test FILE, or choose self_waka or self_shapley."
        )
    return getattr(neighbours, ON_TEST[name])(data.x, data.y, tests.x, tests.y, neighbours.Knn(k), n_jobs=jobs)


def _show(rows: list[dict], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    show_table(
        [{name: f"{value:.4g}" if isinstance(value, float) else value for name, value in row.items()} for row in rows]
    )
