"""MLflow: metrics, parameters, tags and files of an audit in the tracking store that the user configured."""

import math
import tempfile
from pathlib import Path
from typing import Any

from guestlist._findings import Results, interval_columns
from guestlist._report.wording import model_name, sanitize_results
from guestlist._util import extra
from guestlist.errors import InputError


def log_to_mlflow(results: Results, files: dict[str, str]) -> str:
    """Log results to MLflow and return the id of the run, as a line.

    An active run is used; otherwise a new one is created. MLflow reads ``MLFLOW_TRACKING_URI`` and ``MLFLOW_EXPERIMENT_NAME``.

    Args:
        results: Results of an audit.
        files: Name to content of the files to store with the run; they name no member.

    Raises:
        InputError: MLflow or a package of its tracking store is not installed, or the store cannot be used.
    """
    mlflow = extra("mlflow", "The export mlflow")
    results = sanitize_results(results)
    try:
        return _log(mlflow, results, files)
    except mlflow.exceptions.MlflowException as error:
        raise InputError(f"MLflow cannot log the results: {error}. Check MLFLOW_TRACKING_URI.") from error
    except ModuleNotFoundError as error:  # a local SQL store needs packages that the extra does not install
        raise InputError(
            f"MLflow cannot log the results: {error}. Install this package, or set MLFLOW_TRACKING_URI to another store."
        ) from error


def _log(mlflow: Any, results: Results, files: dict[str, str]) -> str:
    active = mlflow.active_run()
    run = active or mlflow.start_run(run_name=f"guestlist {model_name(results)}"[:250])
    try:
        mlflow.log_metrics(tracked_metrics(results))
        mlflow.log_params(tracked_params(results))
        mlflow.set_tags(tracked_tags(results))
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (Path(folder) / name).write_text(content, "utf-8")
            mlflow.log_artifacts(folder, artifact_path="guestlist")
    finally:
        if active is None:
            mlflow.end_run()
    return f"{run.info.run_id}\n"


def tracked_metrics(results: Results) -> dict[str, float]:
    """Return the metrics of the headline attacks with the ends of their intervals; names as in MLflow."""
    metrics: dict[str, float] = {}
    for prefix, row in (("", results.headline), ("file_holder_", results.file_holder)):
        if row is None:
            continue
        attack = results.attack(row.name)
        metrics |= interval_columns(f"{prefix}auc", attack.auc)
        metrics |= interval_columns(f"{prefix}advantage", attack.advantage)
        for rate in attack.rates:
            metrics |= interval_columns(f"{prefix}tpr_at_{rate.fpr:g}_fpr", rate.tpr)
    subject = results.subject
    if subject is not None:
        metrics |= {"members": subject.members, "nonmembers": subject.nonmembers}
        names = ("accuracy_members", "accuracy_nonmembers", "r2_members", "r2_nonmembers")
        metrics |= {name: getattr(subject, name) for name in names if getattr(subject, name) is not None}
    return {f"guestlist_{name}": value for name, value in metrics.items() if math.isfinite(value)}


def tracked_params(results: Results) -> dict[str, str | int]:
    """Return the model, the headline attacks and the reference models."""
    params: dict[str, str | int] = {"guestlist_model": model_name(results)[:250]}
    for name, row in (("headline", results.headline), ("file_holder", results.file_holder)):
        if row is not None:
            params[f"guestlist_{name}"] = row.name[:250]
    if results.references is not None:
        params |= {"guestlist_references": results.references.count, "guestlist_seed": results.references.seed}
    return params


def tracked_tags(results: Results) -> dict[str, str]:
    """Return the version of guestlist, the state of the gate and the codes of open checks."""
    tags = {"guestlist.open_checks": " ".join(row.code for row in results.checks or () if row.state == "issue")}
    if results.provenance is not None:
        tags["guestlist.version"] = results.provenance.versions.get("guestlist", "")
    if results.gate is not None:
        tags["guestlist.gate"] = "passed" if results.gate.passed else "not passed"
    return tags
