"""Fill the cells of one model of a panel: it is loaded once, and what is answered is not asked again."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path

from orderbias.cli._job import Job
from orderbias.cli._jobs import ask_into
from orderbias.cli._panel_cells import CellPlace, Prepared
from orderbias.cli._panel_folder import PanelFolder, state_of
from orderbias.cli._saying import say
from orderbias.cli._study_models import SharedModel
from orderbias.errors import AskingStopped, ModelError, OrderbiasError
from orderbias.store import Run


def ask_model(prepared: Prepared, model: str, folder: PanelFolder) -> list[str]:
    """Fill every cell of a model; returns a sentence for each thing that went wrong."""
    shared, faults = SharedModel(), []
    checkpoint = next(m for m in prepared.settings.models if m.shown == model)
    for place in prepared.places(checkpoint):
        try:
            _ask_cell(prepared, place, folder, shared)
        except ModelError as error:
            capped = " Caps hold over all cells of a model." if isinstance(error, AskingStopped) else ""
            faults.append(f"{model} is asked no more ({place.named}): {error}{capped}")
            break
        except (OrderbiasError, OSError) as error:
            faults.append(f"{place.named} is left: {error}")
        except Exception as error:  # a model's own code may raise anything, and the other models must not suffer
            say(traceback.format_exc())
            faults.append(f"{model} is asked no more ({place.named}): {type(error).__name__}: {error}")
            break
    for fault in faults:
        say(fault)
    return faults


def _ask_cell(prepared: Prepared, place: CellPlace, folder: PanelFolder, shared: SharedModel) -> None:
    """Fill one cell.

    Raises
    ------
    OrderbiasError
        If it cannot be, or not to its end.
    """
    with folder.write(place) as (path, mirror):
        job = prepared.job(place, str(path))
        if _is_done(job, place, path):
            return
        say(f"\n{place.named}")
        progress, todo = ask_into(replace(job, mirror=mirror), shared)
        if todo.queries:
            say(f"{progress.n_done:,} answered, {progress.n_failed:,} of them with an error.")
    if progress.stopped is not None:
        raise AskingStopped(progress.stopped)


def _is_done(job: Job, place: CellPlace, path: Path) -> bool:
    """Whether a cell has all its answers, under these settings as far as they are known without the model."""
    if not state_of(place, path, job.settings.as_dict()["design"]).done:
        return False
    stored = Run.open(path).manifest.settings.as_dict()
    readouts = ("readout", "letter_tokens")  # without log-probabilities another readout was found to be needed
    return all(stored.get(key) == value for key, value in job.settings.as_dict().items() if key not in readouts)
