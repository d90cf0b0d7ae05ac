"""Write the tables in the docs that are made from the code or from measurements: ``python -m docs.tables``."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from functools import partial
from pathlib import Path

from docs.error_rates import CSV, TOPICS, all_rows, exceeded_table, power_table, topic_table
from guestlist import CHECKS
from guestlist._diagnostics.core import never
from guestlist.attacks import ATTACKS, Attack
from guestlist.defences import DEFENCES
from guestlist.evidence import EVIDENCE
from guestlist.models import FRAMEWORKS, Framework
from guestlist.risks import RISKS

ROOT = Path(__file__).parents[1]


def attack_table() -> str:
    """Return the table of attacks, in Markdown."""
    rows = ["| attack | needs | score | paper |", "| --- | --- | --- | --- |"]
    for name, attack in ATTACKS.items():
        opt_in = "" if attack.default else " (opt-in)"
        rows.append(f"| `{name}`{opt_in} | {_needs(attack)} | {attack.summary} | {attack.paper} |")
    return "\n".join(rows)


def _needs(attack: Attack) -> str:
    references = {0: [], 1: ["1 reference"]}.get(attack.references, [f"{attack.references} references"])
    evidence = []
    if attack.evidence:
        kind = EVIDENCE[attack.evidence]
        evidence = [kind.target if kind.default else f"`{attack.evidence}`"]
    return ", ".join(references + evidence) or "nothing"


def evidence_table() -> str:
    """Return the table of evidence types, in Markdown."""
    rows = ["| evidence | in Python | content | cost | attacks and risks |", "| --- | --- | --- | --- | --- |"]
    for name, kind in EVIDENCE.items():
        options = ", ".join(f"{field.name}={field.default!r}" for field in fields(kind.plan))
        readers = ", ".join(f"`{a}`" for a, row in (*ATTACKS.items(), *RISKS.items()) if row.evidence == name)
        plan = "by default" if kind.default else f"`gl.evidence.{kind.plan.__name__}({options})`"
        rows.append(f"| `{name}` | {plan} | {kind.summary} | {kind.cost} | {readers} |")
    return "\n".join(rows)


def defence_table() -> str:
    """Return the table of defences, in Markdown."""
    rows = ["| defence | in Python | trains | what it does | cost | paper |", "| --- | --- | --- | --- | --- | --- |"]
    for name, defence in DEFENCES.items():
        rows.append(
            f"| `{name}` | `{defence.written}` | {defence.trains} | {defence.summary} | {defence.cost} | {defence.paper} |"
        )
    return "\n".join(rows)


def framework_table() -> str:
    """Return the table of frameworks, in Markdown. Output defences and a choice of members serve every framework."""
    head = (
        "framework",
        "pass",
        "lines of the first audit",
        "references",
        "defences",
        "white box",
        "DP training",
        "devices",
    )
    rows = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    any_model = [row for row in DEFENCES.values() if row.trains.startswith("any ")]
    for name, framework in FRAMEWORKS.items():
        own = [row for row in DEFENCES.values() if row.trains == framework.model_type]
        private = any(hasattr(row.recipe, "privacy") for row in own)
        rows.append(
            f"| {name} | {framework.models} | {first_audit_lines(framework)} | {framework.references} "
            f"| {len(own) + len(any_model)} "
            f"| {_yes(framework.white_box)} | {_yes(private)} | {framework.devices} |"
        )
    return "\n".join(rows)


def first_audit_lines(framework: Framework) -> int:
    """Return the number of lines of a framework's first audit, including the import."""
    return 1 + len(framework.first_audit.splitlines())


def _yes(value: bool) -> str:
    return "yes" if value else ""


def newcomer_table() -> str:
    """SACRO-ML and guestlist on the same targets: medians over the seeds."""
    runs = _measured("newcomer")
    rows = [
        "| | references | AUC | TPR at 1 % FPR | CPU time | disk | lines |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    peers = [run["sacroml"] for run in runs]
    best = [{f: max(a[f] for a in peer["attacks"].values()) for f in ("auc", "tpr@0.01")} for peer in peers]
    rows.append(_newcomer_row("SACRO-ML, its best mode", peers[0]["references"], peers, best, peers))
    for count in runs[0]["guestlist"]:
        ours = [run["guestlist"][count] for run in runs]
        headline = [one["attacks"][one["headline"]] for one in ours]
        rows.append(_newcomer_row("guestlist, its headline", count, ours, headline, peers))
    return "\n".join(rows)


def _newcomer_row(who: str, references, runs: list[dict], reached: list[dict], peers: list[dict]) -> str:
    time = _middle([run["CPU seconds"] / peer["CPU seconds"] for run, peer in zip(runs, peers, strict=True)])
    figures = " | ".join(f"{_middle([one[name] for one in reached]):.3f}" for name in ("auc", "tpr@0.01"))
    disk = _middle([run["megabytes"] for run in runs])
    return f"| {who} | {references} | {figures} | {time:.2f} | {disk:.1f} MB | {runs[0]['lines']} |"


def collection_table() -> str:
    """Return the cost of collection relative to the training itself."""
    found = _measured("collection")["rows"]
    ratios = [name for name in found[0] if " / " in name]
    rows = [f"| models | references | {' | '.join(ratios)} |", "| --- " * (2 + len(ratios)) + "|"]
    for row in found:
        rows.append(f"| {row['models']} | {row['references']} | {' | '.join(f'{row[name]:.2f}' for name in ratios)} |")
    return "\n".join(rows)


def fixed_headline_table() -> str:
    """Return how close four attacks come to the best one with 4 and 8 references, over all datasets and types of model."""
    measured = json.loads((ROOT / "benchmarks" / "attacks" / "strength.json").read_text("utf-8"))
    tpr = measured["columns"].index("tpr@0.01")
    pairs = [counts for dataset in measured["attacks"].values() for counts in dataset.values()]
    rows = [f"| attack | references | mean share | lowest share | at least .9, of {len(pairs)} |", "| --- " * 5 + "|"]
    for count in ("4", "8"):
        best = [max(attack[tpr] for attack in pair[count].values()) for pair in pairs]
        for name in ("lira_bayes", "rmia", "rmia_offline", "base"):
            shares = [pair[count][name][tpr] / most for pair, most in zip(pairs, best, strict=True)]
            close = sum(share >= 0.9 for share in shares)
            rows.append(f"| `{name}` | {count} | {sum(shares) / len(shares):.2f} | {min(shares):.2f} | {close} |")
    return "\n".join(rows)


def few_by_dataset_table() -> str:
    """Return on which datasets ``lira_bayes`` reaches .9 of the best attack's TPR with 4 and 8 references, over models."""
    measured = json.loads((ROOT / "benchmarks" / "attacks" / "strength.json").read_text("utf-8"))
    tpr = measured["columns"].index("tpr@0.01")
    counts = ("4", "8")
    heads = [f"{head}, {count} references" for count in counts for head in ("mean share", "at least .9")]
    rows = [f"| dataset | {' | '.join(heads)} |", "| --- " * (1 + len(heads)) + "|"]
    for dataset, models in measured["attacks"].items():
        cells = []
        for count in counts:
            best = [max(attack[tpr] for attack in model[count].values()) for model in models.values()]
            rates = [model[count]["lira_bayes"][tpr] for model in models.values()]
            shares = [rate / most for rate, most in zip(rates, best, strict=True)]
            close = sum(share >= 0.9 for share in shares)
            cells += [f"{sum(shares) / len(shares):.2f}", f"{close} of {len(shares)}"]
        rows.append(f"| {dataset} | {' | '.join(cells)} |")
    return "\n".join(rows)


def sixteen_table() -> str:
    """Return the TPR of LiRA with 64 references and of the default attack with 16, on boosted trees."""
    measured = json.loads((ROOT / "benchmarks" / "attacks" / "sixteen.json").read_text("utf-8"))
    attacks = [f"`{measured[key]['attack']}`, {measured[key]['references']} references" for key in ("many", "few")]
    rows = [f"| model | {' | '.join(attacks)} | difference | standard error |", "| --- " * 5 + "|"]
    for name, row in measured["models"].items():
        both = f"{row['many']:.3f} | {row['few']:.3f}"
        rows.append(f"| {name} | {both} | {row['difference']:+.3f} | {row['its standard error']:.3f} |")
    return "\n".join(rows)


def waiting_table() -> str:
    """Return the time of commands that people wait for, next to ``guestlist --help``."""
    rows = ["| command | CPU seconds | CPU time / `--help` |", "| --- " * 3 + "|"]
    for name, row in _measured("waiting")["medians"].items():
        rows.append(f"| {name} | {row['CPU seconds']:.1f} | {row['CPU / --help']:.1f} |")
    return "\n".join(rows)


def few_references_table() -> str:
    """Return the TPR at 1 % FPR of the headline attack for each number of references, mean over the datasets.

    With one reference, class_mentr is listed too, as the best attack on forests.
    """
    measured = json.loads((ROOT / "benchmarks" / "attacks" / "strength.json").read_text("utf-8"))
    tpr = measured["columns"].index("tpr@0.01")
    headlines = [(0, "loss"), (1, "base"), (1, "class_mentr"), *((count, "lira_bayes") for count in (2, 4, 8, 32))]
    rows = ["| model | " + " | ".join(f"{n} ({name})" for n, name in headlines) + " |", "| --- " * 8 + "|"]
    datasets = measured["attacks"].values()
    for model in next(iter(datasets)):
        cells = []
        for count, name in headlines:
            rates = [dataset[model][str(max(count, 1))][name][tpr] for dataset in datasets]
            cells.append(f"{sum(rates) / len(rates):.1%}")
        rows.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(rows)


def minutes_table() -> str:
    """Return the share of the TPR with 128 references that some minutes reach, on each dataset."""
    measured = _measured("minutes")["datasets"]
    budgets = next(iter(measured.values()))["budgets"]
    heads = [f"{row['minutes']} min ({row['references']} {row['attack']})" for row in budgets]
    rows = [f"| dataset | {' | '.join(heads)} | TPR with 128 |", "| --- " * (len(heads) + 2) + "|"]
    for dataset, found in measured.items():
        cells = [f"{row['share']:.0%}" for row in found["budgets"]]
        rows.append(f"| {dataset} | {' | '.join(cells)} | {found['tpr@0.01 with 128 references']:.1%} |")
    return "\n".join(rows)


def without_references_table() -> str:
    """Return the TPR at 1 % FPR with evidence that needs no references next to few references, mean over the datasets."""
    measured = json.loads((ROOT / "benchmarks" / "minutes" / "few.json").read_text("utf-8"))["tpr@0.01"].values()
    columns = list(next(iter(next(iter(measured)).values())))
    rows = [f"| model | {' | '.join(columns)} |", "| --- " * (len(columns) + 1) + "|"]
    for model in next(iter(measured)):
        means = [sum(dataset[model][column] for dataset in measured) / len(measured) for column in columns]
        rows.append(f"| {model} | {' | '.join(f'{mean:.1%}' for mean in means)} |")
    return "\n".join(rows)


def check_table() -> str:
    """Return every check with a link to its section, and whether an issue can fail the gate."""
    rows = ["| code | issue | can fail the gate |", "| --- | --- | --- |"]
    pages = {page.name: page.read_text("utf-8") for page in sorted((ROOT / "docs").glob("checks_*.md"))}
    for code, row in CHECKS.items():
        heading = f"{code}: {row.title}"
        (page,) = (name for name, text in pages.items() if f"## {heading}\n" in text)
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        rows.append(f"| [{code}]({page}#{anchor}) | {row.title} | {'' if row.undermines is never else 'yes'} |")
    return "\n".join(rows)


def load_table() -> str:
    """Return the duration of an audit as records, references and classes grow."""
    rows = ["| records | references | classes | CPU seconds | of these, queries | peak memory |", "| --- " * 6 + "|"]
    measured = [row for part in _measured("load").values() if isinstance(part, list) for row in part]
    for row in measured:
        sizes = " | ".join(f"{row[name]:,}" for name in ("records", "references", "classes"))
        taken = f"{row['CPU seconds']:.0f} | {row['CPU seconds of queries']:.0f} | {row['peak memory, GiB']:.1f} GiB"
        rows.append(f"| {sizes} | {taken} |")
    return "\n".join(rows)


def private_table(part: str = "private") -> str:
    """Return the cost of private training relative to plain training."""
    found = _measured("training")
    named = {name.rpartition(" ")[2]: row for name, row in found.items() if name.startswith(f"{part},")}
    ways = list(next(iter(named.values())))
    rows = [f"| batches of | {' | '.join(ways)} |", "| --- " * (1 + len(ways)) + "|"]
    rows += [f"| {batch} | {' | '.join(f'{row[way]:.2f}' for way in ways)} |" for batch, row in named.items()]
    return "\n".join(rows)


def references_table() -> str:
    """Return the cost of many references relative to a plain loop."""
    found = _measured("training")
    named = {
        "446-256-128-30": "references",
        "64-64-10": "small references",
        "64-64-10, 10 epochs": "small references, long training",
    }
    ways = list(found["references"])
    rows = [f"| network | {' | '.join(ways)} | identical in any stack |", "| --- " * (2 + len(ways)) + "|"]
    for network, name in named.items():
        same = "yes" if found[f"{name}, identical in any stack"] else "no"
        rows.append(f"| {network} | {' | '.join(f'{found[name][way]:.2f}' for way in ways)} | {same} |")
    return "\n".join(rows)


def subsample_table() -> str:
    """Return the TPR at 1 % FPR with smaller references of the same total training time, mean over the datasets."""
    measured = json.loads((ROOT / "benchmarks" / "minutes" / "subsample.json").read_text("utf-8"))["datasets"].values()
    sizes = {1.0: "full", 0.5: "half", 0.25: "quarter"}
    columns = sorted(next(iter(next(iter(measured)).values())), key=lambda row: (row["cost"], -row["share"]))
    heads = [f"{row['references']} {sizes[row['share']]}" for row in columns]
    rows = [f"| model | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    for model in next(iter(measured)):
        cells = []
        for column in columns:
            same = [row for dataset in measured for row in dataset[model] if _same_references(row, column)]
            cells.append(f"{sum(row['tpr@0.01'] for row in same) / len(same):.1%}")
        rows.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _same_references(row: dict, other: dict) -> bool:
    return all(row[name] == other[name] for name in ("cost", "share"))


TABLES = {
    "attacks": attack_table,
    "defences": defence_table,
    "frameworks": framework_table,
    "evidence": evidence_table,
    "newcomer": newcomer_table,
    "collection": collection_table,
    "load": load_table,
    "fixed_headline": fixed_headline_table,
    "few_by_dataset": few_by_dataset_table,
    "sixteen": sixteen_table,
    "waiting": waiting_table,
    "few_references": few_references_table,
    "minutes": minutes_table,
    "without_references": without_references_table,
    "subsample": subsample_table,
    "checks": check_table,
    "private": private_table,
    "convolutions": partial(private_table, "convolutions"),
    "references": references_table,
    **{f"rates_{topic.replace(' ', '_').replace('ε', 'epsilon')}": partial(topic_table, topic) for topic in TOPICS},
    "rates_exceeded": exceeded_table,
    "power": power_table,
}
PAGES = (
    "docs/attacks.md",
    "docs/benchmarks.md",
    "docs/checks.md",
    "docs/defences.md",
    "docs/error_rates.md",
    "docs/expensive_models.md",
    "docs/models.md",
)


def updated(page: str) -> str:
    """Return the page with its tables generated again, between ``<!-- name: … -->`` and ``<!-- end -->``."""

    def made(match: re.Match) -> str:
        return f"{match[1]}\n{TABLES[match[2]]()}\n\n{match[3]}"

    return re.sub(r"(<!-- (\w+):[^\n]*-->\n).*?(<!-- end -->)", made, page, flags=re.DOTALL)


def _measured(name: str):
    return json.loads((ROOT / "benchmarks" / name / "results.json").read_text("utf-8"))


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    for name in PAGES:
        path = ROOT / name
        path.write_text(updated(path.read_text("utf-8")), "utf-8")
    CSV.write_text(all_rows(), "utf-8")
