"""Facts about defences: the command line and the docs read this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

from guestlist.defences.adv_reg import AdvReg
from guestlist.defences.answers import LabelOnly, Rounded, Temperature, TopK
from guestlist.defences.distillation import Distillation, Selena
from guestlist.defences.dp import DpSgd
from guestlist.defences.dropout import Dropout
from guestlist.defences.early_stopping import EarlyStopping
from guestlist.defences.hamp import Hamp
from guestlist.defences.l2 import L2
from guestlist.defences.memguard import MemGuard
from guestlist.defences.noise import FgsmNoise
from guestlist.defences.plain import Fit
from guestlist.defences.refit import Refit
from guestlist.defences.regularised import Regularised
from guestlist.defences.relax_loss import RelaxLoss
from guestlist.defences.removal import Removal
from guestlist.defences.smoothing import ConfidencePenalty, LabelSmoothing


@dataclass(frozen=True)
class Defence:
    """One way to train, or to answer.

    Args:
        recipe: a frozen dataclass that is a ``Recipe``, an ``Objective`` of ``Fit``, a way to answer, or a choice of those
            who stay members; its fields are the options.
        trains: Models that it trains: ``model_type`` of a row of ``FRAMEWORKS``, "any classifier" or "any model". A change of
            outputs serves any classifier.
        summary: what it does, for people.
        paper: where it comes from; "" for plain training.
        cost: what it takes beside plain training, for people.
        kind: which of the four it is.
    """

    recipe: type[Any]
    trains: str
    summary: str
    paper: str
    cost: str
    kind: Literal["recipe", "objective", "answer", "members"] = "recipe"

    @property
    def objective(self) -> bool:
        """Whether it is an option of ``Fit``, and not a recipe by itself."""
        return self.kind == "objective"

    @property
    def answers(self) -> bool:
        """Whether it is a way to answer, for ``answering``."""
        return self.kind == "answer"

    def with_options(self, *options: Any, **more: Any) -> Callable:
        """A recipe, a way to answer, or a choice of members, with these options."""
        made = self.recipe(*options, **more)
        return Fit(objective=made) if self.objective else made

    @property
    def written(self) -> str:
        """How it is written in Python, with its defaults."""
        options = ", ".join(f"{one.name}={_default(one)}" for one in fields(self.recipe))
        own = f"gl.{self.recipe.__name__}({options})"
        return f"gl.Fit(objective={own})" if self.objective else f"gl.answering(model, {own})" if self.answers else own


def _default(one) -> str:
    from dataclasses import MISSING

    if one.default is not MISSING:
        return repr(one.default)
    if one.default_factory is MISSING:
        return "…"
    made = one.default_factory()
    return "{…}" if isinstance(made, dict) else f"gl.{type(made).__name__}(…)"


DEFENCES: dict[str, Defence] = {
    "fit": Defence(Fit, "torch module", "plain training with AdamW or SGD, no defence", "", "none"),
    "refit": Defence(Refit, "estimator", "a scikit-learn-style estimator as it is, no defence", "", "none"),
    "regularised": Defence(
        Regularised,
        "estimator",
        "the estimator's own regularisation: larger leaves, fewer rounds, more neighbours, a stronger penalty",
        "Shokri et al. 2017",
        "none",
    ),
    "l2": Defence(
        L2, "torch module", "a penalty on large parameters, in the loss", "Shokri et al. 2017", "none", kind="objective"
    ),
    "dropout": Defence(
        Dropout, "torch module", "units that are silent at random in training", "Srivastava et al. 2014", "none"
    ),
    "label_smoothing": Defence(
        LabelSmoothing, "torch module", "labels that are never certain", "Szegedy et al. 2016", "none", kind="objective"
    ),
    "confidence_penalty": Defence(
        ConfidencePenalty, "torch module", "certain answers cost", "Pereyra et al. 2017", "none", kind="objective"
    ),
    "early_stopping": Defence(
        EarlyStopping,
        "torch module",
        "the epoch that does best on held-out records",
        "Song & Mittal 2021",
        "some records; fewer epochs",
    ),
    "adv_reg": Defence(
        AdvReg,
        "torch module",
        "answers must not convince an attack classifier that is trained beside",
        "Nasr et al. 2018",
        "held-out records; a small network trained beside",
        kind="objective",
    ),
    "relax_loss": Defence(
        RelaxLoss,
        "torch module",
        "members' loss is held at a level above 0",
        "Chen, Yu & Fritz 2022",
        "none",
        kind="objective",
    ),
    "hamp": Defence(
        Hamp,
        "torch module",
        "labels of high entropy and a penalty on certain answers",
        "Chen & Pattabiraman 2024",
        "none",
        kind="objective",
    ),
    "dp_sgd": Defence(
        DpSgd,
        "torch module",
        "gradients of single records cut, noise added: differential privacy",
        "Abadi et al. 2016",
        "accuracy; gradients of single records",
    ),
    "distillation": Defence(
        Distillation, "torch module", "a student of a teacher's answers", "Hinton et al. 2015", "twice the time"
    ),
    "selena": Defence(
        Selena,
        "torch module",
        "a student of the answers of teachers that did not train on the record",
        "Tang et al. 2022",
        "a model per teacher",
    ),
    "fgsm_noise": Defence(
        FgsmNoise,
        "torch module",
        "half of the records moved to where a first model errs more",
        "Duddu et al. 2022",
        "twice the time",
    ),
    "removal": Defence(
        Removal,
        "any model",
        "the members with the largest risk left out; others may stand out in their place",
        "Carlini et al. 2022",
        "an audit before; some records",
        kind="members",
    ),
    "memguard": Defence(
        MemGuard,
        "any classifier",
        "noise with which the defender's own attack classifier is undecided, the class kept",
        "Jia et al. 2019",
        "held-out records; a small network; a search for each answer",
        kind="answer",
    ),
    "rounded": Defence(
        Rounded, "any classifier", "probabilities to a few digits", "Shokri et al. 2017", "none", kind="answer"
    ),
    "top_k": Defence(
        TopK, "any classifier", "the largest probabilities alone", "Shokri et al. 2017", "none", kind="answer"
    ),
    "label_only": Defence(
        LabelOnly, "any classifier", "the class alone", "Choquette-Choo et al. 2021", "none", kind="answer"
    ),
    "temperature": Defence(
        Temperature, "any classifier", "flatter probabilities", "Shokri et al. 2017", "none", kind="answer"
    ),
}
