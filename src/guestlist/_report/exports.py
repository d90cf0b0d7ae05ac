"""Exports for other tools: one row of ``EXPORTS`` each."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from guestlist._findings import FORMAT, Results
from guestlist._report import (
    LOWER_BOUND,
    assessment_rows,
    claim_sentences,
    diagnostics,
    gate,
    headline_names,
    log_to_mlflow,
    model_name,
    prose,
    render,
    sanitize_results,
    untested_sentences,
    verdict_texts,
    wording,
)
from guestlist._report.first_screen import first_screen
from guestlist._util import NO_NUMBER, decimal, for_spreadsheets, percent
from guestlist.metrics import Estimate

SCHEMA_ID = f"urn:guestlist:results:{FORMAT}"


def _document(template: str, results: Results) -> str:
    """Fill a template of a Markdown document; a part that is empty leaves no blank lines."""
    results = sanitize_results(results)
    screen = first_screen(results)
    lists = {
        "What to do": screen.steps,
        "Checks": [row.text for row in diagnostics.elsewhere(results)],
    }
    if results.gate is not None:
        lists[gate.gate_title(results.gate)] = gate.gate_texts(results.gate)
    text = render(
        template,
        results=results,
        screen=screen,
        lists=lists,
        question=wording.question(results),
        model_name=model_name(results),
        answers=verdict_texts(results),
        headline_names=headline_names(results),
        claim=" ".join(claim_sentences(results)),
        basis=prose("audit.basis", results),
        fit=prose("audit.fit", results.subject),
        small_groups=prose("groups.too_small", results.group_risks, "group"),
        untested=untested_sentences(results),
        lower_bound=LOWER_BOUND,
        requirements=assessment_rows(results),
        version=_version(results),
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _version(results: Results) -> str:
    """Return the version of guestlist that made the audit; empty if it is not known."""
    return getattr(results.provenance, "versions", {}).get("guestlist", "")


def json_text(results: Results) -> str:
    """Return the content of results.json without the lists that name members, with the id of its schema."""
    named = replace(results, exposed=None, exposed_persons=None)
    if results.gate is not None:
        verdicts = tuple(replace(verdict, drivers=()) for verdict in results.gate.verdicts)
        named = replace(named, gate=replace(results.gate, verdicts=verdicts))
    return json.dumps({"$schema": SCHEMA_ID, **named.document()}, indent=1, allow_nan=False) + "\n"


def roc_csv(results: Results) -> str:
    """Return the ROC curve of every attack as CSV: its steps, and a pointwise 95% band at some rates."""
    import pandas as pd

    columns = ["attack", "fpr", "tpr", "tpr_low", "tpr_high"]
    rows: list[tuple] = []
    for outcome in results.outcomes or ():
        curve = outcome.curve
        rows += [(outcome.name, fpr, tpr, None, None) for fpr, tpr in zip(curve.fpr, curve.tpr, strict=True)]
        rows += [
            (outcome.name, fpr, None, low, high)
            for fpr, low, high in zip(curve.band_fpr, curve.band_low, curve.band_high, strict=True)
        ]
    return for_spreadsheets(pd.DataFrame(rows, columns=columns)).to_csv(index=False)


def mlflow(results: Results) -> str:
    """Log the results to MLflow and return the id of the run."""
    return log_to_mlflow(
        results, {f"{name}{EXPORTS[name].suffix}": EXPORTS[name].text(results) for name in MLFLOW_FILES}
    )


MLFLOW_FILES = ("markdown", "assessment", "json")


LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex(results: Results) -> str:
    """Return one row per attack with AUC and TPR and their 95% confidence intervals; the headline attacks first, in bold."""
    results = sanitize_results(results)
    headlines = headline_names(results)
    outcomes = results.outcomes or ()
    text = render(
        "latex.txt",
        outcomes=sorted(outcomes, key=lambda outcome: outcome.name not in headlines),
        rates=outcomes[0].rates if outcomes else (),
        headlines=headlines,
        escaped=escape_latex,
        estimate=_latex_estimate,
    )
    return f"{text}\n"


def _latex_estimate(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return NO_NUMBER.replace("–", "--")
    return f"{decimal(estimate.value)} ({decimal(estimate.low, -1)}--{decimal(estimate.high, 1)})"


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return re.sub(r"[\\~^<>&%$#_{}]", lambda match: LATEX_ESCAPES[match.group()], text)


def cyclonedx(results: Results) -> str:
    """Return an ML-BOM: the model, its membership-privacy metrics, and the limits of the audit."""
    results = sanitize_results(results)
    tool = {"type": "application", "name": "guestlist"}
    if _version(results):
        tool["version"] = _version(results)
    component = {
        "type": "machine-learning-model",
        "bom-ref": "model",
        "name": model_name(results),
        "description": " ".join(verdict_texts(results)),
        "modelCard": {
            "quantitativeAnalysis": {"performanceMetrics": _bom_metrics(results)},
            "considerations": {"technicalLimitations": [LOWER_BOUND, *untested_sentences(results)]},
        },
    }
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"tools": {"components": [tool]}, "component": component},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _bom_metrics(results: Results) -> list[dict[str, Any]]:
    """Return AUC and TPR of the headline attacks, and the accuracy of the model."""
    metrics: list[dict[str, Any]] = []
    for name in headline_names(results):
        attack = results.attack(name)
        estimates = {"AUC": attack.auc}
        estimates |= {
            f"TPR at {percent(rate.fpr)} FPR": rate.tpr for rate in attack.rates if not math.isnan(rate.tpr.value)
        }
        metrics += [
            {
                "type": f"membership inference {metric}",
                "value": str(estimate.value),
                "slice": f"attack {name}",
                "confidenceInterval": {"lowerBound": str(estimate.low), "upperBound": str(estimate.high)},
            }
            for metric, estimate in estimates.items()
        ]
    subject = results.subject
    if subject is not None:
        metrics += [
            {"type": "accuracy", "value": str(accuracy), "slice": name}
            for name, accuracy in (
                ("training records", subject.accuracy_members),
                ("other records", subject.accuracy_nonmembers),
            )
            if accuracy is not None
        ]
    return metrics


@dataclass(frozen=True, kw_only=True)
class Export:
    """One form of results for another tool.

    Args:
        text: function from results to the content of a file; it names no member.
        suffix: suffix of that file.
        summary: description for users.
    """

    text: Callable[[Results], str]
    suffix: str
    summary: str


EXPORTS: dict[str, Export] = {
    "markdown": Export(
        text=partial(_document, "markdown.txt"),
        suffix=".md",
        summary="the answer, the attacks and the checks in Markdown, for a pull request or a wiki",
    ),
    "model_card": Export(
        text=partial(_document, "model_card.txt"),
        suffix=".md",
        summary="a section on membership privacy for a model card",
    ),
    "assessment": Export(
        text=partial(_document, "assessment.txt"),
        suffix=".md",
        summary="results mapped to guidance and standards, with a block to sign, for a data-protection officer",
    ),
    "cyclonedx": Export(
        text=cyclonedx,
        suffix=".cdx.json",
        summary="a bill of materials with a model card (CycloneDX 1.6 ML-BOM)",
    ),
    "json": Export(
        text=json_text,
        suffix=".json",
        summary="the content of results.json without the lists that name members, for programs",
    ),
    "roc": Export(text=roc_csv, suffix=".csv", summary="ROC curves of all attacks with 95% bands, as CSV"),
    "latex": Export(text=latex, suffix=".tex", summary="the table of attacks in LaTeX (booktabs), for a paper"),
    "mlflow": Export(
        text=mlflow,
        suffix=".txt",
        summary="metrics, parameters, tags and files in an MLflow run (extra mlflow); prints the id of the run",
    ),
}
