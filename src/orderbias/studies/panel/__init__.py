"""Many checkpoints on many benchmarks: the analyses of two-factors, sections 5-7 and C-E, one module each."""

from orderbias.studies.panel.cells import Checkpoint, PanelCell, panel_cell
from orderbias.studies.panel.values import Panel, Pool, Settings

__all__ = ["Checkpoint", "Panel", "PanelCell", "Pool", "Settings", "panel_cell"]
