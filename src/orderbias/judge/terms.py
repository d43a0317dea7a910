"""Whether the verdicts of a file name places or members of the pair; must not know how they are stored.

A judge that is shown B first and says "A" means B if A is the answer shown first, and A if somebody has already mapped
its word back to the pair. The words of a file may fix the reading; where they do not, it has to be said, and is never
guessed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from orderbias.errors import DataError
from orderbias.row_files import shown
from orderbias.verdicts import Terms

_MEANING = {
    Terms.SHOWN: "name a place (shown first, shown second)",
    Terms.PAIR: "name a member of the pair (A, B, or a model)",
}


@dataclass(slots=True)
class Evidence:
    """What the words of one file say of their reading: how many, and the first of each kind with its place."""

    counts: dict[Terms, int] = field(default_factory=dict)
    first: dict[Terms, tuple[str, str]] = field(default_factory=dict)

    def add(self, terms: Terms, where: str, word: object) -> None:
        """Count a word; of those that may be either, only decisive ones under ``BA`` matter and are to be counted."""
        count = self.counts.get(terms, 0)
        if not count:
            self.first[terms] = (where, shown(word))
        self.counts[terms] = count + 1

    def settle(self, file: str, asked: Terms | None) -> tuple[Terms, str]:
        """Return the reading of the file and a sentence that says why, which is empty where any reading is the same.

        Raises
        ------
        DataError
            If the words contradict one another or ``asked``, or leave the reading open.
        """
        fixed = [terms for terms in (Terms.SHOWN, Terms.PAIR) if self.counts.get(terms)]
        if len(fixed) == 2:
            raise DataError(
                f"{file}: some verdicts {_MEANING[Terms.SHOWN]}, such as {self._example(Terms.SHOWN)}, and others "
                f"{_MEANING[Terms.PAIR]}, such as {self._example(Terms.PAIR)}. A file must use one of the two; "
                "rewrite it, or split it in two."
            )
        if fixed and asked not in (None, fixed[0]):
            raise DataError(
                f"{file}: --terms {asked} does not fit: verdicts {_MEANING[fixed[0]]}, such as "
                f"{self._example(fixed[0])}. Leave it out."
            )
        if fixed:
            return fixed[0], (
                f"Verdicts {_MEANING[fixed[0]]}, such as {self._example(fixed[0])}: read in {fixed[0]} terms."
            )
        if not self.counts.get(Terms.EITHER):
            return asked or Terms.SHOWN, ""
        if asked is None:
            raise self._open(file)
        return asked, f"Verdicts are read in {asked} terms, as asked: they {_MEANING[asked]}."

    def _open(self, file: str) -> DataError:
        count = self.counts[Terms.EITHER]
        return DataError(
            f"{file}: {count:,} verdict{'s' * (count != 1)} in the order BA can be read in two ways, such as "
            f"{self._example(Terms.EITHER)}: as a place (A is the answer shown first, which is the pair's B), or as a "
            "member of the pair (somebody mapped the judge's word back). What is consistent in one reading is bias in "
            "the other. Say --terms shown if verdicts are what the judge itself said, --terms pair if they are mapped "
            "back; or write them as first, second or model_a, model_b."
        )

    def _example(self, terms: Terms) -> str:
        where, word = self.first[terms]
        return f"{word} ({where})"
