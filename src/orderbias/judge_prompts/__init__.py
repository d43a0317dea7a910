"""A pair of answers and their order in, exact prompt text out; knows nothing of models or replies."""

from orderbias.judge_prompts.checks import check_pair_shown
from orderbias.judge_prompts.template import BUILT_IN, LETTER, VERDICTS, WRITTEN, JudgeTemplate, fence

__all__ = ["BUILT_IN", "LETTER", "VERDICTS", "WRITTEN", "JudgeTemplate", "check_pair_shown", "fence"]
