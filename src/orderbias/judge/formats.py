"""The files of verdicts that other tools write, each a declared value; must not know how their rows are read.

A format is recognised by the columns of its first row. What its verdicts name, a place or a member of the pair, is a
property of the format, so that nobody has to say it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orderbias.judge import format_rows
from orderbias.judge.format_rows import Reader
from orderbias.judge.tables import Source, Table, missing_columns
from orderbias.verdicts import Terms


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file.

    Parameters
    ----------
    name
        The word by which it is asked for.
    title
        What a notice calls it, with what its verdicts name.
    fits
        Whether the columns of a row are those of this format.
    needs
        The columns by which it is known, in words.
    terms
        What its verdicts name; None where the words of each file decide.
    reader
        Makes the function that reads the rows of one file.
    """

    name: str
    title: str
    fits: Callable[[frozenset[str]], bool]
    needs: str
    terms: Terms | None
    reader: Callable[[Source], Reader]


def _has(*names: str) -> Callable[[frozenset[str]], bool]:
    return frozenset(names).issubset


_MEMBERS = "verdicts name members of the pair"
_PLACES = "verdicts name what was shown first or second"

#: The table that anyone can write comes first: its columns fit no other format.
FORMATS: tuple[Format, ...] = (
    Format(
        "generic",
        "a table of verdicts",
        lambda columns: not missing_columns(columns),
        "pair_id, order (AB or BA) and verdict",
        None,
        Table,
    ),
    Format(
        "fastchat",
        f"FastChat pair judgments: {_MEMBERS}",
        _has("question_id", "model_1", "model_2", "g1_winner", "g2_winner"),
        "question_id, model_1, model_2, g1_winner and g2_winner",
        Terms.PAIR,
        format_rows.fastchat,
    ),
    Format(
        "llmbar",
        f"LLMBar results: {_MEMBERS}",
        _has("output_1", "output_2", "label", "results"),
        "output_1, output_2, label and results",
        Terms.PAIR,
        format_rows.llmbar,
    ),
    Format(
        "judgebench",
        f"JudgeBench outputs: {_PLACES}",
        lambda columns: (
            {"pair_id", "label"} <= columns
            and ("judgments" in columns or {"decision_game1", "decision_game2_swapped"} <= columns)
        ),
        "pair_id, label and judgments (or decision_game1 and decision_game2_swapped)",
        Terms.SHOWN,
        format_rows.judgebench,
    ),
    Format(
        "shi",
        f"records of Judging the Judges (Shi et al.): {_PLACES}",
        lambda columns: "cmp_index" in columns or {"question_id", "shown_first", "shown_second", "verdict"} <= columns,
        "cmp_index and a column of replies (or question_id, shown_first, shown_second and verdict)",
        Terms.SHOWN,
        format_rows.shi,
    ),
    Format(
        "alpacaeval",
        f"AlpacaEval annotations: {_MEMBERS}, and each pair was shown in one order, drawn at random, which is rebuilt",
        _has("instruction", "output_1", "output_2", "preference"),
        "instruction, output_1, output_2 and preference",
        Terms.PAIR,
        format_rows.alpacaeval,
    ),
    Format(
        "pandalm",
        "PandaLM results: each pair was shown in one order",
        lambda columns: "idx" in columns and any(format_rows.PANDALM_JUDGE.fullmatch(column) for column in columns),
        "idx and a column that ends in _verdict or _result",
        Terms.SHOWN,
        format_rows.pandalm,
    ),
)
