"""A run directory in the form that is analysed. Here, and in the commands, both streams meet; computes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orderbias.cells import Cells, cells
from orderbias.errors import RunError

if TYPE_CHECKING:
    from orderbias.records import Records
    from orderbias.store import Run


def read_run(path: str | Path) -> Cells:
    """Read the answers of a run directory, such as ``orderbias run`` and ``orderbias study`` make.

    Parameters
    ----------
    path
        The directory.

    Returns
    -------
    Cells
        ``predictions`` has one :class:`~orderbias.predictions.Predictions` a number of options, whose source is the
        run's settings: what is computed of it has the same signature as on the command line.

    Raises
    ------
    RunError
        If there is no run, it is of a judge, has no answers, or is damaged.
    """
    from orderbias.store import Run

    run = Run.open(path)
    return cells_of(run, run.records())


def cells_of(run: Run, records: Records) -> Cells:
    """Return the cells of a run's answers, or of what was made of them.

    The run says its design, items and settings itself.
    """
    settings = run.manifest.settings
    readout = settings.as_dict().get("readout", "")
    if readout.startswith("judge-"):
        raise RunError(
            f"{run.path} must be a run of questions. It is one of a judge ({readout}), which `orderbias judge` reads."
        )
    return cells(
        records,
        design=settings.as_dict().get("design", "auto"),
        designs=run.manifest.designs or None,
        items=run.items(),
        source=settings,
    )
