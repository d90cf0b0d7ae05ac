"""Table of the simulations in ``benchmarks/error_rates``: measured rates and their nominal limits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parents[1] / "benchmarks" / "error_rates"


def error_rate_table() -> str:
    """Return one row per claim: the measured rate, its limit, and the number of simulations or audits."""
    rows = ["| claim | measured | limit | from |", "| --- | --- | --- | --- |"]
    for parts in (
        _persons(),
        _baseline(),
        _claims(),
        _group_risks(),
        _ties(),
        _rates(),
        _models(),
        _epsilon(),
        _gate(),
        _compare(),
        _defend(),
    ):
        rows += [f"| {' | '.join(row)} |" for row in parts]
    return "\n".join(rows)


def _read(name: str) -> dict:
    return json.loads((HERE / f"{name}.json").read_text("utf-8"))


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _rates() -> Iterator[tuple[str, ...]]:
    found = _read("low_fpr")
    repeats = f"{found['repeats']:,} samples of each"
    least = min(found["intervals"], key=lambda row: row["covered"])
    what = f"lowest coverage of the interval of TPR at a given FPR ({least['name']})"
    yield what, _percent(least["covered"]), "≥ 94%", f"{len(found['intervals'])} simulations, {repeats}"
    what = "its width compared with a union bound, scores without ties"
    yield what, f"{found['mean width ratio without ties']:.2f}", "≤ 0.70", repeats
    yield "the same, ties included", f"{found['mean width ratio']:.2f}", "", repeats
    powered = next(row for row in found["intervals"] if row["name"].startswith("normal, d 0.5, 900"))
    before = f"(union bound {_percent(powered['power_of_union_bound'])})"
    yield "it excludes guessing, d' = 0.5, 900 + 900", f"{_percent(powered['power'])} {before}", "≥ 50%", repeats
    for row in found["claims of the headline at 900 + 900"]:
        samples = f"{found['repeats of claims']} samples"
        if row["memorised"]:
            yield (
                f"a leak is claimed, {_percent(row['memorised'])} memorised",
                _percent(row["either"]),
                "≥ 80%",
                samples,
            )
        elif not row["shift"]:
            yield "a leak is claimed, nothing leaks", _percent(row["either"]), "≤ 5%", samples


def _persons() -> Iterator[tuple[str, ...]]:
    found = _read("persons")
    least = min(found["rows"], key=lambda row: row["with_identifiers"])
    what = f"lowest coverage of 95% intervals with person identifiers ({least['metric']}, {least['simulation']})"
    yield what, _percent(least["with_identifiers"]), "≥ 93%", f"{found['samples']:,} samples"


def _baseline() -> Iterator[tuple[str, ...]]:
    for name, world in _read("baseline")["simulations"].items():
        if "limit" in world:
            what = f"model-free baseline is flagged, one source: {name}"
            yield what, _percent(world["flagged"]), f"≤ {_percent(world['limit'])}", f"{world['repeats']} splits"
        elif "second_order_flagged" in world:
            what = f"model-free baseline is flagged, {name.removesuffix(': flagged')}"
            flagged = _percent(world["second_order_flagged"])
            yield what, flagged, "≥ 95%", f"{world['repeats']} simulations"
        elif "second_order_bias" in world:
            compared = f"with the true weights {world['oracle_bias']:+.3f}"
            off = f"{world['second_order_bias']:+.3f} ({compared})"
            yield f"weighted AUC minus the truth, {name}", off, "± 0.015", f"{world['simulations']} simulations"
        elif "verdict_yes" in world:
            yield (
                f"verdict is Yes, two populations: {name}",
                _percent(world["verdict_yes"]),
                "≤ 5%",
                f"{world['audits']} audits",
            )
        elif "withheld" in world:
            what = f"headline is withheld, two populations: {name}"
            yield what, _percent(world["withheld"]), "≥ 95%", f"{world['simulations']} simulations"
        elif "gain_above_0" in world:
            what = f"verdict is Likely, two populations and no leak: {name.removeprefix('no leak, ')}"
            yield what, _percent(world["verdict_likely"]), "≤ 5%", f"{world['simulations']} simulations"
        elif "covered" in world:
            yield (
                f"the interval covers: {name}",
                _percent(world["covered"]),
                "≥ 93%",
                f"{world['simulations']} simulations",
            )
        elif "oracle_bias" in world:
            yield from _weighted(name.removeprefix("weighted, "), world)


def _weighted(name: str, world: dict) -> Iterator[tuple[str, ...]]:
    """Weighted non-members, compared with the true weights, which are unknown in practice."""
    count = f"{world['simulations']} simulations"
    compared = "with the true weights"
    off, oracle = world["bias"], world["oracle_bias"]
    yield (
        f"weighted AUC minus the truth, on average: {name}",
        f"{off:+.3f} ({compared} {oracle:+.3f})",
        "± 0.015",
        count,
    )
    near = f"{world['mean_absolute_error']:.3f} ({compared} {world['oracle_mean_absolute_error']:.3f})"
    yield f"the same, mean absolute: {name}", near, "", count
    held = f"{_percent(world['auc_covered'])} ({compared} {_percent(world['oracle_covered'])})"
    yield f"its 95% interval covers: {name}", held, "≥ 93%", count
    yield f"95% intervals of weighted rates cover: {name}", _percent(world["tpr_covered"]), "≥ 93%", count
    yield f"the interval of attack minus baseline covers: {name}", _percent(world["gain_covered"]), "≥ 93%", count


def _claims() -> Iterator[tuple[str, ...]]:
    parts = _read("claims")["parts"]
    for part, key, what, wanted in (
        ("50 groups", "names a group", "an exposed group is named among 50, none is exposed", "≤ 5%"),
        (
            "50 groups",
            "more exposed than the others",
            "one group is reported as more exposed than the rest, none is",
            "≤ 5%",
        ),
        ("recipe", "above guessing", "interval of the training recipe is above guessing, nothing leaks", "≤ 3.5%"),
        (
            "recipe until narrow",
            "above guessing",
            "the same, with references added until the interval is narrow",
            "≤ 3.5%",
        ),
        (
            "prediction interval, a target that leaks more",
            "above",
            "a model that leaks more is above the prediction interval",
            "",
        ),
        ("exposed records", "flagged", "listed records are flagged by models that were not trained on them", "≤ 7%"),
    ):
        if part in parts:
            counted = parts[part].get("audits") or parts[part]["simulations"]
            yield what, _percent(parts[part][key]), wanted, f"{counted:,.0f} simulations"
    for part, found in parts.items():
        if part.startswith("prediction interval") and "more" not in part:
            called = found["outside the prediction interval"] if "models" in found else found["below"] + found["above"]
            counted = (
                f"{found['models']:,.0f} models" if "models" in found else f"{found['simulations']:,.0f} simulations"
            )
            yield (
                f"a typical model is outside the prediction interval: {part.replace('prediction interval', 'recipe')}",
                _percent(called),
                "about 5%",
                counted,
            )
        if part.startswith("null audits"):
            wanted = "" if "without" in part else "≤ 10%" if "visits" in part else "≤ 7%"
            yield (
                f"any claim, {part}",
                _percent(found["any claim"]),
                wanted,
                f"{found['audits']:.0f} audits",
            )


def _group_risks() -> Iterator[tuple[str, ...]]:
    parts = _read("group_risks")["parts"]
    claims = {name: found for name, found in parts.items() if "claims a difference" in found}
    setting, worst = max(claims.items(), key=lambda item: item[1]["claims a difference"])
    what = f"a group's mean risk is reported to differ, among 50 groups, pairs and classes, none does ({setting})"
    yield what, _percent(worst["claims a difference"]), "≤ 5%", f"{worst['audits']:,} simulations"
    least = min(min(found["means covered"], found["differences covered"]) for found in claims.values())
    yield (
        "lowest coverage of 95% intervals of these means and differences",
        _percent(least),
        "≥ 93%",
        f"{worst['audits']:,} simulations",
    )
    gaps = {name: found for name, found in parts.items() if "claims an association" in found and "leak" not in name}
    audits = sum(found["audits"] for found in gaps.values())
    claimed = sum(found["audits"] * found["claims an association"] for found in gaps.values()) / audits
    name, largest = max(gaps.items(), key=lambda item: item[1]["claims an association"])
    yield (
        f"a risk is reported to vary with the generalisation gap, nothing leaks "
        f"(largest: {name}, {_percent(largest['claims an association'])} of {largest['audits']})",
        _percent(claimed),
        "≤ 5%",
        f"{audits:,} simulations",
    )


def _ties() -> Iterator[tuple[str, ...]]:
    found = _read("ties")
    exact = min(row["lowest coverage"] for row in found["auc of 0 and 1, summed over all outcomes"])
    yield "lowest coverage of the AUC's interval, scores 0 and 1", _percent(exact), "≥ 93%", "all outcomes, exactly"


def _models() -> Iterator[tuple[str, ...]]:
    left_out = _read("left_out")
    at_one = [row for row in left_out["interval_excludes_one_half"] if row["effect"] == 1.0]
    worst = max(row["separate_models"] for row in at_one)
    yield (
        "interval of attack L excludes 0.5, nothing leaks",
        _percent(worst),
        "≤ 7%",
        f"{left_out['repeats']:,} simulations",
    )
    recipes = _read("recipe_mismatch")
    false = max(recipes["same_recipe"].values())
    yield (
        "a target is flagged as unlike references of its training recipe (GL118)",
        _percent(false),
        "≤ 5%",
        "five model types",
    )
    yield from _training_set()


def _training_set() -> Iterator[tuple[str, ...]]:
    for name, found in _read("training_set")["settings"].items():
        true, other = found["trained on the members"], found["trained on other records"]
        audits = f"{found['audits']} audits"
        wanted = "≥ 95%" if name.startswith(("forest", "tree")) else ""
        what = f"records that the model never saw are flagged as doubtful members (GL129): {name}"
        yield what, _percent(other["doubted"]), wanted, audits
        yield f"true members are flagged as doubtful (GL129): {name}", _percent(true["doubted"]), "≤ 2%", audits
        what = f"the exposure list names a record that the model never saw: {name}"
        yield what, _percent(other["flags a record"]), "≤ 10%", audits


def _epsilon() -> Iterator[tuple[str, ...]]:
    rows = [row for row in _read("epsilon")["rows"] if row["threshold"] != "uncorrected"]
    for kind in ("one run", "many runs"):
        promised = [row for row in rows if row["method"].startswith(kind) and "Bayesian" not in row["method"]]
        worst = max(promised, key=lambda row: row["false_claims"])
        what = f"a lower bound on ε is above the truth, {kind} ({worst['method']}, {worst['threshold']}; {worst['mechanism']})"
        yield what, _percent(worst["false_claims"]), "≤ 5%", f"{worst['runs']:,} runs"
    believed = [row for row in rows if "Bayesian" in row["method"]]
    if believed:
        worst = max(believed, key=lambda row: row["false_claims"])
        what = f"the same for a Bayesian posterior ({worst['threshold']}; {worst['mechanism']})"
        yield what, _percent(worst["false_claims"]), "not claimed", f"{worst['runs']:,} runs"
    through = _read("many_runs")["rows"]
    for method in dict.fromkeys(row["method"] for row in through):
        worst = max((row for row in through if row["method"] == method), key=lambda row: row["false_claims"])
        what = f"`gl.play_many` contradicts a guarantee that holds ({method}; {worst['mechanism']})"
        wanted = "not claimed" if method == "Bayesian" else "≤ 5%"
        yield what, _percent(worst["false_claims"]), wanted, f"{worst['audits']:,} audits of {worst['runs']} models"
    command = _read("dp_command")
    for row in command["rows"]:
        what = f"ε = {command['claimed']:g} is contradicted by `guestlist dp`, {command['records']:,} records of Adult, noise"
        wanted = "≤ 5%" if row["noise"] == "as claimed" else "100%"
        yield f"{what} {row['noise']}", _percent(row["contradicted"]), wanted, f"{row['runs']} models"
    for row in _read("dp_sgd")["rows"]:
        wanted = "≤ 5%" if row["noise"] == "as claimed" else "100%"
        yield (
            f"ε = 1 of DP-SGD is contradicted, noise {row['noise']}",
            _percent(row["contradicted"]),
            wanted,
            f"{row['runs']} models",
        )


POWER_IN = ("randomised response, ε = 1", "randomised response, ε = 3", "Gaussian noise, μ = 1")


def power_table() -> str:
    """Return, for each method, the mean lower bound on epsilon, the truth, and how often the bound exceeds it."""
    found = _read("epsilon")
    heads = [world for world in POWER_IN if any(row["mechanism"] == world for row in found["rows"])]
    truths = {row["mechanism"]: row["truth"] for row in found["rows"]}
    named = [f"{world} (truth {truths[world]:.2f})" for world in heads]
    rows = [f"| method | threshold | {' | '.join(named)} |", "| --- " * (2 + len(heads)) + "|"]
    every = [row for row in found["rows"] if row["threshold"] != "uncorrected"]
    for method, threshold in dict.fromkeys((row["method"], row["threshold"]) for row in every):
        own = {row["mechanism"]: row for row in every if (row["method"], row["threshold"]) == (method, threshold)}
        cells = [
            f"{own[world]['mean_bound']:.2f}, above it in {_percent(own[world]['false_claims'])}"
            if world in own
            else ""
            for world in heads
        ]
        rows.append(f"| {method} | {threshold} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _gate() -> Iterator[tuple[str, ...]]:
    found = _read("gate")
    count = f"{found['audits']} audits"
    yield (
        "the gate fails a model that leaks nothing, by an AUC below 0.5",
        _percent(found["shares"]["nothing leaks: AUC below 0.5 by chance"]),
        "≤ 5%",
        count,
    )
    yield (
        "the gate passes interchanged members and non-members",
        _percent(found["shares"]["interchanged: passed"]),
        "0%",
        count,
    )
    yield (
        "the gate passes a true AUC at the limit",
        _percent(found["shares"]["true AUC at the limit: passed"]),
        "≤ 5%",
        count,
    )


def _compare() -> Iterator[tuple[str, ...]]:
    found = _read("compare")["equal"]
    for what, claim, wanted in (
        ("any metric", "equal models are reported to differ in any metric", "≤ 5%"),
        ("most exposed", "their most exposed members are reported to differ", "≤ 5%"),
        ("risen", "a record is reported with a risen risk, equal models", "≤ 10%"),
    ):
        world, worst = max(found.items(), key=lambda item: item[1][what])
        yield f"{claim} ({world})", _percent(worst[what]), wanted, f"{worst['repeats']} comparisons"


def _defend() -> Iterator[tuple[str, ...]]:
    found = _read("defend")
    world, worst = max(found["simulations"].items(), key=lambda item: item[1]["reported"])
    what = f"one of {found['defences']} defences that change nothing is reported to leak less ({world})"
    yield what, _percent(worst["reported"]), "≤ 5%", f"{found['repeats']:,} simulations"
