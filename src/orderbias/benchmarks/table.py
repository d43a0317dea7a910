"""The named benchmarks as values: where their rows are, which column holds what, how many items count.

Splits and the rule that an item counts only with exactly K options are those of two-factors, A.1; exemplars come from
the development or training split (A.3). Only values live here: :mod:`orderbias.benchmarks` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orderbias.benchmarks.rows import Values, choices_cell, lettered_block, lettered_list, single_true_target
from orderbias.readers.field_map import FieldMap


@dataclass(frozen=True, slots=True)
class Files:
    """Local files, as patterns below the data folder.

    ``columns`` names those of a CSV without header; ``golds`` is a file with one gold a line beside the rows.
    """

    patterns: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    quoted: bool = True
    golds: str | None = None


@dataclass(frozen=True, slots=True)
class Hub:
    """One split of a data set of the hub, in one configuration or several."""

    dataset: str
    split: str
    configs: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a benchmark and how its rows become items.

    Rows have two columns more: ``@part`` (the file's name without ending and split, or the configuration) and ``@id``
    (the row's number, or ``value/number`` where ``numbered_by`` names a column to count within).
    """

    items: Files | Hub
    shots: Files | Hub | None
    fields: FieldMap
    convert: Callable[[Values], Values] | None = None
    gold_base: int | None = None
    numbered_by: str | None = None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark by name.

    ``n_options`` is K: items with another number are left out. ``n_items`` counts the whole split after that rule.
    ``shots`` names the split of the exemplars ("" where there is none), five of each group if ``shots_by_group``.
    ``n_invalid`` rows are known to have no valid gold. ``subjects`` are the only groups taken, where not all are.
    """

    name: str
    title: str
    n_options: int
    n_items: int
    split: str
    shots: str
    licence: str
    source: str
    local: Copy
    hub: Copy
    embedded: Copy | None = None
    shots_by_group: bool = False
    n_invalid: int = 0
    subjects: tuple[str, ...] = ()
    note: str = ""


MMLU_FIVE = ("abstract_algebra", "anatomy", "college_chemistry", "computer_security", "global_facts")

BBH_TASKS = (
    "date_understanding", "disambiguation_qa", "geometric_shapes", "hyperbaton", "logical_deduction_five_objects",
    "logical_deduction_seven_objects", "logical_deduction_three_objects", "movie_recommendation",
    "penguins_in_a_table", "reasoning_about_colored_objects", "ruin_names", "salient_translation_error_detection",
    "snarks", "temporal_sequences", "tracking_shuffled_objects_five_objects",
    "tracking_shuffled_objects_seven_objects", "tracking_shuffled_objects_three_objects",
)  # fmt: skip

_NESTED = FieldMap("question.stem", "question.choices[].text", ("answerKey",), "id")
_CHOICES = FieldMap("question", "choices.text", ("answerKey",), "id")
_PIQA = FieldMap("goal", ("sol1", "sol2"), ("label",), "@id")
_HELLASWAG = FieldMap("ctx", "endings", ("label",), "@id")
_CONVERTED = FieldMap("question", "options", ("gold",), "@id")
_RACE = FieldMap("question", "options", ("answer",), "@id", passage="article")
_MMLU_PRO = FieldMap("question", "options", ("answer",), "question_id", "category")
_LOGIQA = FieldMap("question", "options", ("label",), "@id", passage="passage")

_MMLU_COLUMNS = ("question", "A", "B", "C", "D", "answer")
_MMLU_LOCAL = FieldMap("question", ("A", "B", "C", "D"), ("answer",), "@id", "@part")
_MMLU_HUB = Copy(
    Hub("cais/mmlu", "test", ("all",)),
    Hub("cais/mmlu", "dev", ("all",)),
    FieldMap("question", "choices", ("answer",), "@id", "subject"),
    gold_base=0,
    numbered_by="subject",
)


def _mmlu(subjects: tuple[str, ...]) -> Copy:
    test, dev = (tuple(f"mmlu/{split}/{subject}_{split}.csv" for subject in subjects) for split in ("test", "dev"))
    return Copy(Files(test, _MMLU_COLUMNS), Files(dev, _MMLU_COLUMNS), _MMLU_LOCAL, numbered_by="@part")


def _arc(name: str, title: str, n_items: int) -> Benchmark:
    return Benchmark(
        name, title, 4, n_items, "test", "validation", "CC BY-SA 4.0", f"hf:allenai/ai2_arc:{title}",
        Copy(Files((f"arc/{title}-Test.jsonl",)), Files((f"arc/{title}-Dev.jsonl",)), _NESTED),
        Copy(Hub("allenai/ai2_arc", "test", (title,)), Hub("allenai/ai2_arc", "validation", (title,)), _CHOICES),
    )  # fmt: skip


_ALL = (
    Benchmark(
        "piqa", "PIQA", 2, 1838, "validation", "train", "AFL-3.0", "hf:baber/piqa",
        Copy(Files(("piqa/valid.jsonl",), golds="piqa/valid-labels.lst"), None, _PIQA, gold_base=0),
        Copy(Hub("baber/piqa", "validation"), Hub("baber/piqa", "train"), _PIQA, gold_base=0),
    ),
    Benchmark(
        "winogrande", "WinoGrande", 2, 1267, "validation", "train", "CC BY", "hf:allenai/winogrande:winogrande_xl",
        Copy(Files(("winogrande/dev.jsonl",)), None,
             FieldMap("sentence", ("option1", "option2"), ("answer",), "qID"), gold_base=1),
        Copy(Hub("allenai/winogrande", "validation", ("winogrande_xl",)),
             Hub("allenai/winogrande", "train", ("winogrande_xl",)),
             FieldMap("sentence", ("option1", "option2"), ("answer",), "@id"), gold_base=1),
    ),
    _arc("arc-easy", "ARC-Easy", 2365),
    _arc("arc-challenge", "ARC-Challenge", 1165),
    Benchmark(
        "hellaswag", "HellaSwag", 4, 10042, "validation", "train", "MIT", "hf:Rowan/hellaswag",
        Copy(Files(("hellaswag/hellaswag_val*.jsonl",)), None, _HELLASWAG, gold_base=0),
        Copy(Hub("Rowan/hellaswag", "validation"), Hub("Rowan/hellaswag", "train"), _HELLASWAG, gold_base=0),
    ),
    Benchmark(
        "mmlu-five", "MMLU, five subjects", 4, 535, "test", "dev", "MIT", "hf:cais/mmlu:all",
        _mmlu(MMLU_FIVE), _MMLU_HUB,
        Copy(Files(("mmlu_five_test.jsonl.gz",)), Files(("mmlu_five_dev.jsonl.gz",)),
             FieldMap("question", "options", ("gold",), "id", "group"), gold_base=0),
        shots_by_group=True, subjects=MMLU_FIVE,
    ),
    Benchmark("mmlu", "MMLU", 4, 14042, "test", "dev", "MIT", "hf:cais/mmlu:all", _mmlu(("*",)), _MMLU_HUB,
              shots_by_group=True),
    Benchmark(
        "openbookqa", "OpenBookQA", 4, 500, "test", "validation", "Apache-2.0", "hf:allenai/openbookqa:main",
        Copy(Files(("openbookqa/test.tsv",), quoted=False), Files(("openbookqa/dev.tsv",), quoted=False),
             FieldMap("Question Stem", "options", ("Answer Key",), "ID"), choices_cell),
        Copy(Hub("allenai/openbookqa", "test", ("main",)), Hub("allenai/openbookqa", "validation", ("main",)),
             FieldMap("question_stem", "choices.text", ("answerKey",), "id")),
    ),
    Benchmark(
        "logiqa", "LogiQA", 4, 651, "test", "train", "none stated", "hf:EleutherAI/logiqa:logiqa",
        Copy(Files(("logiqa/logiqa-en.jsonl",)), None, _LOGIQA, lettered_list),
        Copy(Hub("EleutherAI/logiqa", "test", ("logiqa",)), Hub("EleutherAI/logiqa", "train", ("logiqa",)),
             FieldMap("question", "options", ("label",), "@id", passage="context"), lettered_list),
        note="The letters that the source prints before its options were taken off; lists printed as (A), (C), (B), "
             "(D) were put into the order of their letters, which is what their golds mean.",
    ),
    Benchmark(
        "race-middle", "RACE-middle", 4, 1436, "test", "train", "non-commercial research only", "hf:ehovy/race:middle",
        Copy(Files(("race_middle/middle.jsonl",)), None, _RACE, numbered_by="example_id"),
        Copy(Hub("ehovy/race", "test", ("middle",)), Hub("ehovy/race", "train", ("middle",)), _RACE,
             numbered_by="example_id"),
    ),
    Benchmark(
        "truthfulqa-mc1", "TruthfulQA-MC1", 4, 208, "validation", "", "Apache-2.0",
        "hf:truthfulqa/truthful_qa:multiple_choice",
        Copy(Files(("truthfulqa/mc_task.json",)), None, _CONVERTED, single_true_target),
        Copy(Hub("truthfulqa/truthful_qa", "validation", ("multiple_choice",)), None, _CONVERTED, single_true_target),
        note="The source lists the gold first in every item; the options were put into an order drawn from the "
             "item's id.",
    ),
    Benchmark(
        "bbh-mc", "BBH-MC", 4, 732, "test", "", "MIT", "hf:SaylorTwift/bbh",
        Copy(Files(tuple(f"bbh/{task}.json" for task in BBH_TASKS)), None,
             FieldMap("question", "options", ("gold",), "@id", "@part"), lettered_block, numbered_by="@part"),
        Copy(Hub("SaylorTwift/bbh", "test", BBH_TASKS), None,
             FieldMap("question", "options", ("gold",), "@id", "@part"), lettered_block, numbered_by="@part"),
        n_invalid=3,
    ),
    Benchmark(
        "mmlu-pro", "MMLU-Pro", 10, 9981, "test", "validation", "Apache-2.0", "hf:TIGER-Lab/MMLU-Pro",
        Copy(Files(("mmlu_pro/items_*.jsonl",)), None, _MMLU_PRO),
        Copy(Hub("TIGER-Lab/MMLU-Pro", "test"), Hub("TIGER-Lab/MMLU-Pro", "validation"), _MMLU_PRO),
        shots_by_group=True,
    ),
    Benchmark(
        "csqa", "CommonsenseQA", 5, 1221, "validation", "train", "MIT (as quoted; not stated in the files)",
        "hf:tau/commonsense_qa",
        Copy(Files(("csqa/dev_rand_split.jsonl",)), None, _NESTED),
        Copy(Hub("tau/commonsense_qa", "validation"), Hub("tau/commonsense_qa", "train"), _CHOICES),
    ),
)  # fmt: skip

#: Every benchmark by its name.
BENCHMARKS: Mapping[str, Benchmark] = {benchmark.name: benchmark for benchmark in _ALL}
