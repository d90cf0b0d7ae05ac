"""Key figures of the attack that the answer rests on, what they mean in people, and whether it is the recipe."""

from __future__ import annotations

import math

from markupsafe import Markup

from guestlist.collecting.until import FEWEST_MOCKS
from guestlist.findings.attacks import AttackResult, Rate
from guestlist.findings.headline import FIXED, Headline, SameRecipe
from guestlist.findings.results import Results
from guestlist.privacy import allowed_tpr
from guestlist.report import words
from guestlist.report.format import count, decimal, ends, interval, per, percent
from guestlist.report.section import Section, filled
from guestlist.report.sections.epsilon import if_alike, promise

OTHER_RECIPE = (
    "But on records that neither trained on, this model answers otherwise than they do (GL118): the recipe may not be the one "
    "by which it was trained, so its place among them says nothing about luck."
)
OTHER_SIZE = (
    "But they were trained on another number of records than this model (GL105), which changes how much is remembered of each, "
    "so its place among them says nothing about luck."
)
MEASURES = {"auc": "AUC", "tpr@0.01": "TPR at 1 % FPR"}


def section(results: Results) -> Section | None:
    attack = words.headline(results)
    if attack is None:
        return None
    body = filled(
        "headline.html",
        rows=_rows(results, attack),
        said=" ".join(filter(None, (chosen(results), words.fit(results), unscored(results)))),
        recipe=recipe(results),
        allowed=_allowed(results, attack),
    )
    title = Markup("Key figures of the attack <bdi>{}</bdi>").format(attack.name)
    return Section("figures", "Key figures" if words.file_holder(results) else title, body)


def _rows(results: Results, attack: AttackResult) -> list[tuple[str, AttackResult, tuple[str, ...]]]:
    """For each headline row its title, its attack and what the figures mean; one row needs no title."""
    second = words.file_holder(results)
    if second is None:
        return [("", attack, meaning_of(attack))]
    both = ((words.QUERIER, attack), (words.FILE_HOLDER, second))
    return [(f"{title}: attack {one.name}", one, meaning_of(one)) for title, one in both]


def _allowed(results: Results, attack: AttackResult) -> dict[str | float, float | str | None]:
    """What a claimed epsilon allows of each figure, and when that holds; nothing where none is claimed."""
    found = results.epsilon
    if found is None or found.allowed is None:
        return {"advantage": None, "told": "", **{rate.fpr: None for rate in attack.rates}}
    claim = found.allowed
    most: dict[str | float, float | str | None] = {
        rate.fpr: float(allowed_tpr(claim, rate.fpr)) for rate in attack.rates
    }
    mark = f", and the thick one the most that {promise(found)} allows{if_alike(found)}"
    return {"advantage": found.advantage, "told": mark, **most}


def meaning(results: Results) -> tuple[str, ...]:
    """What the headline attack's figures mean in people, a sentence for each."""
    attack = words.headline(results)
    return () if attack is None else meaning_of(attack)


def meaning_of(attack: AttackResult) -> tuple[str, ...]:
    """The same of any attack."""
    pair = f"Shown one member and one non-member, {attack.name}"
    sentences = [] if math.isnan(attack.auc.value) else [f"{pair} {picks(attack)}."]
    for rate in attack.rates:
        if not math.isnan(rate.tpr.value):
            sentences.append(f"{in_people(rate)} {_of_called(rate)}".strip())
    return tuple(sentences)


def unscored(results: Results) -> str | None:
    """How many records the headline attack could not score, if any."""
    attack = words.headline(results)
    if attack is None or not attack.unscored:
        return None
    left_out = words.things(attack.unscored, "record")
    return f"{attack.name} gave no score to {left_out}, which its figures leave out."


def chosen(results: Results) -> str:
    """Which attack the answer rests on, and how it was selected; for each headline row."""
    found, second = results.headline, results.file_holder
    if found is None:
        return ""
    said = f"The answer rests on the attack {found.name}, {_how(found)}."
    if second is None:
        return said
    return f"{said} For someone who holds the model file it rests on {second.name}, {_how(second)}."


def _how(found: Headline) -> str:
    if found.measure == FIXED:
        return "fixed before the audit"
    measure = MEASURES.get(found.measure, found.measure)
    return f"chosen by its {measure} on the {found.mocks} references, each in turn as a mock target"


def recipe(results: Results) -> str | None:
    """Whether it is this model or the way it is trained, or how many it takes to say; None where there is no other model."""
    others = results.headline.same_recipe if results.headline else None
    if results.headline is None or others is None:
        return _too_few(results)
    models = count(len(others.aucs))
    larger = round(others.share_larger * len(others.aucs), 1)
    found = f"on {models} other models trained by the same recipe, {_tried(results.headline, others)} an AUC of"
    fresh = f"{decimal(others.auc.value)} on average ({interval(others.auc)} for a fresh model and fresh records)"
    more = f"{larger:g} of them give away more than this one."
    return f"Is it this model, or the recipe? {found[0].upper()}{found[1:]} {fresh}; {more} {_luck(results, others)}"


def _too_few(results: Results) -> str | None:
    references = results.references
    if results.headline is None or references is None or references.count >= FEWEST_MOCKS:
        return None
    few = words.things(references.count, "reference model")
    return (
        f"Is it this model, or the recipe? Whether it is lucky or unlucky among models of its recipe cannot be said with {few}: "
        f"it takes {count(FEWEST_MOCKS)} or more."
    )


def _luck(results: Results, others: SameRecipe) -> str:
    """Whether the model is lucky or unlucky among its kind, or why nobody can say."""
    attack = words.headline(results)
    for code, why in (("GL118", OTHER_RECIPE), ("GL105", OTHER_SIZE)):
        found = results.check(code)
        if found is not None and found.state == "issue":
            return why
    return "" if attack is None else standing(attack.auc.value, others)


def _tried(headline: Headline, others: SameRecipe) -> str:
    """Which attack was run on the other models."""
    if set(others.attacks) <= {headline.name}:
        return f"{headline.name} reaches"
    each = words.listed(sorted(set(others.attacks)))
    if len(set(others.attacks)) == 1:
        return f"{each}, chosen on other models than those it is reported on, reaches"
    return f"{each}, each chosen on one half of them and reported on the other, reach"


def picks(attack: AttackResult) -> str:
    """How often the attack is right about a pair."""
    people = per(attack.auc)
    low, high = (count(end) for end in ends(attack.auc, people))
    times = f"{count(round(attack.auc.value * people))} times in {count(people)}"
    return f"picks the member {times} (between {low} and {high}), where guessing picks {count(people / 2)}"


def in_people(rate: Rate) -> str:
    """How many of how many members are found."""
    people = per(rate.tpr, beside=rate.fpr)
    low, high = (count(end) for end in ends(rate.tpr, people))
    found = f"{count(round(rate.tpr.value * people))} of {count(people)} members (between {low} and {high})"
    return f"At {percent(rate.fpr)} false alarms it finds {found}, where guessing finds {rate.fpr * people:.4g}."


def _of_called(rate: Rate) -> str:
    if math.isnan(rate.ppv.value):
        return ""
    called = f"{percent(rate.ppv.value)} ({interval(rate.ppv, percent)}) of those it calls are members"
    return f"Where {percent(rate.prior)} of the people in question are members, {called}."


def standing(auc: float, others: SameRecipe) -> str:
    """Whether a model with such an AUC stands out among its kind."""
    usual = others.usual
    if usual is None or math.isnan(auc):
        return (
            "Whether this model is lucky or unlucky cannot be said: it takes three other models that differ, or more."
        )
    among = f"19 in 20 such models lie between {decimal(usual.low)} and {decimal(usual.high)} on these records"
    if auc > usual.high:
        return f"This model is unlucky: {among}, and it has {decimal(auc)}. Training it anew may do better."
    if auc < usual.low:
        return f"This model is lucky: {among}, and it has {decimal(auc)}. Training it anew may do worse."
    return f"This model does not stand out among its kind: {among}, and it has {decimal(auc)}."
