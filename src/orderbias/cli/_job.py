"""What is asked of which model, and where the answers go; of a model without log-probabilities, a written letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from orderbias.cli._asking import ModelOptions
from orderbias.cli._saying import say
from orderbias.errors import ArgumentError, ModelError
from orderbias.items import ItemSet
from orderbias.judge_prompts import JudgeTemplate
from orderbias.orderings import DesignSpec, SwapSample
from orderbias.prompts import Prompter
from orderbias.signature import Signature
from orderbias.strategies import Strategy
from orderbias.strategies.first_token import first_token
from orderbias.strategies.one_letter import READOUT as ONE_LETTER
from orderbias.strategies.one_letter import OneLetter
from orderbias.strategies.sampled_label import SampledLabel

if TYPE_CHECKING:
    from orderbias.backends import Backend
    from orderbias.store import Mirror, Run


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked of which model, how, and where the answers go.

    ``settings`` are all that must not change within a run, but for the model's own. ``nouns`` are what items and
    queries are called, ``notes`` lines that belong under the plan, and ``following`` the command that comes next.
    ``texts`` are what prompts are made of besides the template, for the run to remember; ``written`` says that answers
    are read from replies, in more than one way; ``mirror`` keeps ``out`` and a run elsewhere alike.
    """

    out: str
    model: str
    items: ItemSet
    design: DesignSpec | SwapSample
    template: Prompter
    strategy: Strategy
    readout: str
    settings: Signature
    loading: ModelOptions = field(default_factory=ModelOptions)
    repeats: int = 1
    dry_run: bool = False
    as_json: bool = False
    nouns: tuple[str, str] = ("items", "queries")
    notes: tuple[str, ...] = ()
    following: str | None = "measure"
    texts: Mapping[str, str] = field(default_factory=dict)
    written: bool = False
    mirror: Mirror | None = None


def wanted_readout(job: Job) -> Job:
    """Have a letter written where that was asked for."""
    if job.loading.readout == "auto":
        return job
    if not _scores_labels(job):
        raise ArgumentError(f"--readout must go with an answer that is a label. Got {job.loading.readout}.")
    return _one_letter(job) if job.loading.readout == ONE_LETTER else job


def possible_readout(job: Job, backend: Backend, existing: Run | None) -> Job:
    """Have a letter written where the model shows no log-probabilities."""
    if getattr(backend, "has_logprobs", True) or not _scores_labels(job):
        return job
    if job.loading.readout != "auto":
        if existing is not None:
            return job  # the run's readout is another, as its settings will say
        raise ModelError(
            "The server shows no log-probabilities, which --readout first-token needs. Leave --readout out: the model "
            "then writes its letter."
        )
    say(
        "The server shows no log-probabilities: the model writes a letter instead, and the readout is "
        f"{ONE_LETTER!r}. Remedies that need log-probabilities cannot be applied to it (docs/api.md)."
    )
    return _one_letter(job)


def _scores_labels(job: Job) -> bool:
    return job.strategy is first_token or isinstance(job.strategy, SampledLabel)


def _one_letter(job: Job) -> Job:
    """Return the job with the letter written; a judge's prompt asks for it already."""
    drawn = job.strategy if isinstance(job.strategy, SampledLabel) else None
    strategy = OneLetter(
        job.loading.letter_tokens,
        drawn.temperature if drawn else 0.0,
        drawn.seed if drawn else 0,
        instruct=not isinstance(job.template, JudgeTemplate),
    )
    plain = "first-token" in job.readout
    readout = job.readout.replace("first-token", ONE_LETTER) if plain else f"{job.readout}-{ONE_LETTER}"
    settings = job.settings.extended(readout=readout, letter_tokens=job.loading.letter_tokens)
    return replace(job, strategy=strategy, readout=readout, settings=settings)
