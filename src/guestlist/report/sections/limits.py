"""What could and what could not have been seen with this many records."""

from __future__ import annotations

import math

from guestlist.evaluate import records_needed
from guestlist.findings.attacks import AttackResult, Rate
from guestlist.findings.results import Results
from guestlist.findings.sampling import Sampling
from guestlist.findings.subject import Subject
from guestlist.report import words
from guestlist.report.format import count, decimal, percent
from guestlist.report.section import Section, filled


def section(results: Results) -> Section | None:
    said = limits(results)
    if not said:
        return None
    return Section("limits", "What could have been seen, and what could not", filled("limits.html", said=said))


def limits(results: Results) -> tuple[str, ...]:
    """What could and what could not have been seen, a sentence for each."""
    attack, who = words.headline(results), results.subject
    if attack is None or who is None:
        return ()
    resolved = tuple(rate for rate in attack.rates if rate.resolution != "withheld")
    why = (_resolution(rate, who) for rate in attack.rates)
    sentences = (_detectable_auc(attack, who), _detectable_rates(resolved), *why, *sampled(results.sampling))
    return tuple(sentence for sentence in sentences if sentence)


def sampled(found: Sampling | None) -> tuple[str, ...]:
    """What was done on part of the records."""
    said = []
    if found is not None and found.tried_on is not None:
        said.append(
            f"Of {count(found.records)} records a random sample of {count(found.tried_on)} decided which attack is the headline "
            "and how other models of the recipe do. The attacks on this model itself are judged on all records."
        )
    if found is not None and found.shifted:
        said.append(
            "With so many records, chance was judged by shifting the sides along them in a random order, not by dealing them out "
            "anew; the p-values keep their promise all the same."
        )
    if found is not None and found.classes_learnt_on is not None:
        said.append(
            "What is common to many records, such as the threshold that tells the members of a class best, was learnt from what "
            f"references say about {count(found.classes_learnt_on)} of them or fewer, drawn at random."
        )
    if found is not None and found.mu_learnt_on is not None:
        said.append(
            f"How mu is spread over records was learnt from a random sample of {count(found.mu_learnt_on)} of them."
        )
    if found is not None and found.single_precision:
        said.append("What models say about so many records was kept in single precision: about seven digits.")
    return tuple(said)


def _detectable_auc(attack: AttackResult, who: Subject) -> str:
    sizes = f"With {words.sizes(who)}"
    if math.isnan(attack.detectable_auc) or attack.detectable_auc >= 1:
        return f"{sizes}, no AUC could have been told from guessing reliably."
    return (
        f"{sizes}, the smallest detectable AUC is {decimal(attack.detectable_auc)}: four in five audits of "
        "this size would find a leak that large, and fewer a smaller one."
    )


def _detectable_rates(rates: tuple[Rate, ...]) -> str:
    seen = [f"{percent(rate.detectable)} at {percent(rate.fpr)}" for rate in rates if not math.isnan(rate.detectable)]
    blind = [percent(rate.fpr) for rate in rates if math.isnan(rate.detectable)]
    parts = []
    if seen:
        parts.append(f"The smallest detectable share of members found is {words.listed(seen)} false alarms.")
    if blind:
        every = "even an attack that finds every member could not have been told from guessing"
        parts.append(f"At {words.listed(blind)} false alarms {every}.")
    return " ".join(parts)


def _resolution(rate: Rate, who: Subject) -> str:
    """Why a rate is withheld or weak, and what would help; nothing where it is well resolved."""
    if rate.resolution == "good":
        return ""
    at, whom, outside = f"{percent(rate.fpr)} false alarms", "non-members", who.nonmembers
    if who.nonmember_persons is not None:  # a false alarm about one record of a person is often one about all of them
        whom, outside = "non-member persons", who.nonmember_persons
    among = words.things(outside, whom.removesuffix("s"))
    takes = f"It takes {count(records_needed(rate.fpr))} {whom} to resolve that rate"
    if rate.resolution == "withheld":
        return f"At {at} nothing is shown: fewer than one is expected among {among}. {takes}."
    expected = rate.fpr * outside
    return f"The figure at {at} is weak: only about {expected:.2g} are expected among {among}. {takes} well."
