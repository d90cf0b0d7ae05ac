"""Key metrics of the headline attack, their meaning in people, and whether the model is typical of its recipe."""

import math

from guestlist._collect import MIN_STAND_INS
from guestlist._findings import Results
from guestlist._report import (
    Axis,
    Chart,
    Section,
    Series,
    file_holder_sentences,
    fill_section,
    prose,
    roc_chart,
    verdict_sentences,
    wording,
)
from guestlist.privacy import allowed_tpr


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
    return fill_section(
        "figures",
        "How many records can be identified?",
        "headline.html",
        charts={"roc-log": roc_chart(results, attack, log=True), "roc-linear": roc_chart(results, attack, log=False)},
        rows=rows,
        headline=attack,
        selection=f"{prose('headline.selection', results)} {prose('headline.unscored', results)}".rstrip(),
        details=details,
        epsilon=results.epsilon,
        allowed_tpr=allowed_tpr,
        thick_mark=prose("headline.thick_mark", results.epsilon),
    )


def typical_section(results: Results) -> Section | None:
    """Render this model among models trained the same way; None without reference models."""
    sentence = typical_sentence(results)
    if not sentence:
        return None
    return fill_section(
        "typical",
        "Is this model typical of its training procedure?",
        "typical.html",
        charts=_typical_chart(results),
        sentence=sentence,
    )


def typical_sentence(results: Results) -> str:
    """Report whether this model is typical of its training procedure; empty without reference models."""
    return prose("headline.typical", results, MIN_STAND_INS)


def _typical_chart(results: Results) -> dict[str, Chart]:
    """Draw a strip of the AUCs of models trained the same way, this model, guessing and the detection limit."""
    attack = wording.headline_attack(results)
    headline = results.headline
    if attack is None or headline is None or headline.same_recipe is None or math.isnan(attack.auc.value):
        return {}
    aucs = sorted(headline.same_recipe.aucs)
    # Three heights in turn, so that marks of close values do not hide each other.
    heights = tuple(0.2 + 0.15 * (i % 3) for i in range(len(aucs)))
    marks = [
        Series("models trained the same way", tuple(aucs), heights, "other", mark="circle"),
        Series("this model", (attack.auc.value,), (0.5,), "member", mark="diamond"),
        Series("guessing", (0.5, 0.5), (0.0, 1.0), "ink", line=1.2, dash="dot"),
    ]
    if attack.detectable_auc < 1:
        marks.append(
            Series(
                "smallest AUC detected with 80% power",
                (attack.detectable_auc,) * 2,
                (0.0, 1.0),
                "ink",
                line=1.2,
                dash="dash",
            )
        )
    values = [*aucs, attack.auc.value, 0.5, min(attack.detectable_auc, 1.0)]
    ends = (math.floor(20 * min(values)) / 20, math.ceil(20 * max(values)) / 20)
    axis = Axis("", (0.0, 1.0), ticks=(-1.0,))  # a height without meaning has no ticks
    return {"same-recipe": Chart(Axis("AUC", ends), axis, tuple(marks), full_width=True, height=150)}
