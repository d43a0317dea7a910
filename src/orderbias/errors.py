"""The exceptions a caller may see, and nothing else.

::

    OrderbiasError
    ├── ArgumentError (ValueError)    an argument breaks its rule
    ├── DataError (ValueError)        a file or a value read from one breaks its rule; ``faults`` lists every one
    ├── MissingExtra (ImportError)    an optional package is needed; the message is its install line
    ├── ModelError (RuntimeError)     a model cannot be loaded, or cannot be asked what was wanted
    │   └── AskingStopped             no more is asked of it: a cap is reached, or its server answers no more
    └── RunError (RuntimeError)       a run directory cannot be used as asked
        └── SettingsChanged           it was made under other settings; ``changes`` names each

A message says the argument or the file and line, the rule, the value got, and what to do next. The command line
turns every one of them into exit code 3.
"""

from __future__ import annotations

from collections.abc import Iterable


class OrderbiasError(Exception):
    """Anything that orderbias itself raises on purpose."""


class ArgumentError(OrderbiasError, ValueError):
    """An argument breaks its rule."""


class DataError(OrderbiasError, ValueError):
    """Data from outside break a rule.

    Parameters
    ----------
    faults
        One sentence per fault, each naming file and line where there is one. A single string is one fault.
    """

    #: How many faults the message spells out; all of them stay in ``faults``.
    SHOWN = 20

    def __init__(self, faults: str | Iterable[str]) -> None:
        self.faults: tuple[str, ...] = (faults,) if isinstance(faults, str) else tuple(faults)
        shown = list(self.faults[: self.SHOWN])
        if len(self.faults) > self.SHOWN:
            shown.append(f"... and {len(self.faults) - self.SHOWN} more faults of {len(self.faults)}.")
        super().__init__("\n".join(shown))


class MissingExtra(OrderbiasError, ImportError):
    """An optional package is not installed.

    Parameters
    ----------
    package
        The import name that failed.
    extra
        The extra of ``orderbias`` that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"This needs the package {package!r}. Install it with: pip install 'orderbias[{extra}]'")


class ModelError(OrderbiasError, RuntimeError):
    """A model cannot be loaded, or cannot be asked what was wanted."""


class AskingStopped(ModelError):
    """No more is asked of a model: a cap is reached, or its server answers no more. What was answered is kept."""


class RunError(OrderbiasError, RuntimeError):
    """A run directory cannot be used as asked."""


class SettingsChanged(RunError):
    """A run directory was made under other settings than those asked for now.

    Parameters
    ----------
    path
        The run directory.
    changes
        ``name: stored -> asked``, one per setting that differs.
    """

    def __init__(self, path: str, changes: Iterable[str]) -> None:
        self.changes: tuple[str, ...] = tuple(changes)
        super().__init__(
            f"{path} was made under other settings: {'; '.join(self.changes)}. "
            "Use another --out directory, or the settings of the run."
        )
