"""Key metrics of the headline attack, their meaning in people, and whether the model is typical of its recipe."""

import math

from markupsafe import Markup

from guestlist._collect import MIN_STAND_INS
from guestlist._findings.attacks import AttackResult, Rate
from guestlist._findings.headline import FIXED, Headline, SameRecipe
from guestlist._findings.results import Results
from guestlist._report import wording
from guestlist._report.sections.epsilon import exchangeability_clause, person_claim_text
from guestlist._report.templates import Section, fill_template
from guestlist._util import count, decimal, interval, interval_in_people, people_base, percent
from guestlist.privacy import allowed_tpr

OTHER_RECIPE = (
    "But on records that neither trained on, this model's outputs differ from theirs (GL118). It may have been trained "
    "differently, so this comparison does not show whether it is typical."
)
OTHER_SIZE = (
    "But they were trained on a different number of records (GL105), which changes how much a model memorises. This comparison "
    "does not show whether this model is typical."
)
OTHER_TRAINING_SET = (
    "But these records may not be the training set of this model (GL129), so this comparison does not show whether it is "
    "typical."
)
ABOUT_HALF = 0.05  # inclusion rates this close to 0.5 are called halves
TYPICAL = "Is this model typical of its training procedure?"
MEASURES = {"auc": "AUC", "tpr@0.01": "TPR at 1 % FPR"}


def section(results: Results) -> Section | None:
    """Render the key metrics; None without a headline attack."""
    attack = wording.headline_attack(results)
    if attack is None:
        return None
    body = fill_template(
        "headline.html",
        rows=_rows(results, attack),
        selection=wording.paragraph(
            selection_sentence(results), wording.fit_sentence(results), unscored_sentence(results)
        ),
        recipe=typical_sentence(results),
        allowed=_allowed(results, attack),
    )
    title = Markup("Key figures of the attack <bdi>{}</bdi>").format(attack.name)
    return Section("figures", "Key figures" if wording.file_holder_attack(results) else title, body)


def _rows(results: Results, attack: AttackResult) -> list[tuple[str, AttackResult, tuple[str, ...]]]:
    """Return title, attack and meanings for each headline row; a single row has no title."""
    second = wording.file_holder_attack(results)
    if second is None:
        return [("", attack, metric_meanings(attack))]
    rows = ((wording.QUERIER, attack), (wording.FILE_HOLDER, second))
    return [
        (f"{title}: attack {row_attack.name}", row_attack, metric_meanings(row_attack)) for title, row_attack in rows
    ]


def _allowed(results: Results, attack: AttackResult) -> dict[str | float, float | str | None]:
    """Return the largest metrics that a claimed epsilon allows, and the text that explains the mark."""
    epsilon = results.epsilon
    if epsilon is None or epsilon.allowed is None:
        return {"advantage": None, "clause": "", **{rate.fpr: None for rate in attack.rates}}
    claim = epsilon.allowed
    limits: dict[str | float, float | str | None] = {
        rate.fpr: float(allowed_tpr(claim, rate.fpr)) for rate in attack.rates
    }
    mark = f", and the thick one the most that {person_claim_text(epsilon)} allows{exchangeability_clause(epsilon)}"
    return {"advantage": epsilon.advantage, "clause": mark, **limits}


def metric_meanings(attack: AttackResult) -> tuple[str, ...]:
    """Return the meaning of an attack's metrics in people, a sentence for each."""
    pair = f"Given one training record and one other record, {attack.name}"
    sentences = []
    if not math.isnan(attack.auc.value):
        sentences.append(f"{pair} {pair_result(attack)}.")
    for rate in attack.rates:
        if not math.isnan(rate.tpr.value):
            sentences.append(f"{tpr_sentence(rate)} {_ppv_sentence(rate)}".strip())
    return tuple(sentences)


def unscored_sentence(results: Results) -> str | None:
    """Report the number of records without a score; None where all have one."""
    attack = wording.headline_attack(results)
    if attack is None or not attack.unscored:
        return None
    records = wording.counted(attack.unscored, "record")
    return f"{attack.name} gave no score to {records}, which its figures leave out."


def selection_sentence(results: Results) -> str:
    """Name the attack that the answer rests on, and how it was selected; for each headline row."""
    headline = results.headline
    second = results.file_holder
    if headline is None:
        return ""
    sentence = f"The answer rests on the attack {headline.name}, {_selection(headline)}."
    if second is None:
        return sentence
    return f"{sentence} For someone who holds the model file it rests on {second.name}, {_selection(second)}."


def _selection(headline: Headline) -> str:
    if headline.measure == FIXED:
        return "fixed before the audit"
    measure = MEASURES.get(headline.measure, headline.measure)
    return f"chosen by its {measure} on the {headline.stand_ins} references, each in turn as a stand-in target"


def typical_sentence(results: Results) -> str | None:
    """Report whether this model is typical of its training procedure; None without reference models."""
    others = None
    if results.headline:
        others = results.headline.same_recipe
    if results.headline is None or others is None:
        return _too_few_references(results)
    larger = round(others.share_larger * len(others.aucs), 1)
    models = f"{count(len(others.aucs))} {same_recipe_models(results)}"
    mean = f"{decimal(others.auc.value)} ({interval(others.auc)} for a new model and new records)"
    return wording.paragraph(
        f"{TYPICAL} On {models}, {_attack_on_others(results.headline, others)} a mean AUC of {mean}.",
        f"{larger:g} of them leak more than this model.",
        _typical(results, others),
    )


def _too_few_references(results: Results) -> str | None:
    references = results.references
    if results.headline is None or references is None or references.count >= MIN_STAND_INS:
        return None
    few = wording.counted(references.count, "reference model")
    return f"{TYPICAL} This audit has {few}; the comparison needs {count(MIN_STAND_INS)} or more."


def same_recipe_models(results: Results) -> str:
    """Name the models that this one is compared with: trained the same way, on other members."""
    rate = 0.5
    if results.references is not None:
        rate = results.references.rate
    parts = "random parts"
    if abs(rate - 0.5) < ABOUT_HALF:
        parts = "halves"
    return f"models trained the same way on other {parts} of these records"


def _typical(results: Results, others: SameRecipe) -> str:
    """Report whether the model leaks more or less than others of its recipe, or why that is unknown."""
    attack = wording.headline_attack(results)
    for code, why in (("GL129", OTHER_TRAINING_SET), ("GL118", OTHER_RECIPE), ("GL105", OTHER_SIZE)):
        check = results.check(code)
        if check is not None and check.state == "issue":
            return why
    if attack is None:
        return ""
    return compare_with_recipe(attack.auc.value, others, same_recipe_models(results))


def _attack_on_others(headline: Headline, others: SameRecipe) -> str:
    """Name the attack that was run on the other models."""
    if set(others.attacks) <= {headline.name}:
        return f"{headline.name} reaches"
    each = wording.and_joined(sorted(set(others.attacks)))
    if len(set(others.attacks)) == 1:
        return f"{each}, chosen on other models than those it is reported on, reaches"
    return f"{each}, each chosen on one half of them and reported on the other, reach"


def pair_result(attack: AttackResult) -> str:
    """Report how often the attack picks the member of a pair."""
    people = people_base(attack.auc)
    low, high = (count(end) for end in interval_in_people(attack.auc, people))
    times = f"{count(round(attack.auc.value * people))} times in {count(people)}"
    return f"picks the training record {times} (95% CI {low} to {high}; guessing: {count(people / 2)})"


def tpr_sentence(rate: Rate) -> str:
    """Report the number of identified members at an FPR."""
    people = people_base(rate.tpr, guess=rate.fpr)
    low, high = (count(end) for end in interval_in_people(rate.tpr, people))
    identified = f"{count(round(rate.tpr.value * people))} in {count(people)} training records (95% CI {low} to {high})"
    guessing = f"{rate.fpr * people:.4g}"
    return (
        f"At a false positive rate of {percent(rate.fpr)} it identifies {identified}; guessing identifies {guessing}."
    )


def _ppv_sentence(rate: Rate) -> str:
    if math.isnan(rate.ppv.value):
        return ""
    flagged = f"{percent(rate.ppv.value)} (95% CI {interval(rate.ppv, percent)}) of the records it flags are members"
    return (
        f"If {percent(rate.prior)} of the records an attacker tests are members, {flagged} (positive predictive value)."
    )


def compare_with_recipe(auc: float, others: SameRecipe, models: str) -> str:
    """Compare a model's AUC with the prediction interval of ``models``, which the sentence names."""
    prediction = others.prediction_interval
    if prediction is None or math.isnan(auc):
        return (
            "Whether this model leaks more or less than expected cannot be computed: it takes three reference models or more, "
            "with different AUCs."
        )
    expected = f"the 95% prediction interval ({decimal(prediction.low)} to {decimal(prediction.high)}) for {models}"
    if auc > prediction.high:
        return (
            f"This model leaks more than expected: AUC {decimal(auc)}, above {expected}. A model trained on other members would "
            "probably leak less."
        )
    if auc < prediction.low:
        return (
            f"This model leaks less than expected: AUC {decimal(auc)}, below {expected}. A model trained on other members would "
            "probably leak more."
        )
    return f"This model leaks about as much as expected: AUC {decimal(auc)}, within {expected}."
