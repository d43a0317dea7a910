"""Files of verdicts -> `Judgments`, one value per judge; joins the formats, the gathering and the errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from orderbias.errors import ArgumentError, DataError
from orderbias.judge.format_rows import Reader
from orderbias.judge.formats import FORMATS, Format
from orderbias.judge.gathering import Gathering, TooMany
from orderbias.judge.pair_files import LABELS, MOST_FAULTS, coverage, hash_of, read_pair_file
from orderbias.judge.pairs import Pairs
from orderbias.judge.tables import Source
from orderbias.judge.values import Judgments
from orderbias.row_files import Fault, Row, shown, stream_rows
from orderbias.signature import Signature
from orderbias.verdicts import Terms


def read_judgments(
    paths: Sequence[str | Path],
    *,
    terms: Literal["shown", "pair"] | None = None,
    format: str | None = None,  # the word that the command line uses
    duplicates: Literal["error", "first"] = "error",
    pairs: str | Path | None = None,
) -> tuple[Judgments, ...]:
    """Read verdicts from files, one after another, and never hold more of them than codes.

    Parameters
    ----------
    paths
        JSON Lines, JSON, CSV, TSV or Parquet. Each is read in the format that the columns of its first row fit.
    terms
        What verdicts such as ``A`` name in the rows in which B was shown first: ``shown`` the answer shown first,
        ``pair`` the pair's first member. Needed only where neither the format nor the words say it.
    format
        The name of the format of every file, instead of the one that fits.
    duplicates
        Whether the second call of one judge for the same pair, order and repeat is an error, or the first one counts.
    pairs
        A file with one row a pair (``pair_id`` and labels, models, lengths, group or texts), for what the verdicts'
        own rows lack.

    Returns
    -------
    tuple of Judgments
        One per judge, in the order in which they appear. What reading found is in the ``notices`` of each.

    Raises
    ------
    ArgumentError
        If an argument breaks its rule or a file is not there.
    DataError
        If a file breaks a rule: every fault with its file and line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> table = pathlib.Path(tempfile.mkdtemp()) / "verdicts.csv"
    >>> _ = table.write_text("pair_id,order,verdict,judge\\n1,AB,first,gpt\\n1,BA,second,gpt\\n")
    >>> read_judgments([table])[0].calls.tolist()
    [[0, 1]]
    """
    files = _files(paths)
    asked = _checked(files, terms, format, duplicates)
    reading = _Reading(asked, format, Gathering(keep_first=duplicates == "first"))
    offered = read_pair_file(Path(pairs), reading.told) if pairs is not None else None
    for file in files:
        reading.read(file)
    if reading.faults:
        raise DataError(reading.faults)
    reading.told_of_people()
    if offered is not None:
        reading.told_of_pairs(offered, Path(pairs or "").name)
    source = ", ".join(dict.fromkeys(reading.formats))
    data_hash = hash_of([*files, *([Path(pairs)] if pairs is not None else [])])
    settings = Signature.of(terms=asked)
    return tuple(reading.gathering.finish(source, data_hash, settings, reading.notices(len(files)), offered))


def _files(paths: Sequence[str | Path]) -> list[Path]:
    """Return the files, all of which must be there before the first of them is read."""
    given = [paths] if isinstance(paths, str | Path) else list(paths) if isinstance(paths, Iterable) else [paths]
    if not all(isinstance(path, str | Path) for path in given):
        raise ArgumentError(f"`paths` must be names of files. Got {shown(paths)}.")
    missing = [str(path) for path in given if not Path(path).is_file()]
    if missing:
        raise ArgumentError(f"There is no file {', no file '.join(missing)}. Give files of verdicts.")
    return [Path(path) for path in given]


def _checked(files: Sequence[Path], terms: object, format: object, duplicates: object) -> Terms | None:
    if not files:
        raise ArgumentError("`paths` must name at least one file of verdicts. Got none.")
    names = [each.name for each in FORMATS]
    for argument, value, valid in (
        ("terms", terms, ["shown", "pair"]),
        ("format", format, names),
        ("duplicates", duplicates, ["error", "first"]),
    ):
        if value not in valid and not (value is None and argument != "duplicates"):
            raise ArgumentError(f"`{argument}` must be one of {', '.join(valid)}. Got {value!r}.")
    return None if terms is None else Terms(str(terms))


@dataclass(slots=True)
class _Reading:
    """The state of one reading: faults and sentences so far, and the calls gathered."""

    asked: Terms | None
    wanted: str | None
    gathering: Gathering
    faults: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    members: dict[object, str] = field(default_factory=dict)
    #: The files of which each sentence is true.
    told: dict[str, list[str]] = field(default_factory=dict)

    def read(self, path: Path) -> None:
        """Read one file, row by row."""
        source = Source(path, self.members)
        reader: Reader | None = None
        kind: Format | None = None
        before = len(self.faults)
        for found in stream_rows(path):
            if isinstance(found, Fault):
                self._fault(found.text)
                continue
            if reader is None:
                kind = _format(found, self.wanted)
                reader = kind.reader(source)
                self.gathering.open(found.where.rpartition(" ")[0])
            try:
                for call in reader(found):
                    self.gathering.add(call, found.where, found.line)
            except TooMany as error:
                raise DataError([*self.faults, f"{found.where}: {error}"]) from error
            except DataError as error:
                for fault in error.faults:
                    self._fault(f"{found.where}: {fault}")
        if kind is not None:
            self._settle(kind, source)
        elif len(self.faults) == before:
            raise DataError(f"{path.name} holds no verdicts. It must have a row for each of them.")

    def _fault(self, text: str) -> None:
        self.faults.append(text)
        if len(self.faults) >= MOST_FAULTS:
            raise DataError([*self.faults, "Reading stopped here."])

    def _settle(self, kind: Format, source: Source) -> None:
        """Decide what the verdicts of a file that has been read name."""
        name = source.path.name
        self.formats.append(kind.name)
        self.tell(f"Read as {kind.title}.", name)
        if kind.terms is not None:
            if self.asked not in (None, kind.terms):
                raise DataError(
                    f"{name}: --terms {self.asked} does not fit {kind.title}. Leave it out, or pass --format generic "
                    "for a table of your own."
                )
            terms, why = kind.terms, ""
        else:
            try:
                terms, why = self.gathering.evidence.settle(name, self.asked)
            except DataError as error:
                self.faults.extend(error.faults)
                return
        self.gathering.settle(terms)
        if why:
            self.tell(why, name)
        if source.unused:
            self.tell(f"Columns that are not read: {_listed(sorted(source.unused), 10)}.", name)
        if source.unnamed:
            self.tell("There is no column `judge`: its name is that of the file.", name)
        for sentence, tally in source.told.items():
            self.tell(f"{sentence}: {tally.count:,} ({tally}).", name)

    def tell(self, sentence: str, file: str) -> None:
        """Keep a sentence for the notices."""
        self.told.setdefault(sentence, []).append(file)

    def told_of_people(self) -> None:
        """Tell of labels of people that are none."""
        unread = self.gathering.pairs.unread
        if unread.count:
            self.tell(LABELS.format(unread.count, unread), "")

    def told_of_pairs(self, offered: Pairs, file: str) -> None:
        """Tell of pairs that only one of the two files has."""
        for sentence in coverage(self.gathering.pairs.index, offered, file):
            self.tell(sentence, file)

    def notices(self, n_files: int) -> list[str]:
        """Return the sentences, each with its files unless it is true of all."""
        return [
            f"{sentence} ({_listed(files)})" if any(files) and len(files) < n_files else sentence
            for sentence, files in self.told.items()
        ]


def _listed(names: Sequence[str], most: int = 3) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _format(row: Row, wanted: str | None) -> Format:
    """Return the format that the columns of the first row of a file fit."""
    columns = frozenset(row.values)
    for kind in FORMATS:
        if (wanted is None or kind.name == wanted) and kind.fits(columns):
            return kind
    found = f"Found {', '.join(row.values) or 'no column'}."
    if wanted is not None:
        needs = next(kind.needs for kind in FORMATS if kind.name == wanted)
        raise DataError(f"{row.where}: the format {wanted} needs the columns {needs}. {found} See docs/judge.md.")
    others = ", ".join(kind.name for kind in FORMATS[1:])
    raise DataError(
        f"{row.where}: a table of verdicts needs the columns {FORMATS[0].needs}. {found} The columns fit none of the "
        f"other formats either ({others}). See docs/judge.md."
    )
