"""Many checkpoints on many benchmarks: the analyses of two-factors, sections 5-7 and C-E.

Each analysis is the module or the folder of its name, and its function stands there: ``operations`` in
``operations/__init__.py``, beside the parts that it alone has. ``analyses`` lists them. What several share lies here:

- ``cells``, ``values``: one cell; the panel, a pool of its cells, settings.
- ``estimates``: draws of checkpoints or cells, and when a number has an interval.
- ``calibration``, ``operated_cells``, ``answer_measures``: which items calibrate; every operation on every cell.
- ``variance_shares``: what two factors carry of the variance of their product.
- ``item_folds``, ``shared_items``: items in random parts, and joined by their ids.
- ``wording``: names of statistics and sentences.

No analysis reads another's tables.
"""

from orderbias.studies.panel.cells import Checkpoint, PanelCell, panel_cell
from orderbias.studies.panel.values import Panel, Pool, Settings

__all__ = ["Checkpoint", "Panel", "PanelCell", "Pool", "Settings", "panel_cell"]
