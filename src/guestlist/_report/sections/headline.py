"""Key metrics of the headline attack, their meaning in people, and whether the model is typical of its recipe."""

import math
from collections.abc import Sequence

from guestlist._collect import MIN_STAND_INS
from guestlist._findings import FIXED, AttackResult, Headline, Results, SameRecipe
from guestlist._report import (
    Axis,
    Chart,
    Section,
    Series,
    exchangeability_clause,
    file_holder_sentences,
    fill_template,
    person_claim_text,
    roc_chart,
    verdict_sentences,
    wording,
)
from guestlist._util import count, decimal, interval
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
ABOUT_HALF = 0.05  # the text says "halves" for inclusion rates this close to 0.5
TYPICAL = "Is this model typical of its training procedure?"
MEASURES = {"auc": "AUC", "tpr@0.01": "TPR at 1 % FPR"}


def section(results: Results) -> Section | None:
    """Render the key metrics and ROC curves; None without a headline attack."""
    attack = wording.headline_attack(results)
    if attack is None:
        return None
    second = wording.file_holder_attack(results)
    rows = [("", attack)]
    details = verdict_sentences(results)[2:]
    if second is not None:
        rows = [(wording.QUERIER, attack), (wording.FILE_HOLDER, second)]
        details += file_holder_sentences(results, second)[2:]
    charts = {"roc-log": roc_chart(results, attack, log=True), "roc-linear": roc_chart(results, attack, log=False)}
    body = fill_template(
        "headline.html",
        rows=rows,
        headline=attack,
        selection=wording.paragraph(selection_sentence(results), unscored_sentence(results)),
        details=details,
        allowed=_allowed(results, attack),
        charts=charts,
    )
    return Section("figures", "How many records can be identified?", body, charts)


def typical_section(results: Results) -> Section | None:
    """Render this model among models trained the same way; None without reference models."""
    sentence = typical_sentence(results)
    if sentence is None:
        return None
    charts = _typical_chart(results)
    label = f"AUC of this model and of models trained the same way. {sentence}"
    body = fill_template("typical.html", sentence=sentence, charts=charts, label=label)
    return Section("typical", TYPICAL, body, charts)


def _typical_chart(results: Results) -> dict[str, Chart]:
    """Draw a strip of the AUCs of models trained the same way, this model, guessing and the detection limit."""
    attack = wording.headline_attack(results)
    headline = results.headline
    if attack is None or headline is None or headline.same_recipe is None or math.isnan(attack.auc.value):
        return {}
    aucs = sorted(headline.same_recipe.aucs)
    marks = [
        Series("models trained the same way", tuple(aucs), _stacked(aucs), "other", mark="circle"),
        Series("this model", (attack.auc.value,), (0.5,), "member", mark="diamond"),
        _vertical("guessing", 0.5, "dot"),
    ]
    if attack.detectable_auc < 1:
        marks.append(_vertical("smallest AUC detected with 80% power", attack.detectable_auc, "dash"))
    values = [*aucs, attack.auc.value, 0.5, min(attack.detectable_auc, 1.0)]
    ends = (math.floor(20 * min(values)) / 20, math.ceil(20 * max(values)) / 20)
    axis = Axis("", (0.0, 1.0), ticks=(-1.0,))  # a height without meaning has no ticks
    return {"same-recipe": Chart(Axis("AUC", ends), axis, tuple(marks), full_width=True, height=150)}


def _stacked(values: Sequence[float]) -> tuple[float, ...]:
    """Return three heights in turn, so that marks of close values do not hide each other."""
    return tuple(0.2 + 0.15 * (i % 3) for i in range(len(values)))


def _vertical(name: str, x: float, dash: str) -> Series:
    return Series(name, (x, x), (0.0, 1.0), "ink", line=1.2, dash=dash)


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


def unscored_sentence(results: Results) -> str | None:
    """Report the number of records without a score; None where all have one."""
    attack = wording.headline_attack(results)
    if attack is None or not attack.unscored:
        return None
    records = wording.counted(attack.unscored, "record")
    return f"{attack.name} gave no score to {records}, which its metrics exclude."


def selection_sentence(results: Results) -> str:
    """Name the attack that the answer rests on, and how it was selected; for each headline row."""
    headline = results.headline
    second = results.file_holder
    if headline is None:
        return ""
    sentence = f"Headline attack: {headline.name}, {_selection(headline)}."
    if second is None:
        return sentence
    return f"{sentence} For someone who holds the model file: {second.name}, {_selection(second)}."


def _selection(headline: Headline) -> str:
    if headline.measure == FIXED:
        return "fixed before the audit"
    measure = MEASURES.get(headline.measure, headline.measure)
    return f"selected by {measure} on the {headline.stand_ins} reference models, not on this model"


def typical_sentence(results: Results) -> str | None:
    """Report whether this model is typical of its training procedure; None without reference models."""
    others = results.headline.same_recipe if results.headline else None
    if results.headline is None or others is None:
        return _too_few_references(results)
    larger = round(others.share_larger * len(others.aucs))
    models = wording.counted(len(others.aucs), "such model")
    return wording.paragraph(
        _typical(results, others),
        f"{larger} of {models} leak more; their mean AUC is {decimal(others.auc.value)} ({interval(others.auc)}).",
        _attack_on_others(results.headline, others),
    )


def _too_few_references(results: Results) -> str | None:
    references = results.references
    if results.headline is None or references is None or references.count >= MIN_STAND_INS:
        return None
    few = wording.counted(references.count, "reference model")
    return f"This audit has {few}; the comparison needs {count(MIN_STAND_INS)} or more."


def same_recipe_models(results: Results) -> str:
    """Name the models that this one is compared with: trained the same way, on other members."""
    rate = 0.5 if results.references is None else results.references.rate
    parts = "halves" if abs(rate - 0.5) < ABOUT_HALF else "random parts"
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
    """Name the attacks that were run on the other models; empty for the headline attack."""
    if set(others.attacks) <= {headline.name}:
        return ""
    names = wording.and_joined(sorted(set(others.attacks)))
    return f"The attack on each of them, {names}, was selected on models of the other half."


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
