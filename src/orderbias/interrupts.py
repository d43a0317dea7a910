"""A Ctrl-C held back until nothing is half done; knows nothing of what that is."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Self


class HeldInterrupt:
    """A context in which the first Ctrl-C waits for :meth:`check` or for its end; a second one is obeyed at once.

    Where Ctrl-C has another meaning already, and in other threads than the main one, nothing is changed.
    """

    def __init__(self) -> None:
        self._pending = False
        self._held = False

    def __enter__(self) -> Self:
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._held = True
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._held:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._held = False
        if error is None:  # one that came after the last check is not forgotten
            self.check()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._pending:
            signal.default_int_handler(number, frame)
        self._pending = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if there was one."""
        if self._pending:
            raise KeyboardInterrupt
