"""Cells: from records to the arrays that every measure reads, one value per model, benchmark, readout and K."""

from __future__ import annotations

from typing import Any

from orderbias.cells.building import Cells, cells, same_text_groups
from orderbias.cells.filtering import cell_filter
from orderbias.cells.layout import design_name
from orderbias.records import read_records

__all__ = ["Cells", "cell_filter", "cells", "design_name", "read_cells", "same_text_groups"]


def read_cells(paths: Any, **options: Any) -> Cells:
    """Read files of records and build their cells; ``options`` as for :func:`cells`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
    >>> _ = file.write_text("item_id,positions,place,gold\\nq1,0 1,0,1\\nq1,1 0,0,1\\n")
    >>> read_cells(file).predictions[0].choice.tolist()
    [[0, 1]]
    """
    return cells(read_records(paths), **options)
