"""Features of images and texts from pretrained networks, for ``python -m papers.datasets``.

The networks need ``pip install timm sentence-transformers`` and download their weights. Features differ between versions of
these libraries, so a rebuilt file is comparable with the one of the committed results, but not identical.
"""

from __future__ import annotations

import pickle
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

Arrays = dict[str, np.ndarray]
Extract = Callable[[np.ndarray], np.ndarray]  # images (n, height, width, 3) as uint8, or texts, to (n, features)
FLOWERS = ("daisy", "dandelion", "roses", "sunflowers", "tulips")
BATCH = 256


def cifar(folder: Path, classes: int) -> Arrays:
    """Return images and labels of CIFAR-10 or CIFAR-100 from the "python version" of its archive."""
    root = {10: "cifar-10-batches-py", 100: "cifar-100-python"}[classes]
    parts = {10: ([f"data_batch_{number}" for number in range(1, 6)], ["test_batch"]), 100: (["train"], ["test"])}
    key, meta, names = {
        10: (b"labels", "batches.meta", b"label_names"),
        100: (b"fine_labels", "meta", b"fine_label_names"),
    }[classes]
    arrays: Arrays = {}
    with tarfile.open(folder / f"cifar-{classes}-python.tar.gz") as archive:

        def read(name: str) -> dict:
            member = archive.extractfile(f"{root}/{name}")
            if member is None:
                raise ValueError(f"{root}/{name} is not a file in the archive of CIFAR-{classes}.")
            return pickle.load(member, encoding="bytes")

        for split, files in zip(("train", "test"), parts[classes], strict=True):
            batches = [read(name) for name in files]
            images = np.concatenate([batch[b"data"] for batch in batches]).reshape(-1, 3, 32, 32)
            arrays[f"x_{split}"] = images.transpose(0, 2, 3, 1)
            arrays[f"y_{split}"] = np.concatenate([batch[key] for batch in batches]).astype(np.uint8)
        arrays["classes"] = np.array([name.decode() for name in read(meta)[names]])
    return arrays


def cifar_features(folder: Path, classes: int, extract: Extract | None = None, components: int = 64) -> Arrays:
    """Return principal components of all images' features, fitted on the training images."""
    arrays = cifar(folder, classes)
    extract = extract or efficientnet(64)
    train, test = (extract(arrays[f"x_{split}"]) for split in ("train", "test"))
    pca = PCA(components, random_state=0).fit(train)
    reduced = {f"x_{split}": pca.transform(x).astype(np.float16) for split, x in (("train", train), ("test", test))}
    return arrays | reduced


def cifar_subset(folder: Path, classes: int, train: int, test: int) -> Arrays:
    """Return a random subset of the images with the same number of each class."""
    arrays, rng = cifar(folder, classes), np.random.default_rng(0)
    chosen: Arrays = {"classes": arrays["classes"]}
    for split, count in (("train", train), ("test", test)):
        labels = arrays[f"y_{split}"]
        rows = np.concatenate([rng.permutation(np.flatnonzero(labels == label))[:count] for label in range(classes)])
        rows = rng.permutation(rows)
        chosen |= {f"{name}_{split}": arrays[f"{name}_{split}"][rows] for name in "xy"}
    return chosen


def flowers(folder: Path, extract: Extract | None = None, components: int = 256) -> Arrays:
    """Return principal components of the photographs' features, in random order."""
    extract = extract or efficientnet(160)
    with tarfile.open(folder / "flower_photos.tgz") as archive:
        photographs = list(_photographs(archive))
    features = np.concatenate([extract(image[None]) for image, _ in photographs])
    labels = np.array([FLOWERS.index(name) for _, name in photographs], dtype=np.uint8)
    order = np.random.default_rng(0).permutation(len(labels))
    reduced = PCA(components, random_state=0).fit_transform(features)
    return {"x": reduced[order].astype(np.float16), "y": labels[order], "classes": np.array(FLOWERS)}


def _photographs(archive: tarfile.TarFile, size: int = 160) -> Iterator[tuple[np.ndarray, str]]:
    """Yield each photograph, cropped to a square around its centre, and its class."""
    from PIL import Image, ImageOps

    for member in sorted(archive.getmembers(), key=lambda member: member.name):
        name = Path(member.name).parent.name
        if name in FLOWERS and member.name.endswith(".jpg"):
            with Image.open(archive.extractfile(member)) as photograph:
                yield np.asarray(ImageOps.fit(photograph.convert("RGB"), (size, size))), name


def imdb(folder: Path, extract: Extract | None = None, each: int = 2500) -> Arrays:
    """Return sentence embeddings of reviews: ``each`` of every split and label, without duplicate texts."""
    extract = extract or minilm
    rng, texts, labels, is_train = np.random.default_rng(0), [], [], []
    with tarfile.open(folder / "aclImdb_v1.tar.gz") as archive:
        reviews: dict[tuple[str, str], list[str]] = {}
        known: set[str] = set()
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            parts = Path(member.name).parts
            if len(parts) == 4 and parts[1] in ("train", "test") and parts[2] in ("pos", "neg"):
                text = archive.extractfile(member).read().decode()
                if text not in known:
                    known.add(text)
                    reviews.setdefault((parts[1], parts[2]), []).append(text.replace("<br />", " "))
    for (split, sentiment), group in sorted(reviews.items()):
        chosen = rng.permutation(len(group))[:each]
        texts += [group[row] for row in chosen]
        labels += [sentiment == "pos"] * len(chosen)
        is_train += [split == "train"] * len(chosen)
    order = rng.permutation(len(texts))
    features = extract(np.array(texts, dtype=object)[order]).astype(np.float16)
    return {"x": features, "y": np.array(labels, dtype=np.uint8)[order], "is_train": np.array(is_train)[order]}


def efficientnet(size: int) -> Extract:
    """Return the pooled features of EfficientNet-Lite0, pretrained on ImageNet, at one image size."""
    import timm
    import torch

    network = timm.create_model("tf_efficientnet_lite0", pretrained=True, num_classes=0).eval()

    def extract(images: np.ndarray) -> np.ndarray:
        features = []
        for start in range(0, len(images), BATCH):
            batch = torch.as_tensor(images[start : start + BATCH].copy()).permute(0, 3, 1, 2).float() / 127.5 - 1
            resized = torch.nn.functional.interpolate(batch, size=(size, size), mode="bilinear", antialias=True)
            with torch.no_grad():
                features.append(network(resized).numpy())
        return np.concatenate(features)

    return extract


def minilm(texts: np.ndarray) -> np.ndarray:
    """Return embeddings of all-MiniLM-L6-v2 with unit norm."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer("all-MiniLM-L6-v2").encode(list(texts), normalize_embeddings=True)
