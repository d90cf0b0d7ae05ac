"""Defences that fit a target, and the options with which they are tried."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from guestlist._util import close_matches
from guestlist.data import Data, encode
from guestlist.defences import (
    DEFENCES,
    L2,
    AdvReg,
    ConfidencePenalty,
    Distillation,
    DpSgd,
    Dropout,
    EarlyStopping,
    FgsmNoise,
    Hamp,
    LabelOnly,
    LabelSmoothing,
    MemGuard,
    OutputDefence,
    RelaxLoss,
    Removal,
    Rounded,
    Selena,
    Temperature,
    TopK,
    as_recipe,
    grid,
    last_step,
)
from guestlist.errors import InputError
from guestlist.models import Target

PLAIN = "plain"  # the model without a defence
AGAIN = "trained again"  # control without a defence, for the effect of random training
# Risks by which members are removed by default: the first of these that the audit's table of records has.
RISKS = ("mu", "risk_score", "leverage", "loss_tail")


@dataclass(frozen=True)
class Candidate:
    """A defence with its options, to be tried.

    Args:
        name: name of its row in the table of results, and of its folder.
        defence: its row in ``DEFENCES``; the name again for a user-defined defence.
        method: a recipe, an output defence or a ``Removal``; None: the target's own training.
        times: approximate cost of one of its models, in plain trainings.
        unfit: reason why it cannot be tried, if any.
    """

    name: str
    defence: str
    method: Any = None
    times: float = 1.0
    unfit: str = ""

    @property
    def folder(self) -> str:
        """Name of its folder."""
        return re.sub(r"[^\w.=+-]+", "_", self.name)

    def describe(self) -> str:
        if self.method is None:
            return f"{self.name}: "
        return f"{self.name}: {self.method.describe()}"


@dataclass(frozen=True)
class Situation:
    """Facts about the audit on which the choice of options depends.

    Args:
        members: number of members.
        held_out: records that no model trains on, in the form that the target reads.
        risks: names of the risks in the audit of the plain model.
    """

    target: Target
    members: int
    held_out: Data | None = None
    risks: Sequence[str] = RISKS

    @property
    def retraining(self) -> Any:
        return self.target.needs("retrain")

    @property
    def fit(self) -> Any:
        """Return the plain training of a torch module, which defences change or wrap."""
        recipe = self.retraining.recipe
        if not is_dataclass(recipe) or not {"objective", "epochs"} <= {field.name for field in fields(recipe)}:
            raise InputError(
                f"This defence needs a torch model trained by gl.defences.Fit, and this one by {type(recipe).__name__}. "
                "Pass gl.torch_target(module, train=gl.defences.Fit(…)), or omit this defence."
            )
        return recipe

    def minimising(self, objective: Any) -> Any:
        """Return plain training with a different objective."""
        if self.fit.objective is not None:
            current = type(self.fit.objective).__name__
            raise InputError(
                f"This defence sets objective= of gl.defences.Fit, which is {current} already. Remove that objective, or omit "
                "this defence."
            )
        try:
            return replace(self.fit, objective=objective)
        except ValueError as error:
            raise InputError(str(error)) from error

    def others(self, encoded: bool) -> Data:
        """Return the held-out records."""
        if self.held_out is None:
            raise InputError("This defence is fitted on held-out records. Pass held_out= (--held-out).")
        if encoded:
            return replace(self.held_out, y=encode(self.held_out.y, self.target.classes))
        return self.held_out


Options = Iterable[tuple[str, Any]]  # text that describes the options, and the defence with these options


@dataclass(frozen=True)
class Trial:
    """Options with which a row of ``DEFENCES`` is tried.

    Args:
        options: function from a situation to options; raises an InputError with the reason if there are none.
        times: approximate cost of one of its models, in plain trainings.
        default: whether it is tried by default.
    """

    options: Callable[[Situation], Options]
    times: float = 1.0
    default: bool = True


def _objectives(make: Callable, option: str, *values: float) -> Trial:
    def options(s: Situation) -> Options:
        return [(f"{option}={value:g}", s.minimising(make(value))) for value in values]

    return Trial(options)


def _own_parameters(s: Situation) -> Options:
    model = s.retraining.model
    options = []
    for regularised in grid(model, s.members):
        texts = {
            name: f"{value:g}" if isinstance(value, float) else value for name, value in regularised.parameters.items()
        }
        options.append((" ".join(f"{name}={text}" for name, text in texts.items()), regularised))
    if not options:
        raise InputError(
            f"{type(last_step(model)[1]).__name__} has no regularisation parameter that guestlist knows. Pass your own "
            "candidate: defences={'stronger': gl.defences.Regularised({'C': 0.1})}."
        )
    return options


def _fewer_classes(s: Situation) -> Options:
    sizes = [k for k in (1, 3) if s.target.columns - k >= 2]
    if not sizes:
        raise InputError(
            "This defence hides the smaller probabilities, which needs three or more classes; the model has two."
        )
    return [(f"k={k}", TopK(k)) for k in sizes]


def _private(s: Situation) -> Options:
    fit = s.fit
    return [
        (
            f"noise={noise:g}",
            DpSgd(
                noise=noise,
                rate=min(1.0, fit.batch_size / s.members),
                epochs=fit.epochs,
                learning_rate=fit.learning_rate,
                optimizer="sgd" if fit.optimizer == "sgd" else "adam",
                momentum=fit.momentum,
                loss=fit.loss,
            ),
        )
        for noise in (0.5, 1.0, 2.0)
    ]


def _without_the_riskiest(s: Situation) -> Options:
    risk = next((name for name in RISKS if name in s.risks), None)
    if risk is None:
        raise InputError(
            f"This defence removes the members most at risk, but the audit has none of the risks {', '.join(RISKS)}. Train 8 "
            "reference models or more: references= (--references)."
        )
    s.retraining  # noqa: B018 -- raises if the target cannot be trained again
    return [(f"share={share:g}", Removal(share, risk)) for share in (0.05, 0.2)]


TRIALS: dict[str, Trial] = {
    "regularised": Trial(_own_parameters),
    "l2": _objectives(L2, "weight", 1e-4, 1e-3),
    "dropout": Trial(lambda s: [(f"rate={rate:g}", Dropout(rate, s.fit)) for rate in (0.25, 0.5)]),
    "label_smoothing": _objectives(LabelSmoothing, "share", 0.1, 0.3),
    "confidence_penalty": _objectives(ConfidencePenalty, "weight", 0.1),
    "early_stopping": Trial(lambda s: [("", EarlyStopping(s.fit))]),
    "adv_reg": Trial(lambda s: [("", s.minimising(AdvReg(s.others(encoded=True))))], times=2),
    "relax_loss": _objectives(RelaxLoss, "level", 0.2, 0.5),
    "hamp": _objectives(Hamp, "entropy", 0.5),
    "dp_sgd": Trial(_private, times=2),
    "distillation": Trial(lambda s: [("", Distillation(s.fit, s.fit))], times=2, default=False),
    "selena": Trial(lambda s: [("", Selena(teacher=s.fit, student=s.fit))], times=11, default=False),
    "fgsm_noise": Trial(lambda s: [("", FgsmNoise(fit=s.fit))], times=2, default=False),
    "removal": Trial(_without_the_riskiest),
    "memguard": Trial(lambda s: [("", MemGuard(s.others(encoded=False)))], times=2),
    "rounded": Trial(lambda s: [("digits=1", Rounded(1))]),
    "top_k": Trial(_fewer_classes),
    "label_only": Trial(lambda s: [("", LabelOnly())]),
    "temperature": Trial(lambda s: [("temperature=2", Temperature(2.0))]),
}


def candidates(situation: Situation, defences: Sequence[str] | Mapping[str, Any] | None = None) -> list[Candidate]:
    """Return the candidates: first the target's own training, if it can be trained again.

    Args:
        defences: names of rows; or names to user-defined recipes, output defences and removals; by default all that fit.
    """
    again = [Candidate(AGAIN, AGAIN)] if "retrain" in situation.target.can else []
    if isinstance(defences, Mapping):
        user_defined = [
            Candidate(name, name, method if isinstance(method, Removal | OutputDefence) else as_recipe(method))
            for name, method in defences.items()
        ]
        _check_folders(user_defined)
        return again + user_defined
    if isinstance(defences, str):
        raise InputError(f"defences={defences!r} must be a list of names, for example defences=['rounded'].")
    if defences is None:
        names = [name for name, trial in TRIALS.items() if trial.default and not _unfit(name, situation)]
    else:
        names = list(dict.fromkeys(defences))
        unknown = [name for name in names if name not in TRIALS]
        if unknown:
            raise InputError(
                f"There is no defence {unknown[0]!r}. Available names: {close_matches(unknown[0], TRIALS)}. List all with "
                "guestlist show defences."
            )
    return again + [candidate for name in names for candidate in _tried(name, situation)]


def _check_folders(candidates: Sequence[Candidate]) -> None:
    """Check that user-defined names give distinct folders, different from the reserved ones."""
    taken = {PLAIN: "the undefended model", Candidate(AGAIN, AGAIN).folder: "the target's own training"}
    for candidate in candidates:
        if not candidate.folder.strip("."):
            raise InputError(f"{candidate.name!r} cannot be the name of a folder. Rename this candidate.")
        if candidate.folder in taken:
            raise InputError(
                f"The name {candidate.name!r} is already used by {taken[candidate.folder]}. Rename this candidate."
            )
        taken[candidate.folder] = repr(candidate.name)


def _tried(name: str, situation: Situation) -> Iterator[Candidate]:
    """Yield a row with each choice of options, or with the reason why there is none."""
    unfit = _unfit(name, situation)
    if not unfit:
        try:
            for options, method in TRIALS[name].options(situation):
                yield Candidate(f"{name} {options}".strip(), name, method, TRIALS[name].times)
            return
        except InputError as error:
            unfit = str(error)
    yield Candidate(name, name, unfit=unfit)


def _unfit(name: str, situation: Situation) -> str:
    """Return the reason why a row does not support this model; empty if it does."""
    target = situation.target
    trains = DEFENCES[name].trains
    if trains == "any classifier":
        if target.scale.has_classes:
            return ""
        return f"{target.name} predicts values, and this changes probabilities."
    if "retrain" not in target.can:
        return f"{target.name} cannot be retrained: it has no training recipe, or its outputs are changed by a defence."
    if trains in ("any model", situation.retraining.trains):
        return ""
    return f"This trains a {trains}, and {target.name} is none."
