"""What the numbers of one cell depend on, as a signature; knows no measure."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias import __version__
from orderbias.predictions import Predictions
from orderbias.signature import Signature


def analysis_signature(
    predictions: Predictions, resamples: int, seed: int, level: float, cluster: ArrayLike | str | None
) -> Signature:
    """Extend the source's settings by those of the analysis; what the source says itself is kept."""
    said = predictions.source.as_dict()
    unit = "item" if cluster is None else "cluster"
    own = {
        "model": predictions.model or None,
        "benchmark": predictions.benchmark or None,
        "readout": predictions.readout or None,
        "design": _design_text(predictions),
        "operations": "none",
    }
    return predictions.source.extended(
        **{k: v for k, v in own.items() if k not in said},
        answers=array_hash(predictions.choice, predictions.gold, predictions.positions, predictions.scored),
        resampling=f"{unit} bootstrap {resamples}",
        cluster=cluster if cluster is None or isinstance(cluster, str) else array_hash(np.asarray(cluster, str)),
        level=level,
        seed=seed,
        version=__version__,
    )


def _design_text(predictions: Predictions) -> str:
    kind = "per item" if predictions.per_item else "shared"
    return f"{kind} of {int(predictions.presented.sum())} {array_hash(predictions.positions)}"


def array_hash(*arrays: NDArray[Any]) -> str:
    """Return 12 hexadecimal digits of the SHA-256 of arrays' shapes and bytes."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:12]
