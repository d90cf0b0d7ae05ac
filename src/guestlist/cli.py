"""One command per stage. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import click

from guestlist import __version__
from guestlist.errors import AuditError, AuditWarning, InputError

BEYOND_LIMIT = 1
NOT_CALIBRATED = 1
USER_ERROR = 2


class Commands(click.Group):
    """Commands whose errors, where a user can act on them, are one line and exit status 2."""

    def invoke(self, context):
        try:
            return super().invoke(context)
        except AuditError as error:
            click.echo(f"Error: {error}", err=True)
            context.exit(USER_ERROR)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="guestlist")
def main():
    """Audit the membership privacy of a machine-learning model: could anyone tell who was in its training set?"""


as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON on stdout.")
jobs = click.option("--jobs", default=-1, show_default=True, help="Processes; -1 for one per core. Results do not depend on it.")
quiet = click.option("--quiet", is_flag=True, help="No progress.")


@main.command()
@click.option("--model", type=click.Path(path_type=Path), help="Fitted model: .skops, or a pickle with --allow-pickle.")
@click.option("--members", type=click.Path(path_type=Path), help="Records it was trained on: .csv or .parquet.")
@click.option("--nonmembers", type=click.Path(path_type=Path), help="Records of the same source it was not trained on.")
@click.option("--population", type=click.Path(path_type=Path), help="More records of that source, for references to train on.")
@click.option("--predictions", type=click.Path(path_type=Path), help="Instead of a model: its answers (.npz, .csv, .parquet).")
@click.option("--shadow", type=click.Path(path_type=Path), help="With --predictions: a shadow model's answers, which teach thresholds.")
@click.option("--scale", type=click.Choice(["probabilities", "logits"]), help="What the predictions are, if their names do not say.")
@click.option("--label", help="Column that holds the label.")
@click.option("--group", multiple=True, help="Column whose groups are compared; may be given several times.")
@click.option("--id", "id_", help="Column that names the records.")
@click.option("--out", type=click.Path(path_type=Path), help="Audit folder; run again with it to resume.  [default: audits/<name>]")
@click.option("--references", default=32, show_default=True, help="Models to train for comparison.")
@click.option("--attack", "attacks", multiple=True, help="Run only these; see: guestlist show attacks.")
@click.option("--seed", default=0, show_default=True, help="Of everything random.")
@click.option("--drop-duplicates", is_flag=True, help="Leave out non-members that are equal to a member.")
@click.option("--trust", multiple=True, help="Type in a .skops file, beyond scikit-learn's, that may be built.")
@click.option("--allow-pickle", is_flag=True, help="Open a pickle, which can run any code that its maker put into it.")
@jobs
@quiet
@as_json
def audit(model, predictions, members, nonmembers, out, as_json, **options):
    """Audit a model, or its predictions, and write a report.

    \b
    guestlist audit --model model.skops --members train.parquet --nonmembers holdout.parquet --label income
    guestlist audit --predictions preds.npz
    """
    if (model is None) == (predictions is None):
        raise click.UsageError("Give either --model (with --members and --nonmembers) or --predictions.")
    out = out or Path("audits") / (model or predictions).stem
    with _notices():
        if predictions is not None:
            results = _audit_predictions(predictions, out, options)
        else:
            missing = [f"--{name}" for name, value in (("members", members), ("nonmembers", nonmembers)) if value is None]
            if missing:
                raise click.UsageError(f"A model is audited with records: give {' and '.join(missing)}.")
            inputs = {"model": model, "members": members, "nonmembers": nonmembers}
            results = _audit_model(inputs, out, options)
    _conclude(results, out, as_json)


def _audit_predictions(path: Path, out: Path, options: dict):
    from guestlist.predictions import audit_predictions, read_predictions

    columns = {"scale": options["scale"], "group": options["group"], "id": options["id_"]}
    shadow = options["shadow"] and read_predictions(options["shadow"], scale=options["scale"])
    return audit_predictions(
        read_predictions(path, **columns),
        shadow=shadow,
        attacks=options["attacks"] or None,
        folder=out,
        about={"name": path.name},
    )


def _audit_model(inputs: dict[str, Path], out: Path, options: dict):
    from guestlist.auditing import audit
    from guestlist.targets.files import load_model

    model = load_model(inputs["model"], trust=options["trust"], allow_pickle=options["allow_pickle"])
    return audit(
        model,
        inputs["members"],
        inputs["nonmembers"],
        options["population"],
        label=options["label"],
        group=options["group"],
        id=options["id_"],
        references=options["references"],
        attacks=options["attacks"] or None,
        folder=out,
        seed=options["seed"],
        jobs=options["jobs"],
        duplicates="drop" if options["drop_duplicates"] else "warn",
        progress=_progress(options["quiet"]),
    )


@main.command()
@click.option("--quick", is_flag=True, help="8 references instead of 32.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("audits/demo"), show_default=True, help="Audit folder.")
@jobs
@quiet
@as_json
def demo(quick, out, jobs, quiet, as_json):
    """Train a small network on handwritten digits and audit it."""
    from guestlist.demo import demo

    with _notices():
        results = demo(out, quick=quick, jobs=jobs, progress=_progress(quiet))
    _conclude(results, out, as_json)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Where to write it.  [default: FOLDER/report.html]")
def report(folder, out):
    """Write the report of the audit in FOLDER again, as one self-contained HTML page."""
    from guestlist.results import read_results

    click.echo(read_results(folder).to_html(out or folder / "report.html"))


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--max-tpr", multiple=True, metavar="TPR@FPR", help="Such as 0.05@0.01; may be given several times.")
@click.option("--max-auc", type=float, help="Largest AUC.")
@click.option("--attack", "attacks", multiple=True, help="Hold only these against the limits.  [default: all that were run]")
@as_json
def gate(folder, max_tpr, max_auc, attacks, as_json):
    """Exit with status 1 if the upper end of an interval is beyond a limit: for use in CI."""
    from guestlist.gate import Limit, judge, tpr_limit
    from guestlist.results import read_results
    from guestlist.serial import to_json

    try:
        limits = [tpr_limit(text) for text in max_tpr] + ([] if max_auc is None else [Limit(max_auc)])
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if not limits:
        raise click.UsageError("Give --max-tpr, --max-auc, or both.")
    results = read_results(folder)
    verdicts = [judge(results, limit, attacks) for limit in limits]
    if as_json:
        click.echo(json.dumps([to_json(verdict) for verdict in verdicts], indent=1))
    for verdict in [] if as_json else verdicts:
        click.echo(verdict)
        if verdict.pushing:
            click.echo(f"      pushed by {', '.join(verdict.pushing)}")
    sys.exit(0 if all(verdict.passed for verdict in verdicts) else BEYOND_LIMIT)


@main.command()
@click.option("--attack", "attacks", multiple=True, help="Check only these; see: guestlist show attacks.")
@click.option("--own", multiple=True, metavar="MODULE:FUNCTION", help="Check your own attack, a function (signals) -> scores.")
@click.option("--scale", default=1.0, show_default=True, help="Multiplies the worlds and samples, and the time.")
@quiet
@as_json
def selftest(attacks, own, scale, quiet, as_json):
    """Run attacks and intervals on worlds whose answer is known; exit with status 1 if something is not calibrated.

    Takes about a minute. With --attack or --own, only those attacks are checked, and no intervals.
    """
    from guestlist.selftest import selftest
    from guestlist.serial import to_json

    chosen = [*attacks, *map(_own_attack, own)]
    if scale <= 0:
        raise click.UsageError(f"Expected --scale {scale} above 0.")
    found = selftest(chosen or None, intervals=not chosen, scale=scale, progress=_progress(quiet))
    if as_json:
        click.echo(json.dumps({**to_json(found), "calibrated": found.calibrated}, indent=1))
    else:
        _show_selftest(found)
    sys.exit(0 if found.calibrated else NOT_CALIBRATED)


def _own_attack(text: str):
    from importlib import import_module

    module, _, name = text.partition(":")
    if not module or not name:
        raise click.UsageError(f"Expected --own {text!r} to be MODULE:FUNCTION.")
    sys.path.insert(0, "")  # a module in the current folder, as with python -m
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"Cannot load {text!r}: {error}. Give a module that can be imported and a function in it.") from error
    finally:
        sys.path.remove("")


def _show_selftest(found) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from guestlist.selftest import BEST_AUC

    console = Console(width=max(100, Console().width), highlight=False)
    columns = ("attack", "AUC on noise", "from the in-count alone", f"members stand out (best {BEST_AUC:.3f})", "calibrated")
    attacks = Table(*columns, box=None, pad_edge=False)
    for one in found.attacks:
        means = [f"{mean.value:.4f} ± {mean.error:.4f}" for mean in (one.noise, one.in_count, one.known)]
        attacks.add_row(escape(one.name), *means, "yes" if one.calibrated else "[bold red]no[/]")
    console.print(attacks)
    for one in found.attacks:
        for problem in one.problems:
            console.print(f"{escape(one.name)}: {escape(problem)}")
    if found.intervals:
        intervals = Table("interval", "holds the truth", "of nominal", "calibrated", box=None, pad_edge=False)
        for one in found.intervals:
            verdict = "yes" if one.calibrated else "[bold red]no[/]"
            intervals.add_row(escape(one.name), f"{one.share:.1%} of {one.repeats}", f"{one.nominal:.0%}", verdict)
        console.print()
        console.print(intervals)
    console.print("\nEverything is calibrated." if found.calibrated else "\nSomething is not calibrated.")


@main.command()
@click.argument("what", type=click.Choice(["attacks", "signals", "datasets"]))
@as_json
def show(what, as_json):
    """List what guestlist knows: attacks, signals or datasets."""
    rows = {"attacks": _attacks, "signals": _signals, "datasets": _datasets}[what]()
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*rows[0], box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(width=max(100, Console().width)).print(table)


def _attacks() -> list[dict]:
    from guestlist.attacks import ATTACKS

    return [
        {
            "attack": name,
            "references": attack.references,
            "reads": ", ".join(attack.needs),
            "by default": "yes" if attack.default else "by name",
            "what it looks at": attack.summary,
            "paper": attack.paper,
        }
        for name, attack in ATTACKS.items()
    ]


def _signals() -> list[dict]:
    from guestlist.signals import SIGNALS

    return [{"signal": name, "what it is": function.__doc__.splitlines()[0]} for name, function in SIGNALS.items()]


def _datasets() -> list[dict]:
    from guestlist.datasets import DATASETS

    return [{"dataset": name, "what it is": one.summary, "label": one.label, "source": one.source} for name, one in DATASETS.items()]


def _conclude(results, out: Path, as_json: bool) -> None:
    path = results.to_html(out / "report.html")
    if as_json:
        click.echo(json.dumps(results.document(), indent=1))
    else:
        click.echo(results.summary())
        click.echo(f"Report: {path}")


def _progress(quiet: bool):
    from guestlist.progress import show_progress

    return None if quiet else show_progress


@contextmanager
def _notices():
    """Show what the audit has to say on stderr, one line each, and leave other warnings as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", AuditWarning)
        usual = warnings.showwarning

        def show(message, category, *rest, **more):
            if issubclass(category, AuditWarning):
                click.echo(f"Note: {message}", err=True)
            else:
                usual(message, category, *rest, **more)

        warnings.showwarning = show
        yield


if __name__ == "__main__":
    main()
