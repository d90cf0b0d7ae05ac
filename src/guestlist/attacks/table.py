"""Table of attacks, read by the command line, the docs, the tests and the report."""

from collections.abc import Callable
from functools import partial
from typing import Any

from guestlist.attacks import classifiers, hypothesis_tests, likelihood, lira_bayes, metrics, model_specific
from guestlist.attacks.attack import Attack

YEOM = "Yeom et al. 2018"
HUMPHRIES = "Yeom et al. 2018; Humphries et al. 2023"
SALEM = "Salem et al. 2019"
SONG = "Song & Mittal 2021"
YE = "Ye et al. 2022"
WATSON = "Watson et al. 2022"
RMIA = "Zarifzadeh et al. 2024"
CARLINI = "Carlini et al. 2022"
BAYES = "Carlini et al. 2022; Smyth 2004"


def _fitted(signal: str) -> Callable[[Any], float]:
    """Return a threshold that is fitted on the references."""
    return partial(metrics.single_threshold, name=signal)


def _with_models(evidence: str, test: Callable) -> Callable:
    """Return a test that compares with the models of some evidence instead of the references."""
    return partial(hypothesis_tests.with_other_models, test=test, evidence=evidence)


ATTACKS: dict[str, Attack] = {
    # These read only the target's outputs.
    "loss": Attack(
        score=metrics.loss,
        summary="small loss of the target (P)",
        paper="Yeom et al. 2018; Ye et al. 2022",
        needs=("loss",),
        threshold=_fitted("loss"),
        p_value=hypothesis_tests.population_p_value,
        rotates=True,
    ),
    "correctness": Attack(
        score=metrics.correctness,
        summary="the target is right",
        paper=YEOM,
        needs=("correct",),
        threshold=1.0,
        rotates=True,
    ),
    "confidence": Attack(
        score=metrics.confidence,
        summary="large probability of the true class",
        paper=SONG,
        needs=("p_y",),
        threshold=_fitted("p_y"),
        rotates=True,
    ),
    "entropy": Attack(
        score=metrics.entropy,
        summary="small entropy of the answer",
        paper=SALEM,
        needs=("entropy",),
        threshold=_fitted("entropy"),
        rotates=True,
    ),
    "mentr": Attack(
        score=metrics.mentr,
        summary="small modified entropy",
        paper=SONG,
        needs=("mentr",),
        threshold=_fitted("mentr"),
        rotates=True,
    ),
    "average_threshold": Attack(
        score=metrics.loss,
        summary=(
            "loss below the references' average training loss (in guestlist game the target's own, or the shadows' by "
            "--average-of); ranks as 'loss' does"
        ),
        paper=HUMPHRIES,
        needs=("loss",),
        references=1,
        threshold=metrics.average_threshold,
        default=False,
        rotates=True,
    ),
    "optimal_threshold": Attack(
        score=metrics.loss,
        summary="loss below the best threshold for the truth, an upper bound; ranks as 'loss' does",
        paper=HUMPHRIES,
        needs=("loss",),
        default=False,
        rotates=True,
        oracle=True,
    ),
    # These use thresholds and ranks per class, estimated from references.
    "class_confidence": Attack(
        score=partial(metrics.beyond_threshold, name="p_y"),
        summary="confidence beyond a threshold per class",
        paper=SONG,
        needs=("p_y",),
        references=1,
        threshold=0.0,
        rotates=True,
    ),
    "class_entropy": Attack(
        score=partial(metrics.beyond_threshold, name="entropy"),
        summary="entropy below a threshold per class",
        paper=SONG,
        needs=("entropy",),
        references=1,
        threshold=0.0,
        rotates=True,
    ),
    "class_mentr": Attack(
        score=partial(metrics.beyond_threshold, name="mentr"),
        summary="modified entropy below a threshold per class",
        paper=SONG,
        needs=("mentr",),
        references=1,
        threshold=0.0,
        rotates=True,
    ),
    "shadow": Attack(
        score=hypothesis_tests.shadow,
        summary="rank of the loss among references' non-members of the class (S)",
        paper=YE,
        needs=("loss",),
        references=1,
        p_value=hypothesis_tests.shadow_p_value,
        rotates=True,
    ),
    # These compare with the outputs of other models on the same record.
    "reference": Attack(
        score=hypothesis_tests.reference,
        summary="tail of the OUT references on the same record (R)",
        paper=YE,
        needs=("margin",),
        references=4,
        p_value=hypothesis_tests.reference_p_value,
        compares="out",
        rotates=True,
    ),
    "reference_empirical": Attack(
        score=hypothesis_tests.reference_empirical,
        summary="share of OUT references with a larger loss (R)",
        paper=YE,
        needs=("loss",),
        references=1,
        p_value=hypothesis_tests.reference_empirical_p_value,
        compares="out",
        default=False,
        rotates=True,
    ),
    "distillation": Attack(
        score=_with_models("distilled", hypothesis_tests.reference),
        summary="tail of models distilled from the target (D)",
        paper=YE,
        needs=("margin",),
        p_value=_with_models("distilled", hypothesis_tests.reference_p_value),
        evidence="distilled",
    ),
    "distillation_empirical": Attack(
        score=_with_models("distilled", hypothesis_tests.reference_empirical),
        summary="share of distilled models with a larger loss (D)",
        paper=YE,
        needs=("loss",),
        p_value=_with_models("distilled", hypothesis_tests.reference_empirical_p_value),
        default=False,
        evidence="distilled",
    ),
    "leave_one_out": Attack(
        score=_with_models("left_out", hypothesis_tests.reference),
        summary="tail of models trained without the record (L)",
        paper=YE,
        needs=("margin",),
        p_value=_with_models("left_out", hypothesis_tests.reference_p_value),
        evidence="left_out",
    ),
    "leave_one_out_empirical": Attack(
        score=_with_models("left_out", hypothesis_tests.reference_empirical),
        summary="share of such models with a larger loss (L)",
        paper=YE,
        needs=("loss",),
        p_value=_with_models("left_out", hypothesis_tests.reference_empirical_p_value),
        default=False,
        evidence="left_out",
    ),
    "difficulty": Attack(
        score=hypothesis_tests.difficulty,
        summary="margin minus the mean of IN and OUT references",
        paper=WATSON,
        needs=("margin",),
        references=2,
        compares="both",
        rotates=True,
    ),
    "difficulty_offline": Attack(
        score=hypothesis_tests.difficulty_offline,
        summary="margin minus the mean of OUT references",
        paper=WATSON,
        needs=("margin",),
        references=1,
        compares="out",
        default=False,
        rotates=True,
    ),
    "rmia": Attack(
        score=likelihood.rmia,
        summary="probability over the mean of IN and OUT references",
        paper=RMIA,
        needs=("loss", "p_y"),
        references=2,
        compares="both",
        rotates=True,
    ),
    "rmia_offline": Attack(
        score=likelihood.rmia_offline,
        summary="probability over a mean guessed from OUT references",
        paper=RMIA,
        needs=("loss", "p_y"),
        references=2,
        compares="out",
        rotates=True,
    ),
    "base": Attack(
        score=likelihood.base,
        summary="probability over the mean of all references",
        paper="Lassila et al. 2025",
        needs=("loss", "p_y"),
        references=1,
        compares="any",
        rotates=True,
    ),
    # Likelihood ratios, and what takes their place without IN references.
    "lira": Attack(
        score=likelihood.lira,
        summary="likelihood ratio of IN and OUT references",
        paper=CARLINI,
        needs=("margin",),
        references=4,
        compares="both",
        rotates=True,
    ),
    "lira_pooled": Attack(
        score=partial(likelihood.lira, variance="pooled"),
        summary="LiRA with one variance, pooled within records",
        paper=CARLINI,
        needs=("margin",),
        references=4,
        compares="both",
        default=False,
        rotates=True,
    ),
    "lira_record": Attack(
        score=partial(likelihood.lira, variance="record"),
        summary="LiRA with a variance per record",
        paper=CARLINI,
        needs=("margin",),
        references=4,
        compares="both",
        default=False,
        rotates=True,
    ),
    "lira_offline": Attack(
        score=likelihood.lira_offline,
        summary="tail of the OUT references alone",
        paper=CARLINI,
        needs=("margin",),
        references=4,
        compares="out",
        rotates=True,
    ),
    "lira_offline_pooled": Attack(
        score=partial(likelihood.lira_offline, variance="pooled"),
        summary="LiRA offline with one variance",
        paper=CARLINI,
        needs=("margin",),
        references=4,
        compares="out",
        default=False,
        rotates=True,
    ),
    "lira_offline_record": Attack(
        score=partial(likelihood.lira_offline, variance="record"),
        summary="LiRA offline with a variance per record",
        paper=CARLINI,
        needs=("margin",),
        references=4,
        compares="out",
        default=False,
        rotates=True,
    ),
    "lira_bayes": Attack(
        score=lira_bayes.lira_bayes,
        summary="likelihood ratio with priors fitted to all records",
        paper=BAYES,
        needs=("margin",),
        references=2,
        compares="any",
        rotates=True,
    ),
    "lira_bayes_offline": Attack(
        score=lira_bayes.lira_bayes_offline,
        summary="tail of the OUT references with such variances",
        paper=BAYES,
        needs=("margin",),
        references=4,
        compares="out",
        rotates=True,
    ),
    # More than signals.
    "label_only": Attack(
        score=metrics.label_only,
        summary="how firmly the label is right under perturbations",
        paper="Choquette-Choo et al. 2021",
        needs=("correct",),
        evidence="perturbed",
    ),
    "quantile": Attack(
        score=metrics.quantile,
        summary="hinge beyond a quantile regressed on known non-members",
        paper="Bertran et al. 2023",
        needs=("margin",),
        p_value=metrics.quantile_p_value,
        evidence="quantiles",
    ),
    "knn_likelihood_ratio": Attack(
        score=model_specific.knn_likelihood_ratio_attack,
        summary="exact likelihood ratio of a K-NN target",
        paper="guestlist",
        needs=("p_y",),
        evidence="neighbours",
        stand_in_evidence=True,
    ),
    "t_waka": Attack(
        score=model_specific.t_waka_attack,
        summary="target-WaKA of a K-NN target",
        paper="Mesana et al. 2024",
        needs=("p_y",),
        evidence="neighbours",
        stand_in_evidence=True,
    ),
    "leaf_shares": Attack(
        score=model_specific.leaf_shares,
        summary="training counts that trees keep in their leaves",
        paper="guestlist",
        evidence="leaves",
    ),
    # Classifiers return log-odds of membership. They read probabilities of all classes, which regressions do not have.
    "nn_shokri": Attack(
        score=classifiers.nn_shokri,
        summary="a network per class learnt from references' answers",
        paper="Shokri et al. 2017",
        needs=("p_y",),
        references=1,
        threshold=0.0,
        evidence="full_answers",
        learns=True,
    ),
    "nn_nasr": Attack(
        score=classifiers.nn_nasr,
        summary="one network learnt from references' answers and labels",
        paper="Nasr et al. 2018",
        needs=("p_y",),
        references=1,
        threshold=0.0,
        evidence="full_answers",
        learns=True,
    ),
    "white_box": Attack(
        score=model_specific.white_box,
        summary="a forest learnt from gradients and activations",
        paper="Nasr et al. 2019",
        threshold=0.0,
        evidence="white_box",
        learns=True,
    ),
}
