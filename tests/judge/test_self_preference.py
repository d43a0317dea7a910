"""Self-preference: families by name, judges built to have it, statsmodels, and brute force."""

import json

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from orderbias.judge.self_preference import family_of, self_preference
from orderbias.judge.values import Judgments, NotChecked

NAMES = {
    "gpt-4-0613": "OpenAI", "openai/gpt-4o": "OpenAI", "GPT-3.5-Turbo": "OpenAI", "gpt4": "OpenAI", "chatgpt": "OpenAI",
    "o1-mini-2024-09-12": "OpenAI", "o3": "OpenAI", "text-davinci-003": "OpenAI", "azure/openai/gpt-4": "OpenAI",
    "claude-3-opus": "Anthropic", "anthropic.claude-v2:1": "Anthropic", "us.anthropic.claude-3-5-sonnet": "Anthropic",
    "gemini-pro": "Google", "models/gemini-1.5-pro": "Google", "gemma-2-9b": "Google", "palm-2": "Google",
    "meta-llama/Llama-2-70b-chat": "Llama", "LLaMA2": "Llama", "llama-13b": "Llama", "CodeLlama-34b": "Llama",
    "Qwen/Qwen2.5-7B": "Qwen", "mixtral-8x7b": "Mistral", "mistral-7b": "Mistral", "deepseek-r1": "DeepSeek",
    "tiiuae/falcon-180B": "Falcon", "phi-3-mini": "Phi", "grok-2": "xAI", "command-r": "Cohere", "yi-34b": "Yi",
    "vicuna-13b-v1.3": "Vicuna", "alpaca-13b": "Alpaca", "ollama:llama3:8b": "Llama",
    # These only look like one of the above.
    "gpt-j-6b": "EleutherAI", "EleutherAI/gpt-neox-20b": "EleutherAI", "gpt-neo-2.7B": "EleutherAI",
    "gpt4all-13b-snoozy": "GPT4All", "philosopher-7b": None, "commander": None, "o12": None, "yin": None, "": None,
    "my-model": None,
}  # fmt: skip


@pytest.mark.parametrize(("name", "family"), NAMES.items())
def test_family_of(name, family):
    assert family_of(name) == family


def test_families_given_come_first():
    assert family_of("vicuna-13b", {"vicuna-13b": "Llama"}) == "Llama"
    assert family_of("gpt-4", {"vicuna-13b": "Llama"}) == "OpenAI"


def judged(verdicts, model_a, model_b, human, judge="gpt-4"):
    verdicts = np.asarray(verdicts, np.int8)
    calls = np.stack([verdicts, np.array([1, 0, 2, -1], np.int8)[verdicts]], axis=1)[:, :, None]
    columns = {"model_a": model_a, "model_b": model_b}
    columns = {k: None if v is None else np.array(v, object) for k, v in columns.items()}
    human = None if human is None else np.asarray(human, np.int8)
    return Judgments(np.array([str(i) for i in range(len(verdicts))], object), calls, judge, human, **columns)


def simulated(n, own_slope, human_slope, human_likes_own=0.0, seed=0, models=("gpt-4o", "claude-2", "llama-7b")):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, len(models), (2, n))
    own = (a == 0).astype(int) - (b == 0)
    human = np.where(rng.random(n) < 0.1, 2, (rng.random(n) > expit(human_likes_own * own)).astype(int))
    sign = np.array([1, -1, 0])[human]
    won = rng.random(n) < expit(own_slope * own + human_slope * sign)
    verdicts = np.where(rng.random(n) < 0.05, 2, np.where(won, 0, 1))
    names = np.array(models, object)
    return judged(verdicts, names[a], names[b], human), own, sign


def test_the_model_is_that_of_statsmodels_row_by_row():
    judgments, own, sign = simulated(3_000, own_slope=0.7, human_slope=1.2)
    found = self_preference(judgments)
    verdicts = judgments.calls[:, 0]
    rows = verdicts != 2
    X = np.stack([np.ones(len(own)), own, sign], axis=1)[rows]
    theirs = sm.GLM(verdicts[rows] == 0, X, family=sm.families.Binomial()).fit(tol=1e-12)
    assert found.log_odds == pytest.approx(theirs.params[1], abs=1e-7)
    assert found.interval == pytest.approx(theirs.conf_int()[1], abs=1e-6)
    assert found.p_value == pytest.approx(theirs.pvalues[1], rel=1e-4)
    assert found.interval[0] < 0.7 < found.interval[1]


def test_a_judge_that_agrees_with_people_about_a_better_family_prefers_nobody():
    judgments, *_ = simulated(20_000, own_slope=0.0, human_slope=2.0, human_likes_own=1.0, seed=1)
    found = self_preference(judgments)
    assert found.judge_prefers_own.interval[0] > 0.55
    assert found.interval[0] < 0 < found.interval[1]


def test_counts_by_hand():
    rows = [  # verdict, A, B, label
        (0, "gpt-4", "claude-2", 0), (0, "gpt-4", "claude-2", 1), (1, "claude-2", "gpt-3.5", 0),
        (1, "gpt-4", "llama-7b", 1), (2, "gpt-4", "llama-7b", 0), (0, "gpt-4", "llama-7b", 2),
        (0, "gpt-4", "gpt-3.5", 0), (1, "claude-2", "llama-7b", 0), (-1, "gpt-4", "claude-2", 0),
        (0, "gpt-4", "claude-2", -1), (0, "claude-2", "strange", 1),
    ]  # fmt: skip
    found = self_preference(judged(*zip(*rows, strict=True)))
    assert found.family == "OpenAI"
    assert (found.n_pairs, found.n_tied) == (6, 2)
    assert (found.judge_prefers_own.value, found.people_prefer_own.value) == (0.75, 0.25)
    assert found.unknown == ("strange",)
    json.dumps(found.as_dict(), allow_nan=False)


def test_a_judge_that_always_takes_its_own_is_finite():
    n = 40
    found = self_preference(judged([0, 1] * n, ["gpt-4", "llama"] * n, ["llama", "gpt-4"] * n, [0, 0, 1, 1] * (n // 2)))
    assert found.fit.separated
    assert found.judge_prefers_own.value == 1
    assert 0 < found.interval[0] < found.log_odds < found.interval[1] < np.inf


def test_own_always_first_of_the_pair_takes_the_place_of_the_intercept():
    rng = np.random.default_rng(5)
    human = rng.integers(0, 2, 2_000)
    won = rng.random(2_000) < expit(0.5 + np.array([1, -1])[human])
    found = self_preference(judged(np.where(won, 0, 1), ["gpt-4"] * 2_000, ["llama"] * 2_000, human))
    assert found.fit.names == ("own", "human")
    assert found.interval[0] < 0.5 < found.interval[1]


def test_own_that_is_what_people_prefer_cannot_be_told_from_it():
    found = self_preference(judged([0, 1, 1, 0], ["gpt-4", "llama"] * 2, ["llama", "gpt-4"] * 2, [0, 1, 0, 1]))
    assert isinstance(found.fit, NotChecked)
    assert found.log_odds is None
    json.dumps(found.as_dict(), allow_nan=False)


def test_what_is_missing_is_named():
    names = (["gpt-4"], ["llama"])
    assert self_preference(judged([0], None, None, [0])) == NotChecked("needs `model_a` and `model_b`")
    assert self_preference(judged([0], *names, None)) == NotChecked("needs `human`")
    assert "family of the judge" in self_preference(judged([0], *names, [0], judge="someone")).why
    assert "Anthropic" in self_preference(judged([0], *names, [0], judge="claude-3")).why
    assert "exactly one" in self_preference(judged([0], ["gpt-4"], ["gpt-3.5"], [0])).why
    someone = judged([0, 1], *[n * 2 for n in names], [0, 1], judge="someone")
    mapped = self_preference(someone, families={"someone": "OpenAI"})
    assert mapped.family == "OpenAI"
