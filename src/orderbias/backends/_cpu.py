"""What makes float32 on a CPU fast without changing a model: weights laid out for the processor, memory kept at hand.

Must not know any architecture. Results differ from the usual ones by rounding alone, and are checked like all others.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

#: Parameters above which weights are not copied into the processor's layout: memory is worth more than a tenth of time.
_MOST_PARAMETERS = 600_000_000
#: Rows that the layout is chosen for; any other number works.
_TYPICAL_ROWS = 1024

# Settings of glibc's allocator (malloc.h), and the bytes that it may keep instead of handing them back.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_KEPT, _AHEAD, _LARGEST_FROM_HEAP = 256 << 20, 64 << 20, 32 << 20


class PackedLinears:
    """The linear layers of a model with a second copy of their weights in oneDNN's own layout.

    Parameters
    ----------
    model
        A causal language model of transformers. Its head is left out. On other devices and dtypes, for large models,
        and where this build of PyTorch has no oneDNN, nothing is packed and :meth:`used` changes nothing.
    """

    def __init__(self, model: Any) -> None:
        import torch

        self._forwards: list[tuple[Any, Any]] = []
        if model.device.type != "cpu" or not torch.backends.mkldnn.is_available():
            return
        if sum(p.numel() for p in model.parameters()) > _MOST_PARAMETERS:
            return
        head = model.get_output_embeddings()
        linears = [m for m in model.modules() if type(m) is torch.nn.Linear and m is not head]
        with contextlib.suppress(AttributeError, RuntimeError), torch.inference_mode():
            # A build without these operators raises at the first of them.
            self._forwards = [
                (m, _packed_forward(m)) for m in linears if m.weight.dtype == torch.float32 and "forward" not in vars(m)
            ]

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Let the model compute with the packed copies."""
        for module, forward in self._forwards:
            module.forward = forward
        try:
            yield
        finally:
            for module, _ in self._forwards:
                del module.forward


def _packed_forward(module: Any) -> Any:
    import torch

    weight = torch.ops.mkldnn._reorder_linear_weight(module.weight.detach(), _TYPICAL_ROWS)
    bias = None if module.bias is None else module.bias.detach()
    linear = torch.ops.mkldnn._linear_pointwise

    def forward(x: Any) -> Any:
        return linear(x, weight, bias, "none", [], "")

    return forward


def keep_freed_memory() -> None:
    """Ask glibc not to hand freed memory back after every layer; a tenth of the time goes into getting it again.

    Does nothing under another C library.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for setting, value in (
            (_TRIM_THRESHOLD, _KEPT),
            (_TOP_PAD, _AHEAD),
            (_MMAP_THRESHOLD, _LARGEST_FROM_HEAP),
        ):
            mallopt(setting, value)
