"""Run directories: what was asked, of what, and every answer, safe against a kill at any moment."""

from orderbias.store.manifest import Manifest
from orderbias.store.mirror import Folder, Mirror
from orderbias.store.run import Run
from orderbias.store.verification import Verification

__all__ = ["Folder", "Manifest", "Mirror", "Run", "Verification"]
