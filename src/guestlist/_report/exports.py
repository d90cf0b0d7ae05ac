"""Exports for other tools: one row of ``EXPORTS`` each."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from guestlist._findings import AttackResult, Results
from guestlist._report import (
    LOWER_BOUND,
    SCHEMA_ID,
    FirstScreen,
    assessment_rows,
    claim_sentences,
    diagnostics,
    gate,
    headline_names,
    log_to_mlflow,
    model_name,
    prose,
    sanitize_results,
    untested_sentences,
    verdict_texts,
    wording,
)
from guestlist._report.first_screen import first_screen
from guestlist._report.next_steps import next_steps
from guestlist._util import NO_NUMBER, decimal, for_spreadsheets, percent, with_interval
from guestlist.metrics import Estimate


def markdown(results: Results) -> str:
    """Return a short summary for people who do not open the page."""
    results = sanitize_results(results)
    screen = first_screen(results)
    parts = [
        f"# {plain(wording.question(results))}",
        _cover(results),
        f"**Severity: {screen.severity}** ({plain(screen.rule)}).",
        *(plain(text) for text in verdict_texts(results)),
        _picture(screen),
        _caveats(results),
        *(f"**{heading}.** {plain(text)}" for heading, text in screen.facts.items()),
        plain(_claim(results)),
        plain(prose("audit.basis", results)),
    ]
    parts += [plain(prose("groups.too_small", results.group_risks, "group")), attack_table(results)]
    for title, lines in (
        ("What to do", next_steps(results)),
        ("Checks", [row.text for row in diagnostics.elsewhere(results)]),
        _gate(results),
    ):
        if lines:
            parts += [f"## {title}", "\n".join(f"- {plain(line)}" for line in lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _picture(screen: FirstScreen) -> str:
    """Return the icon arrays as a block of code, which keeps their rows."""
    if not screen.picture:
        return ""
    return "\n".join(["```", *screen.picture, "```"])


def _gate(results: Results) -> tuple[str, tuple[str, ...]]:
    """Return the title and the sentences of the gate; no sentences without a policy."""
    if results.gate is None:
        return "Gate", ()
    return gate.gate_title(results.gate), gate.gate_texts(results.gate)


def _cover(results: Results) -> str:
    """Return the entries of the cover as a list."""
    return "\n".join(f"- {plain(line)}" for line in wording.cover_lines(results))


def _caveats(results: Results) -> str:
    """Return the sentences that qualify the verdict."""
    lines = [f"- {plain(row.text)}" for row in diagnostics.caveats(results)]
    if not lines:
        return ""
    return "\n".join(["Before you rely on it:", "", *lines])


def _claim(results: Results) -> str:
    """Return the verdict on a claimed epsilon; empty if none is claimed."""
    return " ".join(filter(None, claim_sentences(results)))


def attack_table(results: Results) -> str:
    """Return a table with one row per attack, those of the headline rows first."""
    outcomes = results.outcomes or ()
    headline = wording.headline_attack(results)
    if not outcomes or headline is None:
        return ""
    rates = [rate.fpr for rate in headline.rates]
    heads = ["attack", "AUC", *(f"TPR at {percent(fpr)} FPR" for fpr in rates)]
    rows = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    first = wording.headline_names(results)
    order = {name: number for number, name in enumerate(first)}
    for outcome in sorted(outcomes, key=lambda outcome: order.get(outcome.name, len(first))):
        name = plain(outcome.name)
        if outcome.name in first:
            name = f"**{name}**"
        cells = [with_interval(outcome.auc, decimal), *(with_interval(rate.tpr, percent) for rate in outcome.rates)]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def plain(text: str) -> str:
    """Escape text for Markdown: text of users must not become markup, a link or a table cell."""
    return re.sub(r"([\\`*_{}\[\]<>#|~!&])", r"\\\1", text)


def model_card(results: Results) -> str:
    """Write the model card section: question, result, method and limits."""
    results = sanitize_results(results)
    made = ""
    if results.provenance is not None and "guestlist" in results.provenance.versions:
        made = f"Audited with guestlist {plain(results.provenance.versions['guestlist'])}."
    first, *others = verdict_texts(results)
    parts = [
        "## Membership privacy",
        _cover(results),
        f"**{plain(wording.question(results))}** {plain(first)}",
        *(plain(text) for text in others),
        _caveats(results),
        plain(_claim(results)),
        plain(prose("audit.basis", results)),
        plain(prose("audit.fit", results.subject)),
        attack_table(results),
        LOWER_BOUND,
        "Not tested:",
        "\n".join(f"- {plain(line)}" for line in untested_sentences(results)),
        made,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


STATES = "Measured: by this audit. Declared: by the model owner. Not tested: this audit has no answer."
SIGN_OFF = ("Name", "Role", "Decision", "Date")


OUR_READING = (
    "The questions are our reading in our own words, not legal advice. Clause numbers may differ in other editions; the "
    "documents themselves decide."
)


def assessment(results: Results) -> str:
    """Map the results to guidance and standards, and end with a block to sign."""
    results = sanitize_results(results)
    rows = assessment_rows(results)
    heads = ("clause", "question", "state", "value", "where in results.json")
    parts = [
        f"# Assessment of membership privacy: {plain(wording.model_name(results))}",
        _cover(results),
        *(plain(text) for text in verdict_texts(results)),
        _caveats(results),
        f"{STATES} {OUR_READING}",
    ]
    for standard in dict.fromkeys(row.standard for row in rows):
        cells = [
            (row.clause, row.question, row.state, row.value, row.where) for row in rows if row.standard == standard
        ]
        lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
        lines += [f"| {' | '.join(map(plain, row))} |" for row in cells]
        parts += [f"## {plain(standard)}", "\n".join(lines)]
    parts += ["## Sign-off", "\n".join(f"- {entry}: ____________________" for entry in SIGN_OFF)]
    return "\n\n".join(part for part in parts if part) + "\n"


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
        band = zip(curve.band_fpr, curve.band_low, curve.band_high, strict=True)
        rows += [(outcome.name, fpr, None, low, high) for fpr, low, high in band]
    return for_spreadsheets(pd.DataFrame(rows, columns=columns)).to_csv(index=False)


def mlflow(results: Results) -> str:
    """Log the results to MLflow and return the id of the run."""
    files = {f"{name}{EXPORTS[name].suffix}": EXPORTS[name].text(results) for name in MLFLOW_FILES}
    return log_to_mlflow(results, files)


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
    outcomes = results.outcomes or ()
    rates: tuple[float, ...] = ()
    if outcomes:
        rates = tuple(rate.fpr for rate in outcomes[0].rates)
    first = headline_names(results)
    ordered = sorted(outcomes, key=lambda outcome: outcome.name not in first)
    heads = ["Attack", "AUC", *(f"TPR at {100 * fpr:g}\\% FPR" for fpr in rates)]
    lines = [
        r"% needs \usepackage{booktabs}",
        rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
        r"\toprule",
        _latex_line(heads),
        r"\midrule",
        *(_latex_row(outcome, bold=outcome.name in first) for outcome in ordered),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(outcome: AttackResult, *, bold: bool) -> str:
    name = escape_latex(outcome.name)
    if bold:
        name = rf"\textbf{{{name}}}"
    return _latex_line([name, _latex_estimate(outcome.auc), *(_latex_estimate(rate.tpr) for rate in outcome.rates)])


def _latex_estimate(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return NO_NUMBER.replace("–", "--")
    return f"{decimal(estimate.value)} ({decimal(estimate.low, -1)}--{decimal(estimate.high, 1)})"


def _latex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return re.sub(r"[\\~^<>&%$#_{}]", lambda match: LATEX_ESCAPES[match.group()], text)


CYCLONEDX_VERSION = "1.6"
CYCLONEDX_SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
CYCLONEDX_MODEL = "model"


def cyclonedx(results: Results) -> str:
    """Return an ML-BOM: the model, its membership-privacy metrics, and the limits of the audit."""
    results = sanitize_results(results)
    component = {
        "type": "machine-learning-model",
        "bom-ref": CYCLONEDX_MODEL,
        "name": model_name(results),
        "description": " ".join(verdict_texts(results)),
        "modelCard": {
            "quantitativeAnalysis": {"performanceMetrics": _bom_metrics(results)},
            "considerations": {"technicalLimitations": [LOWER_BOUND, *untested_sentences(results)]},
        },
    }
    document = {
        "$schema": CYCLONEDX_SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": CYCLONEDX_VERSION,
        "version": 1,
        "metadata": {"tools": {"components": [_bom_tool(results)]}, "component": component},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _bom_tool(results: Results) -> dict[str, str]:
    tool = {"type": "application", "name": "guestlist"}
    if results.provenance is not None and "guestlist" in results.provenance.versions:
        tool["version"] = results.provenance.versions["guestlist"]
    return tool


def _bom_metrics(results: Results) -> list[dict[str, Any]]:
    """Return AUC and TPR of the headline attacks, and the accuracy of the model."""
    metrics = []
    for name in headline_names(results):
        attack = results.attack(name)
        metrics.append(_bom_metric("membership inference AUC", attack.auc, name))
        metrics += [
            _bom_metric(f"membership inference TPR at {percent(rate.fpr)} FPR", rate.tpr, name)
            for rate in attack.rates
            if rate.tpr.value == rate.tpr.value
        ]
    subject = results.subject
    if subject is not None:
        accuracies = {"training records": subject.accuracy_members, "other records": subject.accuracy_nonmembers}
        metrics += [
            {"type": "accuracy", "value": str(accuracy), "slice": name}
            for name, accuracy in accuracies.items()
            if accuracy is not None
        ]
    return metrics


def _bom_metric(kind: str, estimate: Estimate, attack: str) -> dict[str, Any]:
    bounds = {"lowerBound": str(estimate.low), "upperBound": str(estimate.high)}
    return {"type": kind, "value": str(estimate.value), "slice": f"attack {attack}", "confidenceInterval": bounds}


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
        text=markdown,
        suffix=".md",
        summary="the answer, the attacks and the checks in Markdown, for a pull request or a wiki",
    ),
    "model_card": Export(
        text=model_card,
        suffix=".md",
        summary="a section on membership privacy for a model card",
    ),
    "assessment": Export(
        text=assessment,
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
