"""GGUF files turned into safetensors, once, in the user's cache; must not know which model a user asked for.

Reading a GGUF file takes 15 to 60 seconds, so the copy is kept under the SHA-256 of the file's bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orderbias.errors import MissingExtra, ModelError

#: Written beside a converted model: where its numbers come from.
ORIGIN = "orderbias.json"


def cache_directory() -> Path:
    """Return the folder that holds converted models: ``ORDERBIAS_CACHE``, or ``~/.cache/orderbias``."""
    chosen = os.environ.get("ORDERBIAS_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "orderbias"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hold back progress bars, log lines and warnings of the libraries that load models."""
    _, transformers = packages()
    log = transformers.utils.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        # One reader draws its bar without asking the settings above, hence the redirection.
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()


def packages() -> tuple[Any, Any]:
    """Import PyTorch and transformers."""
    try:
        import torch
        import transformers
    except ImportError as e:
        raise MissingExtra(e.name or "transformers", "local") from e
    return torch, transformers


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def converted(gguf: Path, name: str | None = None, sha256: str | None = None) -> Path:
    """Return the safetensors copy of a GGUF file in the user's cache, making it if it is not there.

    Parameters
    ----------
    gguf
        The file; it is read in place and never changed.
    name
        Last part of the folder's name. Default: the file's name without its ending.
    sha256
        The file's checksum, where it is known already.

    Returns
    -------
    Path
        A folder with config, weights and tokenizer; complete, since it is renamed into place only when whole.

    Raises
    ------
    ModelError
        If the file cannot be read as a model.
    """
    digest = sha256 or file_sha256(gguf)
    parent = cache_directory() / "models" / digest[:16]
    done = [p.parent for p in sorted(parent.glob(f"*/{ORIGIN}"))]
    if name is None and done:
        return done[0]
    target = parent / (name or gguf.stem)
    if target in done:
        return target
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".making-") as making:
        folder = Path(making) / "model"
        _convert(gguf, folder)
        (folder / ORIGIN).write_text(json.dumps({"sha256": digest, "file": gguf.name}) + "\n")
        # Another process may have finished first; its copy is as good as ours.
        with contextlib.suppress(OSError):
            folder.rename(target)
    if not (target / ORIGIN).exists():
        raise ModelError(f"The converted model could not be put at {target}. Remove that folder and try again.")
    return target


def _convert(gguf: Path, folder: Path) -> None:
    _, transformers = packages()
    try:
        import accelerate  # noqa: F401  (transformers reads GGUF files only where both are installed)
        import gguf as reader  # noqa: F401
    except ImportError as e:
        raise MissingExtra(e.name or "gguf", "local") from e
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    with quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
            model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype="float32")
        except Exception as e:
            raise ModelError(why_not(gguf.name, True, e)) from e
        # The weights are plain numbers by now; what remains of the quantiser would be asked for at the next load.
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.hf_quantizer, model.is_quantized = None, False
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def why_not(name: str, is_path: bool, error: Exception) -> str:
    """Put an error of the loading libraries in one line, with what to do next."""
    reason = str(error).strip().splitlines() or [type(error).__name__]
    todo = "Check its files." if is_path else "Check the id and the connection, or give a local folder or GGUF file."
    return f"The model {name!r} cannot be loaded: {reason[0][:300]} {todo}"
