"""The table of attacks for a paper, in LaTeX with booktabs."""

import math
import re

from guestlist._findings import AttackResult, Results
from guestlist._report.wording import headline_names, sanitize_results
from guestlist._util import NO_NUMBER, decimal
from guestlist.metrics import Estimate

ESCAPES = {
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
        _line(heads),
        r"\midrule",
        *(_row(outcome, bold=outcome.name in first) for outcome in ordered),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _row(outcome: AttackResult, *, bold: bool) -> str:
    name = escape_latex(outcome.name)
    if bold:
        name = rf"\textbf{{{name}}}"
    return _line([name, _estimate(outcome.auc), *(_estimate(rate.tpr) for rate in outcome.rates)])


def _estimate(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return NO_NUMBER.replace("–", "--")
    return f"{decimal(estimate.value)} ({decimal(estimate.low, -1)}--{decimal(estimate.high, 1)})"


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return re.sub(r"[\\~^<>&%$#_{}]", lambda match: ESCAPES[match.group()], text)
