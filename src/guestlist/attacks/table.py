"""Facts about attacks: the command line, the docs, the tests and the report read this table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from guestlist.attacks import (
    bayes,
    classifiers,
    hypotheses,
    knn,
    label_only,
    likelihood,
    metrics,
    quantile,
    ratios,
    trees,
    white_box,
)
from guestlist.attacks import reference as per_record
from guestlist.collecting.evidence.missing import missing_evidence
from guestlist.errors import InputError, NotCollectedError
from guestlist.selfcheck.worlds import gaussian_world
from guestlist.views.signals import Signals


@dataclass(frozen=True)
class Attack:
    """One way to guess membership.

    Args:
        score: signals to (records,) scores that rise with membership.
        needs: the signals it reads.
        references: the fewest reference models it can do with.
        summary, paper: for people.
        threshold: signals to the threshold at which it calls a record a member (``score >= threshold``), if the
            attack has one of its own.
        compares: the references without which a record has no score (NaN): "nothing" (none needed), "any", "out" (at
            least one that did not train on it), or "both" (one that did and one that did not).
        default: whether an audit runs it unless told otherwise; variants are run by name.
        rotates: whether ``score`` also takes a ``Rotation`` and scores every model as target at once.
        evidence: the part of ``Evidence`` that it looks at, if any.
        p_value: signals to (records,) chances that a non-member scores as high, if the attack is a test of its own: at
            every level alpha it calls the records with a p-value of at most alpha.
        learns: whether it fits a classifier when it scores, so that it takes seconds.
        oracle: whether its threshold is the best for the truth, which no attacker knows: an upper bound.
    """

    score: Callable[[Signals], np.ndarray]
    needs: tuple[str, ...]
    references: int
    summary: str
    paper: str
    threshold: Callable[[Signals], float] | None = None
    compares: Literal["nothing", "any", "out", "both"] = "nothing"
    default: bool = True
    rotates: bool = False
    evidence: str = ""
    p_value: Callable[[Signals], np.ndarray] | None = None
    learns: bool = False
    oracle: bool = False

    @property
    def on_mocks(self) -> bool:
        """Whether it can be tried on mock targets: about those nothing but signals is collected."""
        return self.evidence in ("", "neighbourhood")


_YE, _WATSON, _RMIA = "Ye et al. 2022", "Watson et al. 2022", "Zarifzadeh et al. 2024"
_BAYES = "Carlini et al. 2022; Smyth 2004"
_HUMPHRIES = "Yeom et al. 2018; Humphries et al. 2023"


def _fixed(value: float) -> Callable[[Signals], float]:
    return lambda signals: value


def _metric(score, signal: str, summary: str, paper: str, **more) -> Attack:
    threshold = partial(metrics.single_threshold, name=signal)
    return Attack(score, (signal,), 0, summary, paper, threshold, rotates=True, **more)


def _class_metric(signal: str, summary: str) -> Attack:
    score = partial(metrics.beyond_threshold, name=signal)
    return Attack(score, (signal,), 1, summary, "Song & Mittal 2021", _fixed(0.0), rotates=True)


def _lira(score, variance: str, summary: str, default: bool) -> Attack:
    compares = "both" if score is likelihood.lira else "out"
    score = partial(score, variance=variance)
    return Attack(score, ("margin",), 4, summary, "Carlini et al. 2022", None, compares, default, rotates=True)


def _compared(
    score, needs: tuple[str, ...], compares: str, references: int, summary: str, paper: str, **more
) -> Attack:
    return Attack(score, needs, references, summary, paper, compares=compares, rotates=True, **more)


def _among(evidence: str, summary: str, *, empirical: bool = False) -> Attack:
    """Attack R among other models than references: smoothed, or as a bare share."""
    test = per_record.reference_empirical if empirical else per_record.reference
    p_value = hypotheses.reference_empirical_p_value if empirical else hypotheses.reference_p_value
    return Attack(
        partial(hypotheses.among, test=test, evidence=evidence),
        ("loss",) if empirical else ("margin",),
        0,
        summary,
        _YE,
        default=not empirical,
        evidence=evidence,
        p_value=partial(hypotheses.among, test=p_value, evidence=evidence),
    )


def _learned(score, evidence: str, references: int, summary: str, paper: str, needs: tuple[str, ...] = ()) -> Attack:
    """A classifier that gives log-odds of membership."""
    return Attack(score, needs, references, summary, paper, _fixed(0.0), evidence=evidence, learns=True)


def _knn(score, summary: str, paper: str) -> Attack:
    return Attack(score, ("p_y",), 0, summary, paper, evidence="neighbourhood")


ATTACKS: dict[str, Attack] = {
    "loss": _metric(
        metrics.loss,
        "loss",
        "small loss of the target (P)",
        "Yeom et al. 2018; Ye et al. 2022",
        p_value=hypotheses.population_p_value,
    ),
    "correctness": Attack(
        metrics.correctness, ("correct",), 0, "the target is right", "Yeom et al. 2018", _fixed(1.0), rotates=True
    ),
    "confidence": _metric(metrics.confidence, "p_y", "large probability of the true class", "Song & Mittal 2021"),
    "entropy": _metric(metrics.entropy, "entropy", "small entropy of the answer", "Salem et al. 2019"),
    "mentr": _metric(metrics.mentr, "mentr", "small modified entropy", "Song & Mittal 2021"),
    "average_threshold": Attack(
        metrics.loss,
        ("loss",),
        1,
        "loss below the average training loss; ranks as 'loss' does",
        _HUMPHRIES,
        metrics.average_threshold,
        default=False,
        rotates=True,
    ),
    "optimal_threshold": Attack(
        metrics.loss,
        ("loss",),
        0,
        "loss below the best threshold for the truth, an upper bound; ranks as 'loss' does",
        _HUMPHRIES,
        default=False,
        rotates=True,
        oracle=True,
    ),
    "class_confidence": _class_metric("p_y", "confidence beyond a threshold per class"),
    "class_entropy": _class_metric("entropy", "entropy below a threshold per class"),
    "class_mentr": _class_metric("mentr", "modified entropy below a threshold per class"),
    "shadow": Attack(
        hypotheses.shadow,
        ("loss",),
        1,
        "rank of the loss among references' non-members of the class (S)",
        _YE,
        rotates=True,
        p_value=hypotheses.shadow_p_value,
    ),
    "reference": _compared(
        per_record.reference,
        ("margin",),
        "out",
        4,
        "tail of the OUT references on the same record (R)",
        _YE,
        p_value=hypotheses.reference_p_value,
    ),
    "reference_empirical": _compared(
        per_record.reference_empirical,
        ("loss",),
        "out",
        1,
        "share of OUT references with a larger loss (R)",
        _YE,
        default=False,
        p_value=hypotheses.reference_empirical_p_value,
    ),
    "distillation": _among("distilled", "tail of models distilled from the target (D)"),
    "distillation_empirical": _among("distilled", "share of distilled models with a larger loss (D)", empirical=True),
    "leave_one_out": _among("left_out", "tail of models trained without the record (L)"),
    "leave_one_out_empirical": _among("left_out", "share of such models with a larger loss (L)", empirical=True),
    "difficulty": _compared(
        per_record.difficulty, ("margin",), "both", 2, "margin minus the mean of IN and OUT references", _WATSON
    ),
    "difficulty_offline": _compared(
        per_record.difficulty_offline,
        ("margin",),
        "out",
        1,
        "margin minus the mean of OUT references",
        _WATSON,
        default=False,
    ),
    "rmia": _compared(
        ratios.rmia, ("loss", "p_y"), "both", 2, "probability over the mean of IN and OUT references", _RMIA
    ),
    "rmia_offline": _compared(
        ratios.rmia_offline, ("loss", "p_y"), "out", 2, "probability over a mean guessed from OUT references", _RMIA
    ),
    "base": _compared(
        ratios.base, ("loss", "p_y"), "any", 1, "probability over the mean of all references", "Lassila et al. 2025"
    ),
    "lira": _lira(likelihood.lira, "auto", "likelihood ratio of IN and OUT references", True),
    "lira_pooled": _lira(likelihood.lira, "pooled", "LiRA with one variance, pooled within records", False),
    "lira_record": _lira(likelihood.lira, "record", "LiRA with a variance per record", False),
    "lira_offline": _lira(likelihood.lira_offline, "auto", "tail of the OUT references alone", True),
    "lira_offline_pooled": _lira(likelihood.lira_offline, "pooled", "LiRA offline with one variance", False),
    "lira_offline_record": _lira(likelihood.lira_offline, "record", "LiRA offline with a variance per record", False),
    "lira_bayes": _compared(
        bayes.lira_bayes, ("margin",), "both", 4, "likelihood ratio with variances that records share", _BAYES
    ),
    "lira_bayes_offline": _compared(
        bayes.lira_bayes_offline, ("margin",), "out", 4, "tail of the OUT references with such variances", _BAYES
    ),
    "label_only": Attack(
        label_only.label_only,
        ("correct",),
        0,
        "how firmly the label is right under perturbations",
        "Choquette-Choo et al. 2021",
        evidence="perturbed",
    ),
    "quantile": Attack(
        quantile.quantile,
        ("margin",),
        0,
        "hinge beyond a quantile regressed on known non-members",
        "Bertran et al. 2023",
        evidence="quantiles",
        p_value=quantile.quantile_p_value,
    ),
    "knn_likelihood_ratio": _knn(knn.knn_likelihood_ratio, "exact likelihood ratio of a K-NN target", "guestlist"),
    "t_waka": _knn(knn.t_waka, "target-WaKA of a K-NN target", "Mesana et al. 2024"),
    "leaf_shares": Attack(
        trees.leaf_shares, (), 0, "training counts that trees keep in their leaves", "guestlist", evidence="leaves"
    ),
    # The whole answers are more than one signal says, but where there is no probability of a class there are none.
    "nn_shokri": _learned(
        classifiers.nn_shokri,
        "answers",
        1,
        "a network per class learnt from references' answers",
        "Shokri et al. 2017",
        needs=("p_y",),
    ),
    "nn_nasr": _learned(
        classifiers.nn_nasr,
        "answers",
        1,
        "one network learnt from references' answers and labels",
        "Nasr et al. 2018",
        needs=("p_y",),
    ),
    "white_box": _learned(
        white_box.white_box, "inner", 0, "a forest learnt from gradients and activations", "Nasr et al. 2019"
    ),
}


def named(
    names: Sequence[str | Callable] | None,
    references: int,
    evidence: Collection[str] = (),
    signals: Collection[str] | None = None,
) -> dict[str, Attack]:
    """The attacks to run: those named, a user's own functions ``(signals) -> scores``, or all that can by default.

    Args:
        names: also combinations, made by ``combined`` or written as ``union(loss,lira)``.
        evidence: the parts of ``Evidence`` that there will be.
        signals: those that the target gives; None: all.
    """
    if names is None:
        able = {n: a for n, a in ATTACKS.items() if a.default and a.references <= references and _told(a, signals)}
        return {n: a for n, a in able.items() if not a.evidence or a.evidence in evidence}
    if not names:
        raise InputError(f"No attack is named; there are {', '.join(ATTACKS)}.")
    chosen: dict[str, Attack] = {}
    for given in names:
        name, attack = _one(given)
        _check(name, attack, references, evidence, signals)
        if name in chosen or (callable(given) and name in ATTACKS):
            raise InputError(f"Two attacks are named {name!r}; name your functions differently.")
        chosen[name] = attack
    if all(attack.oracle for attack in chosen.values()):
        raise InputError(
            f"{' and '.join(chosen)} knows the truth, so no answer can rest on it; name another attack too."
        )
    return chosen


def _one(given: str | Callable) -> tuple[str, Attack]:
    from guestlist.attacks.combined import Combination, parse_combination  # it combines the rows of this table

    combination = parse_combination(given) if isinstance(given, str) else given
    if isinstance(combination, Combination):
        return combination.__name__, combination.attack
    if callable(given):
        return _own_name(given), Attack(given, (), 0, "given by the user", "")
    if given not in ATTACKS:
        raise InputError(f"There is no attack {given!r}; there are {', '.join(ATTACKS)}.")
    return given, ATTACKS[given]


def try_out(
    attacks: Mapping[str, Attack], labels: np.ndarray, references: int, signals: Collection[str] | None = None
) -> None:
    """Run a user's own attacks on made-up signals of the same shape: faults show before anything is trained.

    Args:
        signals: those that the target gives; by default those of a classifier.
    """
    for name, attack in attacks.items():
        if attack.paper:  # one of ours
            continue
        view = replace(gaussian_world(0.0, records=len(labels), models=1 + references).facing(0), labels=labels)
        if signals is not None:
            made = {"residual": view.values["margin"], **view.values}
            view = replace(view, values={name: made[name] for name in signals})
        try:
            scores = np.asarray(attack.score(view), dtype=np.float64)
        except Exception as error:
            raise InputError(f"Attack {name!r} failed on made-up signals ({type(error).__name__}: {error}).") from error
        if scores.shape != labels.shape:
            raise InputError(
                f"Attack {name!r} must give one score per record, shaped {labels.shape}, found {scores.shape}."
            )


def _told(attack: Attack, signals: Collection[str] | None) -> bool:
    return signals is None or set(attack.needs) <= set(signals)


def _check(
    name: str, attack: Attack, references: int, evidence: Collection[str], signals: Collection[str] | None
) -> None:
    if not _told(attack, signals):
        reads = ", ".join(map(repr, attack.needs))
        raise InputError(
            f"Attack {name!r} needs classes: it reads {reads}, and the target predicts values, which give "
            f"{', '.join(map(repr, signals or ()))}. Leave it out."
        )
    if attack.references > references:
        raise InputError(f"Attack {name!r} needs at least {attack.references} references, found {references}.")
    if attack.evidence and attack.evidence not in evidence:
        raise NotCollectedError(f"Attack {name!r} {missing_evidence(attack.evidence)}")


def _own_name(function: Callable) -> str:
    """The name of a user's attack; it becomes a column and a file, so it must be a plain word."""
    name = getattr(function, "__name__", type(function).__name__).replace("<lambda>", "own")
    if not name.isidentifier():
        raise InputError(f"An attack needs a plain name such as my_attack, found {name!r}.")
    return name
