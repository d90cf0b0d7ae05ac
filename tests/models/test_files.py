import joblib
import pytest
import skops.io
from sklearn.base import is_regressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor

from guestlist import InputError
from guestlist.models import load_model


def test_a_skops_file_is_opened(tree, blobs, tmp_path):
    skops.io.dump(tree, tmp_path / "m.skops")
    assert (load_model(tmp_path / "m.skops").predict_proba(blobs[1][0]) == tree.predict_proba(blobs[1][0])).all()


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=2),
        GradientBoostingClassifier(n_estimators=2, loss="exponential"),
        HistGradientBoostingClassifier(max_iter=2),
        GradientBoostingRegressor(n_estimators=2, loss="huber"),
        GradientBoostingRegressor(n_estimators=2, loss="quantile"),
        HistGradientBoostingRegressor(max_iter=2, loss="absolute_error"),
        PoissonRegressor(),
        GammaRegressor(),
        TweedieRegressor(power=1.5),
        TweedieRegressor(power=0, link="identity"),
    ],
    ids=str,
)
def test_parts_of_scikit_learn_need_no_trust(model, blobs, tmp_path):
    """Losses and links, of which not every version of skops knows that they are harmless."""
    x, y = blobs[0]
    skops.io.dump(model.fit(x, 1.0 + y if is_regressor(model) else y > 0), tmp_path / "m.skops")
    assert (load_model(tmp_path / "m.skops").predict(x) == model.predict(x)).all()


@pytest.mark.slow
def test_types_beyond_scikit_learn_are_built_only_when_trusted(tmp_path, blobs):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(*blobs[0])
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(InputError, match="--trust lightgbm") as refused:
        load_model(tmp_path / "m.skops")
    names = [word for word in str(refused.value).split() if word.startswith(("lightgbm.", "collections."))]
    trusted = [name.rstrip(",.") for name in names]
    assert load_model(tmp_path / "m.skops", trust=trusted).n_classes_ == 3


class Bomb:
    """Unpickling this writes a file: what a pickle from elsewhere could do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_pickle_is_opened_only_when_allowed(tree, tmp_path):
    joblib.dump(Bomb(tmp_path / "boom"), tmp_path / "m.pkl")
    with pytest.raises(InputError, match="--allow-pickle"):
        load_model(tmp_path / "m.pkl")
    assert not (tmp_path / "boom").exists()
    joblib.dump(tree, tmp_path / "tree.joblib")
    assert load_model(tmp_path / "tree.joblib", allow_pickle=True).n_estimators == 10


def test_objects_that_are_no_models_are_refused(tmp_path):
    (tmp_path / "m.skops").write_bytes(b"not a model")
    (tmp_path / "m.pt").write_bytes(b"")
    with pytest.raises(InputError, match="as skops"):
        load_model(tmp_path / "m.skops")
    with pytest.raises(InputError, match=r"gl\.torch_target"):
        load_model(tmp_path / "m.pt")
    with pytest.raises(InputError, match="no file"):
        load_model(tmp_path / "none.skops")
