"""Run every command and import every public name without optional packages; used by test_packaging.py.

``python without_extras.py FOLDER`` in an environment without extras. Elsewhere, ``hide(FOLDER)`` makes optional packages
unimportable for processes that have the folder on PYTHONPATH.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

OPTIONAL = (
    "torch",
    "keras",
    "lightning",
    "transformers",
    "opacus",
    "captum",
    "ray",
    "onnx",
    "onnxruntime",
    "xgboost",
    "lightgbm",
    "catboost",
    "polars",
    "mlflow",
)


HIDE = f"""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def hide(folder: Path) -> None:
    """Write a sitecustomize.py that makes optional packages unimportable where the folder is on PYTHONPATH."""
    (folder / "sitecustomize.py").write_text(HIDE, "utf-8")


def write_inputs(folder: Path) -> None:
    import numpy as np
    import pandas as pd
    import skops.io
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    table["label"] = (table["a"] + rng.normal(size=120) > 0).astype(int)
    table["sex"] = rng.choice(["f", "m"], 120)
    table["id"] = np.arange(120)
    table.to_csv(folder / "all.csv", index=False)
    table.drop(columns="sex").to_csv(folder / "numbers.csv", index=False)
    table[:60].to_csv(folder / "members.csv", index=False)
    table[60:].to_csv(folder / "nonmembers.csv", index=False)
    model = DecisionTreeClassifier(random_state=0).fit(table[:60][list("abc")], table["label"][:60])
    skops.io.dump(model, folder / "model.skops")
    (folder / "model.onnx").write_bytes(b"never read")


RECORDS = "--members members.csv --nonmembers nonmembers.csv --label label --id id"
BIAS = "--data all.csv --label label --column sex --value m --share 0.9 --members 20 --nonmembers 20"
# Every command in order: arguments, exit status, and a part of the output. Status 2 ends in one sentence.
COMMANDS = {
    "audit": [
        (
            f"--model model.skops {RECORDS} --references 2 --engine here --quiet --no-baseline --out audit",
            0,
            "Report: ",
        ),
        (f"--model model.onnx {RECORDS} --out none", 2, 'pip install ".[onnx]"'),
    ],
    "collect": [("audit --references 3 --engine ray --quiet", 2, 'pip install ".[ray]"')],
    "report": [("audit", 0, "report.html")],
    "export": [("audit", 0, "loss")],
    "gate": [("audit --max-auc 0.01", 1, "AUC at most 0.01")],
    "compare": [("audit again", 0, "AUC")],
    "defend": [("audit --estimate --engine here", 0, "models to train")],
    "game bias": [
        (f"{BIAS} --out game", 2, 'pip install ".[dp]"'),
        (f"{BIAS} --epsilon inf --out plain_game", 2, 'pip install ".[torch]"'),
    ],
    "game cluster": [
        ("--data all.csv --label label --members 20 --nonmembers 20 --out clusters", 2, 'pip install ".[')
    ],
    "game groups": [("--data all.csv --label label --column sex --members-from m --out groups", 2, 'pip install ".[')],
    "epsilon": [("audit", 2, "drawn")],
    "dp": [
        ("--data numbers.csv --label label --epsilon 2 --out dp", 2, 'pip install ".[dp]"'),
        ("--data numbers.csv --label label --epsilon 2 --noise 1 --out dp", 2, 'pip install ".[torch]"'),
    ],
    "risks": [("audit --top 1", 0, "")],
    "forget": [("audit --ids 1", 0, "")],
    "show": [("defences", 0, "dp_sgd")],
    "selftest": [("--attack loss --scale 0.01 --quiet", None, "loss")],
    "knn values": [("numbers.csv --label label --out values.csv", 0, "")],
    "knn minimise": [("numbers.csv --label label --test numbers.csv --repeats 1", 0, "")],
    "knn onion": [("numbers.csv --label label", 0, "")],
    "knn influence": [("numbers.csv --label label --remove 3", 0, "")],
    "trees": [("--model model.skops --members members.csv --label label --id id", 0, "")],
    "scan": [("model.skops --members members.csv --label label --id id", None, "")],
    "index": [("audits", None, "")],
    "demo": [],  # test_packaging.py runs it as a process
}


def check_commands() -> None:
    import shutil

    from click.testing import CliRunner

    from guestlist.cli import main

    names = [
        f"{name} {sub}".strip() for name, command in main.commands.items() for sub in getattr(command, "commands", [""])
    ]
    assert sorted(names) == sorted(COMMANDS), "every command has an example"
    for name, examples in COMMANDS.items():
        result = CliRunner().invoke(main, [*name.split(), "--help"])
        assert result.exit_code == 0, (name, result.output)
        for arguments, status, part in examples:
            computed = CliRunner().invoke(main, [*name.split(), *arguments.split()])
            description = f"guestlist {name} {arguments}: status {computed.exit_code}\n{computed.output}"
            assert computed.exception is None or isinstance(computed.exception, SystemExit), description + repr(
                computed.exception
            )
            assert status is None or computed.exit_code == status, description
            assert part in computed.output, description
            assert "Traceback" not in computed.output, description
        if name == "audit":
            shutil.copytree("audit", "again")


def check_names() -> None:
    import guestlist as gl

    for name in gl.__all__:
        value = getattr(gl, name)
        for inner in value.__all__ if isinstance(value, ModuleType) else ():
            getattr(value, inner)
    needs = {
        "torch": [
            lambda: gl.defences.mlp(3, 2),
            lambda: gl.defences.cnn(8, 2),
            lambda: gl.torch_target(object()),
        ],
        "dp": [
            lambda: gl.privacy.epsilon_of(1.0, rate=0.1, steps=10, delta=1e-5),
            lambda: gl.privacy.noise_for(1.0, rate=0.1, steps=10, delta=1e-5),
            lambda: gl.defences.dp_sgd_for(1.0, rate=0.1, epochs=1),
            lambda: gl.defences.DpSgd(noise=1.0).privacy(),
        ],
        "attribution": [
            lambda: gl.risks.influence_functions(None, [[0.0]], [0], [[0.0]], [0]),
            lambda: gl.risks.tracin([(None, 0.1)], [[0.0]], [0], [[0.0]], [0]),
        ],
        "onnx": [lambda: gl.onnx_target("model.onnx")],
    }
    for extra, calls in needs.items():
        for number, call in enumerate(calls):
            message = "no error"
            try:
                call()
            except gl.InputError as error:
                message = str(error)
            assert f'pip install ".[{extra}]"' in message, (extra, number, message)


def check_nothing_is_there() -> None:
    for name in OPTIONAL[:6]:
        try:
            __import__(name)
        except ModuleNotFoundError:
            continue
        raise AssertionError(f"{name} is installed")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    write_inputs(Path())
    check_nothing_is_there()
    check_names()
    check_commands()
