"""Cells: from records to the arrays that every measure reads, one value per model, benchmark, readout and K."""

from orderbias.cells.building import Cells, cells, same_text_groups
from orderbias.cells.filtering import cell_filter
from orderbias.cells.layout import design_name

__all__ = ["Cells", "cell_filter", "cells", "design_name", "same_text_groups"]
