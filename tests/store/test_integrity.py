"""Files in the wrong folder, or changed: refused with a message, and never a changed result."""

import json
import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist._store import open_store
from guestlist._store.integrity import (
    IntegrityError,
    read_checked_json,
    read_checked_npz,
    write_checked_json,
    write_checked_npz,
)
from guestlist.errors import FolderError

SEAL = {"file": "a.npz", "data": "d"}
ATTACKS = ["loss", "lira"]


def made(seed: int, fitted: int = 0, **options):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    model = DecisionTreeClassifier(max_features=1, random_state=fitted).fit(x[:30], y[:30])
    return {
        "model": model,
        "members": (x[:30], y[:30]),
        "nonmembers": (x[30:], y[30:]),
        "seed": seed,
        "references": 4,
        "attacks": ATTACKS,
        "evidence": [gl.evidence.Perturbed(2), gl.evidence.LeftOut(records=2, models=2)],
        "jobs": 1,
        "baseline": False,
        **options,
    }


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """Three finished audits that differ in the seed, or in the fitted model alone; copy them before you touch them."""
    root = tmp_path_factory.mktemp("audits")
    for name, options in {"one": (0, 0), "seed": (1, 0), "model": (0, 1)}.items():
        gl.audit(**made(*options), folder=root / name)
    return root


@pytest.fixture
def folder(audits, tmp_path):
    shutil.copytree(audits / "one", tmp_path / "audit")
    return tmp_path / "audit"


def changed_npz(path, change):
    """Rewrite a file as a user of numpy would: fields that they did not know are lost."""
    with np.load(path) as arrays:
        np.savez(path, **{name: change(arrays[name]) for name in arrays.files})


def with_its_old_checksum(path, change):
    with zipfile.ZipFile(path) as archive:
        comment = archive.comment
    changed_npz(path, change)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = comment


def changed_json(path, **changes):
    content = json.loads(path.read_text())
    for name, value in changes.items():
        content[name] = {**content[name], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(content))


def nothing(values):
    return np.full_like(values, np.nan)


MISTAKES = {
    "a reference copied over the target": lambda f, a: shutil.copy(
        f / "signals/model-0003.npz", f / "signals/model-0000.npz"
    ),
    "a reference copied over another": lambda f, a: shutil.copy(
        f / "signals/model-0003.npz", f / "signals/model-0001.npz"
    ),
    "another seed's reference": lambda f, a: shutil.copy(a / "seed/signals/model-0001.npz", f / "signals"),
    "another fitted model's signals": lambda f, a: shutil.copy(a / "model/signals/model-0000.npz", f / "signals"),
    "another fitted model's outputs": lambda f, a: shutil.copy(a / "model/outputs.npz", f),
    "another seed's split": lambda f, a: shutil.copy(a / "seed/split.npz", f),
    "a reference that says nothing": lambda f, a: changed_npz(f / "signals/model-0002.npz", nothing),
    "the same with its old checksum": lambda f, a: with_its_old_checksum(f / "signals/model-0002.npz", nothing),
    "edited outputs": lambda f, a: with_its_old_checksum(f / "outputs.npz", lambda v: v[:, ::-1]),
    "an edited split": lambda f, a: with_its_old_checksum(f / "split.npz", np.logical_not),
    "swapped evidence": lambda f, a: shutil.copy(
        f / "evidence/perturbed/copy-0001.npz", f / "evidence/perturbed/copy-0002.npz"
    ),
    "evidence about another fitted model": lambda f, a: shutil.copy(
        a / "model/evidence/perturbed/copy-0001.npz", f / "evidence/perturbed"
    ),
    "an edited rate": lambda f, a: changed_json(f / "manifest.json", game={"rate": 0.25}),
    "an edited seed": lambda f, a: changed_json(f / "manifest.json", seed=7),
    "an edited name": lambda f, a: changed_json(f / "manifest.json", about={"name": "another"}),
    "an edited plan": lambda f, a: changed_json(f / "evidence/perturbed/plan.json", noise=1.0),
    "another seed's plan": lambda f, a: shutil.copy(a / "seed/evidence/perturbed/plan.json", f / "evidence/perturbed"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_file_that_does_not_belong_there_is_named_with_what_to_do(mistake, audits, folder):
    MISTAKES[mistake](folder, audits)
    for run in (lambda: gl.read_case(folder).scores, lambda: gl.audit(**made(0), folder=folder)):
        with pytest.raises(FolderError, match=r"(?s)(npz|json) (does not belong|was changed).*(Delete|Restore)"):
            run()


def test_edited_records_are_rewritten_by_an_audit_and_refused_without_one(audits, folder):
    table = pd.read_parquet(folder / "pool.parquet")
    table.assign(**{"class": 0}).to_parquet(folder / "pool.parquet", index=False)
    with pytest.raises(FolderError, match=r"pool\.parquet was changed after it was written\. Run the audit again"):
        gl.read_case(folder)
    gl.audit(**made(0), folder=folder)
    assert (folder / "pool.parquet").read_bytes() == (audits / "one" / "pool.parquet").read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "signals/model-0000.npz",
        "signals/model-0002.npz",
        "outputs.npz",
        "split.npz",
        "evidence/perturbed/copy-0001.npz",
    ],
)
def test_removed_and_run_again_it_is_the_same_folder(name, audits, folder):
    (folder / name).unlink()
    gl.audit(**made(0), folder=folder)
    for path in [*folder.rglob("*.npz"), folder / "manifest.json", folder / "results.json"]:
        assert path.read_bytes() == (audits / "one" / path.relative_to(folder)).read_bytes(), path.name


def test_a_record_that_was_not_chosen_is_no_evidence(audits, folder):
    evidence_folder = folder / "evidence/left_out"
    first = next(iter(sorted(evidence_folder.glob("record-*.npz"))))
    for name in ("record-99999999.npz", "record-00059x.npz", "record-1.npz"):
        shutil.copy(first, evidence_folder / name)
    restored, before = (gl.read_case(path).evidence("left_out").values for path in (folder, audits / "one"))
    assert (np.isfinite(before["loss"]).sum(axis=1) == 4).all()
    assert all(np.array_equal(restored[name], before[name], equal_nan=True) for name in before)


def test_the_integrity_error_names_the_difference(tmp_path):
    path = tmp_path / "a.npz"
    write_checked_npz(path, SEAL, {"x": np.arange(3)})
    assert read_checked_npz(path, SEAL)["x"].tolist() == [0, 1, 2]
    for provenance, message in [
        ({**SEAL, "file": "b.npz"}, "a copy of a.npz"),
        ({**SEAL, "data": "e"}, "different records or labels"),
        ({**SEAL, "seed": "1"}, "a different seed"),
        ({**SEAL, "holds": "x"}, "differs from what manifest.json records"),
    ]:
        with pytest.raises(IntegrityError, match=message):
            read_checked_npz(path, provenance)
    write_checked_npz(path, SEAL, {"x": np.arange(3)})
    first = path.read_bytes()
    write_checked_npz(path, SEAL, {"x": np.arange(3)})
    assert path.read_bytes() == first


def test_one_wrong_bit_is_found(tmp_path):
    path = tmp_path / "a.npz"
    write_checked_npz(path, SEAL, {"x": np.arange(1000.0)})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="CRC"):
        read_checked_npz(path, SEAL)


def test_json_has_a_checksum_too(tmp_path):
    path = tmp_path / "a.json"
    write_checked_json(path, {"file": "a.json"}, {"rate": 0.5})
    assert read_checked_json(path, {"file": "a.json"})[0] == {"rate": 0.5}
    path.write_text(path.read_text().replace("0.5", "0.25"))
    with pytest.raises(IntegrityError, match="changed after it was written"):
        read_checked_json(path, {"file": "a.json"})


def test_an_older_folder_is_refused(folder):
    changed_json(folder / "manifest.json", format=3)
    with pytest.raises(FolderError, match="has format 3; this version of guestlist reads format 4"):
        open_store(folder)
