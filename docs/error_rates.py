"""Rows of the tables in ``docs/error_rates.md``: rates measured by ``benchmarks/error_rates``, and their limits."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from guestlist.metrics import clopper_pearson_lower, clopper_pearson_upper

FOLDER = Path(__file__).parents[1] / "benchmarks" / "error_rates"
CSV = FOLDER / "rows.csv"
MAX_ROWS = 15  # a longer table shows the rows closest to their limits


@dataclass(frozen=True)
class Limit:
    """Limit of a measured value.

    Args:
        kind: "at most" and "at least" bound a rate, "nominal" is a level that a rate should not exceed by more than
            sampling error, and "within" bounds an absolute difference.
        percent: whether the value is a rate.
    """

    kind: Literal["at most", "at least", "nominal", "within"]
    value: float
    percent: bool = True

    def __str__(self) -> str:
        if self.kind == "within":
            return f"± {self.value:g}"
        if not self.percent:
            return f"≤ {self.value:.2f}"
        if self.kind == "nominal":
            return f"nominal {_percent(self.value)}"
        if self.value in (0, 1):
            return _percent(self.value)
        sign = "≤" if self.kind == "at most" else "≥"
        return f"{sign} {_percent(self.value)}"

    def share(self, measured: float) -> float:
        """Return a measured value as a share of the limit; for "at least", errors as a share of the allowed errors."""
        error, allowed = abs(measured), self.value
        if self.kind == "at least":
            error, allowed = 1 - measured, 1 - self.value
        if allowed > 0:
            return error / allowed
        return math.inf if error > 0 else 0.0


@dataclass(frozen=True)
class Row:
    """One measured value.

    Args:
        claim: the error, or the property, that was measured.
        value: the measured value.
        limit: its limit; a text if there is none.
        sample: number of simulations, audits or models.
        note: text after the value.
        form: format of the value if it is no rate.
        trials: number of independent trials of a rate, for its confidence interval; 0 if they are not independent.
    """

    claim: str
    value: float
    limit: Limit | str
    sample: str
    note: str = ""
    form: str = ""
    trials: int = 0

    @property
    def exceeds(self) -> bool:
        """Whether the limit is exceeded."""
        return self.share is not None and self.share > 1 + 1e-9

    @property
    def interval(self) -> str:
        """95% confidence interval of the rate as text; empty if trials are not independent."""
        if not self.trials:
            return ""
        count = round(self.value * self.trials)
        low, high = (bound(count, self.trials, 0.025) for bound in (clopper_pearson_lower, clopper_pearson_upper))
        return f"{_percent(float(low))} to {_percent(float(high))}"

    @property
    def share(self) -> float | None:
        """Share of the limit; above 1 the limit is exceeded."""
        return self.limit.share(self.value) if isinstance(self.limit, Limit) else None

    @property
    def measured(self) -> str:
        """The value as text."""
        value = f"{self.value:{self.form}}" if self.form else _percent(self.value)
        return f"{value} {self.note}".rstrip()

    @property
    def share_text(self) -> str:
        """The share of the limit as text; empty without a limit."""
        return "" if self.share is None else f"{self.share:.2f}"


def topic_table(topic: str) -> str:
    """Return the table of one topic, in Markdown; of many rows, those closest to their limits."""
    rows = topic_rows()[topic]
    if len(rows) > MAX_ROWS:
        rows = sorted((row for row in rows if row.share and row.share > 0.005), key=lambda row: -(row.share or 0))[
            :MAX_ROWS
        ]
    lines = ["| claim | measured | limit | share of limit | from |", "| --- " * 5 + "|"]
    lines += [f"| {row.claim} | {row.measured} | {row.limit} | {row.share_text} | {row.sample} |" for row in rows]
    return "\n".join(lines)


def exceeded_table() -> str:
    """Return the rows above their limits, in Markdown."""
    rows = sorted(
        (row for rows in topic_rows().values() for row in rows if row.exceeds), key=lambda row: -(row.share or 0)
    )
    lines = ["| claim | measured | 95% CI | limit | from |", "| --- " * 5 + "|"]
    lines += [f"| {row.claim} | {row.measured} | {row.interval} | {row.limit} | {row.sample} |" for row in rows]
    return "\n".join(lines)


def all_rows() -> str:
    """Return all rows of all topics as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("topic", "claim", "measured", "limit", "share of limit", "from"))
    for topic, rows in topic_rows().items():
        writer.writerows((topic, row.claim, row.measured, row.limit, row.share_text, row.sample) for row in rows)
    return text.getvalue()


@cache
def topic_rows() -> dict[str, list[Row]]:
    """Return the rows of each topic."""
    return {topic: list(rows()) for topic, rows in TOPICS.items()}


def _read(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _at_most(value: float) -> Limit:
    return Limit("at most", value)


def _at_least(value: float) -> Limit:
    return Limit("at least", value)


COVERED = _at_least(0.93)  # of nominal 95% intervals
BIAS = Limit("within", 0.015)


def _persons() -> Iterator[Row]:
    measured = _read("persons")
    for metric in dict.fromkeys(row["metric"] for row in measured["rows"]):
        lowest = min(
            (row for row in measured["rows"] if row["metric"] == metric), key=lambda row: row["with_identifiers"]
        )
        claim = f"lowest coverage of the 95% interval: {metric} ({lowest['simulation']})"
        note = f"(without identifiers {_percent(lowest['without_identifiers'])})"
        yield Row(claim, lowest["with_identifiers"], COVERED, f"{measured['samples']:,} samples", note)


def _baseline() -> Iterator[Row]:
    for name, result in _read("baseline")["simulations"].items():
        if "limit" in result:
            claim = f"model-free baseline is flagged, one source: {name}"
            yield Row(claim, result["flagged"], _at_most(result["limit"]), f"{result['repeats']} splits")
        elif "second_order_flagged" in result:
            claim = f"model-free baseline is flagged, {name.removesuffix(': flagged')}"
            yield Row(claim, result["second_order_flagged"], _at_least(0.95), f"{result['repeats']} simulations")
        elif "second_order_bias" in result:
            yield _bias(f"weighted AUC minus the truth, {name}", result, "second_order_bias")
        elif "verdict_yes" in result:
            claim = f"verdict is Yes, two populations: {name}"
            yield Row(claim, result["verdict_yes"], _at_most(0.05), f"{result['audits']} audits")
        elif "withheld" in result:
            claim = f"headline is withheld, two populations: {name}"
            yield Row(claim, result["withheld"], _at_least(0.95), _simulations(result))
        elif "gain_above_0" in result:
            claim = f"verdict is Likely, two populations and no leak: {name.removeprefix('no leak, ')}"
            yield Row(claim, result["verdict_likely"], _at_most(0.05), _simulations(result))
        elif "covered" in result:
            yield Row(f"95% interval covers: {name}", result["covered"], COVERED, _simulations(result))
        elif "oracle_bias" in result:
            yield from _weighted(name.removeprefix("weighted, "), result)


def _bias(claim: str, result: dict, key: str) -> Row:
    note = f"(with the true weights {result['oracle_bias']:+.3f})"
    return Row(claim, result[key], BIAS, _simulations(result), note, "+.3f")


def _weighted(name: str, result: dict) -> Iterator[Row]:
    """Yield the rows of weighted non-members, compared with the true weights, which are unknown in practice."""
    sample = _simulations(result)
    yield _bias(f"weighted AUC minus the truth, on average: {name}", result, "bias")
    yield Row(
        f"mean absolute error of the weighted AUC: {name}",
        result["mean_absolute_error"],
        "",
        sample,
        f"(with the true weights {result['oracle_mean_absolute_error']:.3f})",
        ".3f",
    )
    note = f"(with the true weights {_percent(result['oracle_covered'])})"
    yield Row(f"95% interval of the weighted AUC covers: {name}", result["auc_covered"], COVERED, sample, note)
    yield Row(f"95% intervals of weighted rates cover: {name}", result["tpr_covered"], COVERED, sample)
    yield Row(f"95% interval of attack minus baseline covers: {name}", result["gain_covered"], COVERED, sample)


def _simulations(result: dict) -> str:
    return f"{result['simulations']:,.0f} simulations"


def _null_audits() -> Iterator[Row]:
    parts = _read("claims")["parts"]
    for name, part in parts.items():
        if name.startswith("null audits"):
            yield Row(f"any claim, {name}", part["any claim"], _null_limit(name), f"{part['audits']:.0f} audits")
    low_fpr = _read("low_fpr")
    for row in low_fpr["claims of the headline at 900 + 900"]:
        sample = f"{low_fpr['repeats of claims']} samples"
        if row["memorised"]:
            claim = f"a leak is claimed, {_percent(row['memorised'])} memorised"
            yield Row(claim, row["either"], _at_least(0.8), sample)
        elif not row["shift"]:
            yield Row("a leak is claimed, nothing leaks", row["either"], _at_most(0.05), sample)


def _null_limit(name: str) -> Limit | str:
    """Return the limit of any claim: the family-wise error rate of 5%, with allowance for claims outside the family."""
    if "without" in name:
        return ""
    return _at_most(0.1) if "visits" in name else _at_most(0.07)


def _recipe() -> Iterator[Row]:
    parts = _read("claims")["parts"]
    for name, added in (("recipe", ""), ("recipe until narrow", ", references added until it is narrow")):
        claim = f"interval of the training recipe is above guessing, nothing leaks{added}"
        yield Row(claim, parts[name]["above guessing"], _at_most(0.035), _simulations(parts[name]))
    for name, part in parts.items():
        if not name.startswith("prediction interval") or "leaks more" in name:
            continue
        claim = f"a typical model is outside the {name}"
        if "models" in part:
            sample = f"{part['models']:,.0f} models of {part['audits']} audits"
            yield Row(claim, part["outside the prediction interval"], Limit("nominal", 0.05), sample)
        else:
            rate = part["below"] + part["above"]
            yield Row(claim, rate, Limit("nominal", 0.05), _simulations(part), trials=round(part["simulations"]))
    leaking = parts["prediction interval, a target that leaks more"]
    yield Row("a model that leaks more is above the prediction interval", leaking["above"], "", _simulations(leaking))


def _groups() -> Iterator[Row]:
    parts = _read("claims")["parts"]
    groups, listed = parts["50 groups"], parts["exposed records"]
    sample = f"{groups['audits']:,.0f} simulations"
    claim = "an exposed group is named among 50, none is exposed"
    yield Row(claim, groups["names a group"], _at_most(0.05), sample)
    claim = "one group is reported as more exposed than the others, none is"
    yield Row(claim, groups["more exposed than the others"], _at_most(0.05), sample)
    claim = "listed records are flagged by models that were not trained on them"
    yield Row(claim, listed["flagged"], _at_most(0.07), _simulations(listed))
    yield from _mean_risks()


def _mean_risks() -> Iterator[Row]:
    parts = _read("group_risks")["parts"]
    means = {name: part for name, part in parts.items() if "claims a difference" in part}
    setting, worst = max(means.items(), key=lambda item: item[1]["claims a difference"])
    claim = f"a group's mean risk is reported to differ, among 50 groups, pairs and classes, none does ({setting})"
    sample = f"{worst['audits']:,} simulations"
    yield Row(claim, worst["claims a difference"], _at_most(0.05), sample)
    lowest = min(min(part["means covered"], part["differences covered"]) for part in means.values())
    yield Row("lowest coverage of 95% intervals of these means and differences", lowest, COVERED, sample)
    gaps = {name: part for name, part in parts.items() if "claims an association" in part and "leak" not in name}
    audits = sum(part["audits"] for part in gaps.values())
    claimed = sum(part["audits"] * part["claims an association"] for part in gaps.values()) / audits
    name, largest = max(gaps.items(), key=lambda item: item[1]["claims an association"])
    largest_rate = f"{_percent(largest['claims an association'])} of {largest['audits']}"
    claim = f"a risk is reported to vary with the generalisation gap, nothing leaks (largest: {name}, {largest_rate})"
    yield Row(claim, claimed, _at_most(0.05), f"{audits:,} simulations")


def _intervals() -> Iterator[Row]:
    exact = min(row["lowest coverage"] for row in _read("ties")["auc of 0 and 1, summed over all outcomes"])
    yield Row("lowest coverage of the AUC's interval, scores 0 and 1", exact, COVERED, "all outcomes, exactly")
    measured = _read("low_fpr")
    sample = f"{measured['repeats']:,} samples of each"
    lowest = min(measured["intervals"], key=lambda row: row["covered"])
    claim = f"lowest coverage of the interval of TPR at a given FPR ({lowest['name']})"
    yield Row(claim, lowest["covered"], _at_least(0.94), f"{len(measured['intervals'])} simulations, {sample}")
    claim = "width of this interval relative to a union bound"
    narrow = Limit("at most", 0.7, percent=False)
    yield Row(f"{claim}, scores without ties", measured["mean width ratio without ties"], narrow, sample, form=".2f")
    yield Row(f"{claim}, ties included", measured["mean width ratio"], "", sample, form=".2f")
    powered = next(row for row in measured["intervals"] if row["name"].startswith("normal, d 0.5, 900"))
    note = f"(union bound {_percent(powered['power_of_union_bound'])})"
    yield Row("this interval excludes guessing, d' = 0.5, 900 + 900", powered["power"], _at_least(0.5), sample, note)
    left_out = _read("left_out")
    worst = max(row["separate_models"] for row in left_out["interval_excludes_one_half"] if row["effect"] == 1.0)
    claim = "interval of attack L excludes 0.5, nothing leaks"
    yield Row(claim, worst, _at_most(0.07), f"{left_out['repeats']:,} simulations")


def _doubtful() -> Iterator[Row]:
    recipes = _read("recipe_mismatch")
    targets = recipes["pools"] * (recipes["references"] + 1)
    claim = "a target is flagged as unlike references of its training recipe (GL118)"
    sample = f"{targets} targets of each of {len(recipes['same_recipe'])} model types, the largest rate"
    yield Row(claim, max(recipes["same_recipe"].values()), _at_most(0.05), sample)
    for name, setting in _read("training_set")["settings"].items():
        true, other = setting["trained on the members"], setting["trained on other records"]
        sample = f"{setting['audits']} audits"
        power: Limit | str = _at_least(0.95) if name.startswith(("forest", "tree")) else ""
        claim = f"records that the model was not trained on are flagged as doubtful members (GL129): {name}"
        yield Row(claim, other["doubted"], power, sample)
        claim_of_members = f"true members are flagged as doubtful (GL129): {name}"
        yield Row(claim_of_members, true["doubted"], _at_most(0.02), sample, trials=setting["audits"])
        claim = f"the exposure list names a record that the model was not trained on: {name}"
        yield Row(claim, other["flags a record"], _at_most(0.1), sample)


def _epsilon() -> Iterator[Row]:
    rows = [row for row in _read("epsilon")["rows"] if row["threshold"] != "uncorrected"]
    for kind in ("one run", "many runs"):
        bounds = [row for row in rows if row["method"].startswith(kind) and "Bayesian" not in row["method"]]
        worst = max(bounds, key=lambda row: row["false_claims"])
        setting = f"{worst['method']}, {worst['threshold']}; {worst['mechanism']}"
        claim = f"a lower bound on ε is above the truth, {kind} ({setting})"
        yield Row(claim, worst["false_claims"], _at_most(0.05), f"{worst['runs']:,} runs")
    worst = max((row for row in rows if "Bayesian" in row["method"]), key=lambda row: row["false_claims"])
    claim = f"a Bayesian lower bound on ε is above the truth ({worst['threshold']}; {worst['mechanism']})"
    yield Row(claim, worst["false_claims"], "not claimed", f"{worst['runs']:,} runs")
    audits = _read("many_runs")["rows"]
    for method in dict.fromkeys(row["method"] for row in audits):
        worst = max((row for row in audits if row["method"] == method), key=lambda row: row["false_claims"])
        claim = f"`gl.play_many` contradicts a guarantee that holds ({method}; {worst['mechanism']})"
        limit = "not claimed" if method == "Bayesian" else _at_most(0.05)
        yield Row(claim, worst["false_claims"], limit, f"{worst['audits']:,} audits of {worst['runs']} models")
    command = _read("dp_command")
    claim = f"ε = {command['claimed']:g} is contradicted by `guestlist dp`, {command['records']:,} records of Adult"
    yield from _with_and_without_noise(claim, command["rows"])
    yield from _with_and_without_noise("ε = 1 of DP-SGD is contradicted", _read("dp_sgd")["rows"])


def _with_and_without_noise(claim: str, rows: list[dict]) -> Iterator[Row]:
    for row in rows:
        limit = _at_least(1.0) if row["noise"] == "off" else _at_most(0.05)
        yield Row(f"{claim}, noise {row['noise']}", row["contradicted"], limit, f"{row['runs']} models")


def _gate() -> Iterator[Row]:
    measured = _read("gate")
    for claim, key, limit in (
        ("fails a model that leaks nothing, by an AUC below 0.5", "nothing leaks: AUC below 0.5 by chance", 0.05),
        ("passes interchanged members and non-members", "interchanged: passed", 0.0),
        ("passes a true AUC at the limit", "true AUC at the limit: passed", 0.05),
    ):
        yield Row(f"the gate {claim}", measured["shares"][key], _at_most(limit), f"{measured['audits']} audits")


def _comparisons() -> Iterator[Row]:
    equal = _read("compare")["equal"]
    for claim, key, limit in (
        ("equal models are reported to differ in any metric", "any metric", 0.05),
        ("the most exposed members of equal models are reported to differ", "most exposed", 0.05),
        ("a record is reported with a risen risk, equal models", "risen", 0.1),
    ):
        scores = max(equal, key=lambda scores: equal[scores][key])
        worst = equal[scores]
        yield Row(f"{claim} ({scores})", worst[key], _at_most(limit), f"{worst['repeats']} comparisons")
    defences = _read("defend")
    scores, worst = max(defences["simulations"].items(), key=lambda item: item[1]["reported"])
    claim = f"one of {defences['defences']} defences that change nothing is reported to leak less ({scores})"
    yield Row(claim, worst["reported"], _at_most(0.05), f"{defences['repeats']:,} simulations")


TOPICS: dict[str, Callable[[], Iterator[Row]]] = {
    "persons": _persons,
    "baseline": _baseline,
    "null audits": _null_audits,
    "prediction interval": _recipe,
    "groups and risks": _groups,
    "intervals": _intervals,
    "doubtful members": _doubtful,
    "bounds on ε": _epsilon,
    "gate": _gate,
    "comparisons": _comparisons,
}
POWER_IN = ("randomised response, ε = 1", "randomised response, ε = 3", "Gaussian noise, μ = 1")


def power_table() -> str:
    """Return, for each method, the mean lower bound on epsilon, the truth, and how often the bound exceeds it."""
    rows = [row for row in _read("epsilon")["rows"] if row["threshold"] != "uncorrected"]
    truths = {row["mechanism"]: row["truth"] for row in rows}
    heads = [f"{mechanism} (truth {truths[mechanism]:.2f})" for mechanism in POWER_IN]
    lines = [f"| method | threshold | {' | '.join(heads)} |", "| --- " * (2 + len(heads)) + "|"]
    for method, threshold in dict.fromkeys((row["method"], row["threshold"]) for row in rows):
        by_mechanism = {
            row["mechanism"]: row for row in rows if (row["method"], row["threshold"]) == (method, threshold)
        }
        cells = [_bound(by_mechanism.get(mechanism)) for mechanism in POWER_IN]
        lines.append(f"| {method} | {threshold} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _bound(row: dict | None) -> str:
    return "" if row is None else f"{row['mean_bound']:.2f}, above it in {_percent(row['false_claims'])}"
