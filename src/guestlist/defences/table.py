"""Facts about defences: the command line and the docs read this table."""

from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal

from guestlist.defences.adversarial import AdvReg, MemGuard
from guestlist.defences.distillation import Distillation, Selena
from guestlist.defences.dp_sgd import DpSgd
from guestlist.defences.estimators import Refit, Regularised
from guestlist.defences.matching import Removal
from guestlist.defences.outputs import LabelOnly, Rounded, Temperature, TopK
from guestlist.defences.regularisers import (
    L2,
    ConfidencePenalty,
    Dropout,
    EarlyStopping,
    FgsmNoise,
    Hamp,
    LabelSmoothing,
    RelaxLoss,
)
from guestlist.defences.torch_training import Fit


@dataclass(frozen=True)
class Defence:
    """A defence: of the training, of the outputs, or of the choice of members.

    Args:
        recipe: Frozen dataclass that is a ``Recipe``, an ``Objective`` of ``Fit``, an output defence, or a choice of members;
            its fields are the options.
        trains: Models that it trains: ``model_type`` of a row of ``FRAMEWORKS``, "any classifier" or "any model". A change of
            outputs serves any classifier.
        summary: Description in reports and docs.
        paper: Reference; "" for plain training.
        cost: Cost compared with plain training.
        kind: ``recipe``, ``objective`` (option of ``Fit``), ``output`` (output defence) or ``members``.
    """

    recipe: type[Any]
    trains: str
    summary: str
    paper: str
    cost: str
    kind: Literal["recipe", "objective", "output", "members"] = "recipe"

    @property
    def written(self) -> str:
        """Python code of the defence, with its defaults."""
        options = ", ".join(f"{option.name}={_default(option)}" for option in fields(self.recipe))
        call = f"gl.defences.{self.recipe.__name__}({options})"
        uses = {
            "objective": f"gl.defences.Fit(objective={call})",
            "output": f"gl.models.with_output_defence(model, {call})",
        }
        return uses.get(self.kind, call)


def _default(option) -> str:
    if option.default is not MISSING:
        return repr(option.default)
    if option.default_factory is MISSING:
        return "…"
    default = option.default_factory()
    if isinstance(default, dict):
        return "{…}"
    return f"gl.defences.{type(default).__name__}(…)"


DEFENCES: dict[str, Defence] = {
    "fit": Defence(
        recipe=Fit,
        trains="torch module",
        summary="plain training with AdamW or SGD, no defence",
        paper="",
        cost="none",
    ),
    "refit": Defence(
        recipe=Refit,
        trains="estimator",
        summary="a scikit-learn-style estimator with its own parameters, no defence",
        paper="",
        cost="none",
    ),
    "regularised": Defence(
        recipe=Regularised,
        trains="estimator",
        summary="the estimator's own regularisation: larger leaves, fewer rounds, more neighbours, a stronger penalty",
        paper="Shokri et al. 2017",
        cost="none",
    ),
    "l2": Defence(
        recipe=L2,
        trains="torch module",
        summary="a penalty on large parameters, in the loss",
        paper="Shokri et al. 2017",
        cost="none",
        kind="objective",
    ),
    "dropout": Defence(
        recipe=Dropout,
        trains="torch module",
        summary="units that are dropped at random during training",
        paper="Srivastava et al. 2014",
        cost="none",
    ),
    "label_smoothing": Defence(
        recipe=LabelSmoothing,
        trains="torch module",
        summary="soft labels, with a probability below 1 for the true class",
        paper="Szegedy et al. 2016",
        cost="none",
        kind="objective",
    ),
    "confidence_penalty": Defence(
        recipe=ConfidencePenalty,
        trains="torch module",
        summary="a penalty on outputs of low entropy",
        paper="Pereyra et al. 2017",
        cost="none",
        kind="objective",
    ),
    "early_stopping": Defence(
        recipe=EarlyStopping,
        trains="torch module",
        summary="the epoch with the best loss on held-out records",
        paper="Song & Mittal 2021",
        cost="some records; fewer epochs",
    ),
    "adv_reg": Defence(
        recipe=AdvReg,
        trains="torch module",
        summary="penalises outputs by which an attack classifier, trained at the same time, separates members",
        paper="Nasr et al. 2018",
        cost="held-out records; a second, small network",
        kind="objective",
    ),
    "relax_loss": Defence(
        recipe=RelaxLoss,
        trains="torch module",
        summary="training loss kept at a level above 0",
        paper="Chen, Yu & Fritz 2022",
        cost="none",
        kind="objective",
    ),
    "hamp": Defence(
        recipe=Hamp,
        trains="torch module",
        summary="labels of high entropy and a penalty on outputs of low entropy",
        paper="Chen & Pattabiraman 2024",
        cost="none",
        kind="objective",
    ),
    "dp_sgd": Defence(
        recipe=DpSgd,
        trains="torch module",
        summary="per-record gradients clipped, noise added: differential privacy",
        paper="Abadi et al. 2016",
        cost="accuracy; per-record gradients",
    ),
    "distillation": Defence(
        recipe=Distillation,
        trains="torch module",
        summary="a student trained on a teacher's outputs",
        paper="Hinton et al. 2015",
        cost="twice the time",
    ),
    "selena": Defence(
        recipe=Selena,
        trains="torch module",
        summary="a student trained on outputs of teachers that did not train on the record",
        paper="Tang et al. 2022",
        cost="a model per teacher",
    ),
    "fgsm_noise": Defence(
        recipe=FgsmNoise,
        trains="torch module",
        summary="half of the records perturbed to where a first model has a larger loss",
        paper="Duddu et al. 2022",
        cost="twice the time",
    ),
    "removal": Defence(
        recipe=Removal,
        trains="any model",
        summary="members with the largest risk removed; other members may become exposed instead",
        paper="Carlini et al. 2022",
        cost="an audit before; some records",
        kind="members",
    ),
    "memguard": Defence(
        recipe=MemGuard,
        trains="any classifier",
        summary="noise that makes the defender's own attack classifier undecided; the predicted class is kept",
        paper="Jia et al. 2019",
        cost="held-out records; a small network; a search for each output",
        kind="output",
    ),
    "rounded": Defence(
        recipe=Rounded,
        trains="any classifier",
        summary="probabilities rounded to a few digits",
        paper="Shokri et al. 2017",
        cost="none",
        kind="output",
    ),
    "top_k": Defence(
        recipe=TopK,
        trains="any classifier",
        summary="only the largest probabilities",
        paper="Shokri et al. 2017",
        cost="none",
        kind="output",
    ),
    "label_only": Defence(
        recipe=LabelOnly,
        trains="any classifier",
        summary="only the predicted class",
        paper="Choquette-Choo et al. 2021",
        cost="none",
        kind="output",
    ),
    "temperature": Defence(
        recipe=Temperature,
        trains="any classifier",
        summary="flatter probabilities",
        paper="Shokri et al. 2017",
        cost="none",
        kind="output",
    ),
}
