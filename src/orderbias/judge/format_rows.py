"""Rows of the files that other tools write -> calls; must not know how a format is recognised or calls are gathered."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from orderbias.errors import DataError
from orderbias.judge.columns import Facts, cell_text, member, normalised, number, text_facts
from orderbias.judge.gathering import Call
from orderbias.judge.pairs import encodable
from orderbias.judge.tables import Source, pair_id
from orderbias.row_files import Row, shown
from orderbias.signature import text_hash
from orderbias.verdicts import FIRST, SECOND, TIE, UNREAD, read_reply, read_word

#: Turns a row into the calls that it holds.
Reader = Callable[[Row], Iterable[Call]]


def _needed(values: Mapping[str, object], *names: str) -> list[Any]:
    missing = [name for name in names if name not in values]
    if missing:
        raise DataError(f"needs {', '.join(missing)}. Got {', '.join(values) or 'nothing'}.")
    return [values[name] for name in names]


def _word(word: object) -> dict[str, Any]:
    return {"verdict": read_word(word)[0], "word": word}


def _text(value: object, name: str) -> str:
    text = cell_text(value, name)
    if text is None:
        raise DataError(f"`{name}` must not be empty. Got {shown(value)}.")
    return text


def _oriented(source: Source, question: str, first: str, second: str) -> tuple[str, str, str, int]:
    """Return the id of a pair, its A and B, and the order: A is the model shown first when the pair was first met."""
    key = (question, *sorted((first, second)))
    a = source.members.setdefault(key, first)
    b = second if a == first else first
    return f"{question}/{a}/{b}", a, b, int(a != first)


def fastchat(source: Source) -> Reader:
    """Read FastChat's pair judgments: the first game shows model_1 first, the second model_2."""

    def calls(row: Row) -> Iterable[Call]:
        question, model_1, model_2, *winners = _needed(
            row.values, "question_id", "model_1", "model_2", "g1_winner", "g2_winner"
        )
        turn = cell_text(row.values.get("turn"), "turn") or "1"
        judge = row.values.get("judge")
        parts = judge if isinstance(judge, list) else [judge]
        named = " ".join(filter(None, (cell_text(part, "judge") for part in parts))) or source.stem
        first, second = _text(model_1, "model_1"), _text(model_2, "model_2")
        pair, a, b, order = _oriented(source, f"{pair_id(question)}/{turn}", first, second)
        facts = Facts(model_a=a, model_b=b, group=f"turn {turn}")
        for game, winner in enumerate(winners):
            code = read_word(winner)[0]
            code = SECOND - code if order and code in (FIRST, SECOND) else code
            yield Call(pair, game ^ order, code, named, facts, word=winner)

    return calls


def llmbar(source: Source) -> Reader:
    """Read LLMBar's results: winners are members of the pair in both orders; a pair's id is its set and number."""
    folder = source.path.absolute().parent
    # <set>/<judge>/<prompt>/result.json, which its neighbours tell from any other result.json.
    laid_out = (folder / "statistics.json").is_file() or (folder.parents[1] / "dataset.json").is_file()
    judge = f"{folder.parent.name} {folder.name}" if laid_out else source.stem
    group = folder.parents[1].name if laid_out else None

    def calls(row: Row) -> Iterable[Call]:
        output_1, output_2, label, results = _needed(row.values, "output_1", "output_2", "label", "results")
        unread: list[object] = []
        human = member(label, None, None, unread)
        facts = Facts(human=human, group=group, unread=tuple(unread), **text_facts(output_1, output_2))
        pair = f"{group}/{row.number}" if group else str(row.number)
        for repeat, result in enumerate(_objects(results, "results")):
            for order, key in enumerate(("swap = False", "swap = True")):
                if key in result:
                    call: Any = result[key]
                    winner = call.get("winner") if isinstance(call, Mapping) else None
                    yield Call(pair, order, judge=judge, facts=facts, repeat=repeat, **_word(winner))

    return calls


def _objects(value: object, name: str) -> list[Mapping[str, object]]:
    if not isinstance(value, list) or not all(isinstance(part, Mapping) for part in value):
        raise DataError(f"`{name}` must be a list of objects. Got {shown(value)}.")
    return value


def judgebench(source: Source) -> Reader:
    """Read JudgeBench's outputs: the second game shows B first; its ``A>B`` says that the answer shown first won."""

    def calls(row: Row) -> Iterable[Call]:
        values = row.values
        pair, label = _needed(values, "pair_id", "label")
        unread: list[object] = []
        human = member(label, None, None, unread)
        answering = cell_text(values.get("response_model"), "response_model")
        facts = Facts(
            model_a=answering,
            model_b=answering,
            human=human,
            group=cell_text(values.get("source"), "source"),
            unread=tuple(unread),
            **text_facts(values.get("response_A"), values.get("response_B")),
        )
        judge, games = _judgebench_games(values)
        for order, decision in enumerate(games):
            yield Call(pair_id(pair), order, judge=judge or source.stem, facts=facts, **_word(decision))

    return calls


def _judgebench_games(values: Mapping[str, object]) -> tuple[str | None, list[object]]:
    """Return the judge and its decisions of the first game and, if it was played, the second."""
    if "judgments" not in values:
        model = cell_text(values.get("judge_model"), "judge_model")
        return model, _needed(values, "decision_game1", "decision_game2_swapped")
    judgments = values["judgments"]
    if not isinstance(judgments, list) or not 1 <= len(judgments) <= 2:
        raise DataError(f"`judgments` must be a list of one or two games. Got {shown(judgments)}.")
    games: list[Mapping[str, Any]] = [game if isinstance(game, Mapping) else {} for game in judgments]
    inner = [game["judgment"] for game in games if isinstance(game.get("judgment"), Mapping)]
    model = cell_text(inner[0].get("judge_model"), "judge_model") if inner else None
    prompt = cell_text(values.get("judge_name"), "judge_name")
    return " ".join(filter(None, (model, prompt))) or None, [game.get("decision") for game in games]


def shi(source: Source) -> Reader:
    """Read records of Judging the Judges, as one row a call or as the tables that hold whole replies."""

    def calls(row: Row) -> Iterable[Call]:
        if "cmp_index" in row.values:
            yield from _shi_record(source, row.values)
            return
        question, shown_first, shown_second, word = _needed(
            row.values, "question_id", "shown_first", "shown_second", "verdict"
        )
        first, second = _text(shown_first, "shown_first"), _text(shown_second, "shown_second")
        pair, a, b, order = _oriented(source, pair_id(question), first, second)
        yield Call(pair, order, judge=source.stem, facts=Facts(model_a=a, model_b=b), **_word(word))

    return calls


#: Columns of a record that are no judge; each other column holds one judge's replies.
_SHI_COLUMN = re.compile(
    r"cmp_index|question(_\d)?|answer\d(_\d)?|A|B|reference_answer(_\d)?|evaluating_guidance|task|system_prompt"
)
_CHOICE = re.compile(r"^\W*Choice\W+([ABC])\b", re.IGNORECASE | re.MULTILINE)


def _shi_record(source: Source, values: Mapping[str, object]) -> Iterable[Call]:
    parts = str(values["cmp_index"]).rsplit(";", 2)
    if len(parts) != 3 or not all(part.strip() for part in parts):
        raise DataError(f"`cmp_index` must be question;first model;second model. Got {shown(values['cmp_index'])}.")
    pair, a, b, order = _oriented(source, *(part.strip() for part in parts))
    texts = [[v for k, v in sorted(values.items()) if re.fullmatch(rf"answer{n}(_\d)?", k)] for n in (1, 2)]
    answers: list[object] = [each if each and None not in each else None for each in texts]
    if order:
        answers.reverse()
    facts = Facts(model_a=a, model_b=b, group=cell_text(values.get("task"), "task"), **text_facts(*answers))
    for column, reply in values.items():
        if not _SHI_COLUMN.fullmatch(column):
            yield Call(pair, order, _shi_reply(reply), column, facts, word=reply)


def _shi_reply(reply: object) -> int:
    """Read a reply: ``Choice: A`` where it says that, else what stands in double brackets."""
    text = reply if isinstance(reply, str) else ""
    choices = {"ABC".index(letter.upper()) for letter in _CHOICE.findall(text)}
    if choices:
        return choices.pop() if len(choices) == 1 else UNREAD
    return read_reply(text)


def alpacaeval(source: Source) -> Reader:
    """Read AlpacaEval's annotations: preferences between outputs 1 and 2, of which one was shown first at random."""

    def calls(row: Row) -> Iterable[Call]:
        values = row.values
        instruction, output_1, output_2, preference = _needed(
            values, "instruction", "output_1", "output_2", "preference"
        )
        code, p_second = _preference(preference)
        if code == TIE and output_1 == output_2:
            source.tell("Ties given to identical answers without asking the judge left out", row.where, "tie")
            return
        texts = [_whole(instruction, "instruction"), _whole(output_1, "output_1"), _whole(output_2, "output_2")]
        switched = values.get("is_switched_outputs")
        order = int(switched) if isinstance(switched, bool) else alpacaeval_order(texts[0])
        facts = Facts(
            model_a=cell_text(values.get("generator_1"), "generator_1"),
            model_b=cell_text(values.get("generator_2"), "generator_2"),
            group=cell_text(values.get("dataset"), "dataset"),
            **text_facts(output_1, output_2),
        )
        logs = None
        if p_second is not None:
            log_a, log_b = math.log1p(-p_second), math.log(p_second)
            logs = normalised((log_b, log_a, -math.inf) if order else (log_a, log_b, -math.inf))
        judge = cell_text(values.get("annotator"), "annotator") or source.stem
        yield Call(text_hash(texts), order, code, judge, facts, word=preference, logprobs=logs)

    return calls


def alpacaeval_order(instruction: str) -> int:
    """Return the order in which AlpacaEval showed a pair: 0 as it stands, 1 switched.

    It is not stored; it is one draw from (False, True) by a generator seeded with the instruction. The draw is by
    ``choices``, which spends the generator otherwise than ``choice`` does.

    Examples
    --------
    >>> alpacaeval_order("How do I make escargot?")
    1
    """
    return int(random.Random(f"is_switched_outputs{instruction}0").choices((False, True), k=1)[0])


def _whole(value: object, name: str) -> str:
    """Return a text as it stands, of which every character counts."""
    if not isinstance(value, str):
        raise DataError(f"`{name}` must be text. Got {shown(value)}.")
    return encodable(value)


def _preference(value: object) -> tuple[int, float | None]:
    """Return the verdict on (output_1, output_2) and, where it is a probability, that of output_2."""
    try:
        preference = number(value, "preference")
    except DataError:
        return UNREAD, None
    if preference in (0, 1.5):  # 0 was the tie of its first versions
        return TIE, None
    if not 1 <= preference <= 2:
        return UNREAD, None
    return int(preference > 1.5), None if preference in (1, 2) else preference - 1


PANDALM_JUDGE = re.compile(r"(.+)_(verdict|result)")
_PANDALM_RATER = re.compile(r"(rater|annotator)\d+")


def pandalm(source: Source) -> Reader:
    """Read PandaLM's results: one order, and one judge for each column of verdicts."""
    del source  # everything is in the row

    def calls(row: Row) -> Iterable[Call]:
        pair = pair_id(*_needed(row.values, "idx"))
        facts = pandalm_facts(row.values)
        for column, word in row.values.items():
            judge = PANDALM_JUDGE.fullmatch(column)
            if judge:
                yield Call(pair, 0, _pandalm_code(word), judge[1], facts, word=word)

    return calls


def pandalm_facts(values: Mapping[str, object]) -> Facts:
    """Read what a row of PandaLM's says of its pair: models, people's labels (0 is a tie), texts."""
    models = str(values.get("cmp_key") or "").split("_")
    raters, unread = [], []
    for column, label in values.items():
        if _PANDALM_RATER.fullmatch(column):
            code = _pandalm_code(label)
            raters.append((column, None if code == UNREAD else code))
            unread += [label] if code == UNREAD and label is not None else []
    if len(models) != 2:
        models = [None, None]  # type: ignore[list-item]
    return Facts(
        model_a=models[0],
        model_b=models[1],
        raters=tuple(raters),
        unread=tuple(unread),
        **text_facts(values.get("response1"), values.get("response2")),
    )


def _pandalm_code(word: object) -> int:
    return TIE if str(word).strip() == "0" else read_word(word)[0]
