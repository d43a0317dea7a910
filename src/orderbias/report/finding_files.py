"""Findings as CSV and LaTeX, one text a table; knows no analysis and writes no file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

from orderbias.report.entries import column_parts, head, is_words, slugs, under
from orderbias.report.text import visible
from orderbias.studies.findings import Entry, Finding, Number, Table

#: Rows of a table beyond which LaTeX is let break it over pages.
MOST_ROWS = 40

#: What LaTeX would obey, and signs that its default fonts do not have.
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "–": "--", "…": r"\ldots{}", "×": r"$\times$", "·": r"$\cdot$",
    "→": r"$\to$", "≤": r"$\leq$", "≥": r"$\geq$", "±": r"$\pm$", "−": "$-$", "α": r"$\alpha$", "ρ": r"$\rho$",
    "Δ": r"$\Delta$", "≠": r"$\neq$", "∞": r"$\infty$", "\n": " ", "\t": " ",
}  # fmt: skip


def csv_files(findings: Iterable[Finding]) -> dict[str, str]:
    """Return one CSV a table by its file's name, ``<analysis>-<table>.csv``.

    Numbers are in full, shares within 0..1, and what is undefined is empty. A column that holds intervals has two
    more beside it, ``<key>_low`` and ``<key>_high``.
    """
    return {f"{stem}.csv": _csv(table) for stem, table in _tables(findings)}


def latex_files(findings: Iterable[Finding]) -> dict[str, str]:
    """Return one table of LaTeX a table by its file's name, ``<analysis>-<table>.tex``.

    They need the packages ``booktabs`` and, for long tables, ``longtable``.
    """
    return {f"{stem}.tex": _latex(stem, table) for stem, table in _tables(findings)}


def _tables(findings: Iterable[Finding]) -> Iterator[tuple[str, Table]]:
    for finding in findings:
        yield from zip(slugs(finding), finding.tables, strict=True)


def _csv(table: Table) -> str:
    widths = [3 if any(isinstance(row[i], Number) for row in table.rows) else 1 for i in range(len(table.columns))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads: list[tuple[Any, ...]] = [(c.key, f"{c.key}_low", f"{c.key}_high") for c in table.columns]
    for row in [heads, *([_values(entry) for entry in row] for row in table.rows)]:
        writer.writerow([value for values, width in zip(row, widths, strict=True) for value in values[:width]])
    return out.getvalue()


def _values(entry: Entry) -> tuple[Any, ...]:
    if isinstance(entry, Number):
        return entry.value, entry.low, entry.high
    return (None if isinstance(entry, float) and entry != entry else entry), None, None


def latex_text(text: str) -> str:
    """Return text that LaTeX sets as it is.

    Examples
    --------
    >>> print(latex_text("50 % of A_1 & B"))
    50 \\% of A\\_1 \\& B
    """
    return "".join(_LATEX.get(character, character) for character in visible(text))


def _latex(stem: str, table: Table) -> str:
    heads = [latex_text(head(table, i)) for i in range(len(table.columns))]
    sides = "".join("l" if is_words(c) else "r" for c in table.columns)
    columns = [[_latex_entry(*parts, is_words(c)) for parts in column_parts(table, i)]
               for i, c in enumerate(table.columns)]  # fmt: skip
    rows = [_latex_line(cells) for cells in zip(*columns, strict=True)]
    caption = " ".join(latex_text(sentence) for sentence in (_sentence(table.title), *under(table)))
    named = rf"\caption{{{caption}}}", rf"\label{{tab:{re.sub(r'[^A-Za-z0-9-]', '-', stem)}}}"
    top = (r"\toprule", _latex_line(heads), r"\midrule")
    if len(rows) > MOST_ROWS:
        lines = [
            r"% Needs \usepackage{booktabs,longtable}.", rf"\begin{{longtable}}{{{sides}}}", named[0],
            named[1] + r" \\", *top, r"\endfirsthead", *top, r"\endhead", *rows, r"\bottomrule", r"\end{longtable}",
        ]  # fmt: skip
    else:
        lines = [
            r"% Needs \usepackage{booktabs}.", r"\begin{table}", r"\centering", *named,
            rf"\begin{{tabular}}{{{sides}}}", *top, *rows, r"\bottomrule", r"\end{tabular}", r"\end{table}",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _latex_entry(value: str, interval: str, words: bool) -> str:
    text = latex_text(f"{value} {interval}".rstrip())
    if words:
        return text
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", text)  # a minus sign, not a hyphen


def _latex_line(cells: Iterable[str]) -> str:
    r"""Join cells; a row that begins with "[" would be read as an option of the ``\\`` before it."""
    joined = " & ".join(cells)
    return ("{}" if joined.startswith("[") else "") + joined + r" \\"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."
