"""A user's Jinja template in a sandbox that can neither reach out nor run away; knows nothing of items or options.

Jinja's own sandbox keeps a template from the files and objects of the machine, but not from a loop of ten billion
turns or a text of a terabyte, nor from drawing at random, which would make prompts that no signature names. Here
every turn of a loop, call and text that is made is charged to a budget, and what draws is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from orderbias.errors import ArgumentError

#: Turns of loops and calls that one prompt may take, and characters of the texts it may make on the way.
MAX_STEPS = 100_000
MAX_CHARACTERS = 10_000_000
#: The largest number that a filter may be given or arithmetic may make.
MAX_NUMBER = 10**12
MAX_WIDTH = 10_000

_FILTERS = (
    "abs", "batch", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first", "float", "forceescape",
    "indent", "int", "items", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse",
    "round", "safe", "select", "selectattr", "slice", "sort", "striptags", "title", "tojson", "trim", "truncate",
    "unique", "upper", "wordcount", "wordwrap",
)  # fmt: skip

#: Methods of texts that make no text longer than the one they are called on.
_TEXT_METHODS = frozenset({
    "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal",
    "isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper", "lower", "lstrip", "partition", "removeprefix",
    "removesuffix", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
    "swapcase", "title", "upper",
})  # fmt: skip


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with a budget for one rendering."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False, finalize=self._text
        )
        self.steps = self.characters = 0
        for name in set(self.filters) - set(_FILTERS):
            del self.filters[name]
        self.filters |= {name: self._bounded(name) for name in ("batch", "indent", "slice", "truncate", "wordwrap")}
        self.filters |= {"join": self._join, "replace": self._replace, "string": self._text, "_counted": _counted}
        self.globals = {name: self.globals[name] for name in ("range", "dict", "namespace", "cycler", "joiner")}

    def start(self) -> None:
        """Give the next rendering its whole budget."""
        self.steps = self.characters = 0

    def charge(self, steps: int = 0, characters: int = 0) -> None:
        """Take from the budget of this rendering."""
        self.steps += steps
        self.characters += characters
        if self.steps > MAX_STEPS or self.characters > MAX_CHARACTERS:
            raise SecurityError(
                f"one prompt may take at most {MAX_STEPS:,} turns of loops and calls and make {MAX_CHARACTERS:,} "
                "characters; this one takes more"
            )

    def _text(self, value: Any) -> str:
        """Return a text or a number as a text; a list may be short and its text still be of any length."""
        if not isinstance(value, str | int | float | jinja2.Undefined):
            raise SecurityError(f"texts and numbers can be printed and joined. Got a {type(value).__name__}")
        text = str(value)
        self.charge(characters=len(text))
        return text

    def _join(self, values: Iterable[Any], d: Any = "", attribute: str | None = None) -> str:
        if attribute is not None:
            values = (self.getitem(value, attribute) for value in values)
        texts: list[str] = [self._text(value) for value in values]
        between = self._text(d)
        self.charge(characters=len(texts) * len(between))
        return between.join(texts)

    def _replace(self, text: Any, old: str, new: str) -> str:
        whole = self._text(text)
        self.charge(characters=len(whole) + whole.count(old) * len(new))
        return whole.replace(old, new)

    def _bounded(self, name: str) -> Any:
        """Return a filter that refuses widths and counts which would make a text of any length."""
        inner = self.filters[name]
        passed = getattr(inner, "jinja_pass_arg", None)

        def bounded(*args: Any, **options: Any) -> Any:
            for value in (*args[1:], *options.values()):
                if isinstance(value, int) and value > MAX_WIDTH:
                    raise SecurityError(f"a width or a count in a filter must be at most {MAX_WIDTH:,}. Got {value}")
            return inner(*args, **options)

        if passed is not None:
            bounded.jinja_pass_arg = passed  # type: ignore[attr-defined]
        return bounded

    def wrap_str_format(self, value: Any) -> None:
        """Formats make texts of any width."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str) and attr not in _TEXT_METHODS and attr != "replace":
            return False
        if isinstance(obj, bytes | int | float):
            return False
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        numbers = all(isinstance(side, int | float) for side in (left, right))
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            self.charge(characters=len(left) + len(right))
        elif operator == "+" and isinstance(left, list) and isinstance(right, list):
            self.charge(steps=len(left) + len(right))
        elif not numbers or abs(left) > MAX_NUMBER or abs(right) > (64 if operator == "**" else MAX_NUMBER):
            raise SecurityError(f"`{operator}` is for numbers of ordinary size, and `+` also joins texts")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, *args: Any, **options: Any) -> Any:
        self.charge(steps=1)
        if isinstance(getattr(obj, "__self__", None), str) and getattr(obj, "__name__", "") == "replace":
            return self._replace(obj.__self__, *args, **options)
        return super().call(context, obj, *args, **options)


@jinja2.pass_context  # what depends on the context is never computed while compiling, where nothing is charged
def _counted(context: Any, values: Iterable[Any]) -> list[Any]:
    """Stand between a loop and what it goes through."""
    counted = list(values)
    context.environment.charge(steps=len(counted))
    return counted


class Sandboxed:
    """A template that is compiled once and rendered often.

    Parameters
    ----------
    source
        The text of the template.

    Raises
    ------
    ArgumentError
        If it does not parse.

    Examples
    --------
    >>> Sandboxed("{% for x in xs %}<{{ x }}>{% endfor %}").render(xs=[1, 2])
    '<1><2>'
    """

    __slots__ = ("_compiled", "_environment")

    def __init__(self, source: str) -> None:
        self._environment = _Sandbox()
        try:
            self._compiled = self._environment.from_string(_metered(self._environment.parse(source)))
        except jinja2.TemplateSyntaxError as error:
            raise ArgumentError(f"The template does not parse: {error.message} (line {error.lineno}).") from error
        except (jinja2.TemplateError, RecursionError, MemoryError, OverflowError, SyntaxError, ValueError) as error:
            raise ArgumentError(f"The template does not parse: {error!r}.") from error

    def render(self, **values: Any) -> str:
        """Return the text.

        Raises
        ------
        Exception
            Whatever a user's template may do; :class:`jinja2.exceptions.SecurityError` beyond the budget.
        """
        self._environment.start()
        return str(self._compiled.render(**values))


def _metered(tree: nodes.Template) -> nodes.Template:
    """Send what loops go through, and what ``~`` joins, through the filters that count it."""
    for loop in tree.find_all(nodes.For):
        if loop.recursive:
            raise jinja2.TemplateSyntaxError("loops must not be recursive", loop.lineno)
        loop.iter = _filtered(cast(nodes.Expr, loop.iter), "_counted")
    for parent in [tree, *tree.find_all(nodes.Node)]:
        for name in parent.fields:
            value = getattr(parent, name)
            if isinstance(value, nodes.Concat):
                setattr(parent, name, _joined(value))
            elif isinstance(value, list):
                value[:] = [_joined(entry) if isinstance(entry, nodes.Concat) else entry for entry in value]
    return tree


def _joined(value: nodes.Concat) -> nodes.Filter:
    return _filtered(nodes.List(value.nodes, lineno=value.lineno), "join")


def _filtered(value: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)
