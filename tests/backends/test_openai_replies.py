"""What is read from replies, whatever their shape: tokens, labels, errors, pauses; and what a call is taken to use."""

import datetime
import email.utils
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orderbias.backends import LabelRequest, TextRequest
from orderbias.backends._openai_bodies import Bodies, Served, TokenCount
from orderbias.backends._openai_errors import asked_pause, error_of, refused_parameter
from orderbias.backends._openai_labels import Labels
from orderbias.backends._openai_replies import Unusable, choice_of, first_tokens, looks_like, text_of, usage_of

TEXTS = ["A", " A", "a", "B", " B", "C", "А", "Ａ", "The", "\n", ""]
#: Log-probabilities as servers write them, with what stands for none.
NUMBERS = st.one_of(st.floats(-30, 0), st.sampled_from([None, -9999.0, float("nan"), float("-inf"), "x", True, -1e9]))


def usable(value):
    return isinstance(value, float) and math.isfinite(value) and value > -700


@given(st.lists(st.tuples(st.sampled_from(TEXTS), NUMBERS), min_size=1, max_size=12, unique_by=lambda pair: pair[0]))
def test_both_shapes_give_the_same_labels_and_fillers_give_none(pairs):
    known = dict(pairs)
    entries = [{"token": t, "logprob": p} for t, p in pairs]
    chat = {"content": [{**entries[0], "top_logprobs": entries}]}
    columns = {"tokens": [pairs[0][0]], "token_logprobs": [pairs[0][1]], "top_logprobs": [known]}
    expected = {
        form: [known.get(form + c) if usable(known.get(form + c)) else None for c in "ABC"] for form in ("", " ")
    }
    for shape in (chat, columns):
        data = {"choices": [{"logprobs": shape}]}
        if not any(usable(p) for p in known.values()):
            with pytest.raises(Unusable):
                first_tokens(data)
        else:
            assert Labels(("A", "B", "C"), ("", " ")).found(first_tokens(data)) == expected


KEYS = [
    "choices", "logprobs", "content", "top_logprobs", "token", "logprob", "tokens", "token_logprobs", "bytes",
    "message", "refusal", "text", "usage", "prompt_tokens", "finish_reason", "error",
]  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(KEYS),
        inner, max_size=4,
    ),
    max_leaves=25,
)  # fmt: skip


@given(ANYTHING)
def test_no_reply_is_a_fault_of_ours(data):
    for read in (choice_of, first_tokens, text_of):
        try:
            read(data)
        except Unusable:
            continue
    usage_of(data)
    refused_parameter(error_of(data))


def test_half_a_character_is_spelled_by_its_bytes():
    entries = [
        {"token": "\ufffd", "bytes": [0xE4, 0xB8], "logprob": -0.1},
        {"token": "A", "bytes": [65], "logprob": -2.0},
    ]
    found = first_tokens({"choices": [{"logprobs": {"content": [{**entries[0], "top_logprobs": entries}]}}]})
    assert [t.text for t in found] == ["\\xe4\\xb8", "A"]


@pytest.mark.parametrize("text", ["a", " A", "А", "Ａ", "𝐀", "Α", "\u2581A", "\u0120A", "A "])
def test_twins_of_a_label(text):
    assert looks_like(text, "A")


@pytest.mark.parametrize("text", ["B", "AA", "An", "", "4", "The"])
def test_no_twins(text):
    assert not looks_like(text, "A")


@given(st.text(max_size=200), st.none() | st.text(max_size=50), st.integers(1, 500))
def test_a_call_is_entered_with_no_less_than_it_can_use(prompt, system, max_tokens):
    request = TextRequest("1", (0, 1), prompt, system, max_tokens)
    most = TokenCount().most(request)
    # A tokenizer of bytes is the worst that there is.
    assert most.tokens_in >= len((prompt + (system or "")).encode()) + 200
    assert (most.calls, most.tokens_out) == (1, max_tokens)


def test_templates_that_add_much_are_learnt_from():
    request = LabelRequest("1", (0, 1), "ten bytes.", ("A", "B"))
    count = TokenCount()
    count.learn(request, 2010)
    assert count.most(request).tokens_in >= 2010
    assert count.likely(request) == 2010


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({}, None), ({"retry-after": "3"}, 3.0), ({"retry-after": "0.5"}, 0.5), ({"retry-after-ms": "250"}, 0.25),
     ({"retry-after": "soon"}, None), ({"retry-after": "-1"}, None), ({"retry-after": "nan"}, None)],
)  # fmt: skip
def test_pauses_that_servers_ask_for(headers, seconds):
    assert asked_pause(headers) == seconds


def test_a_pause_may_be_a_date():
    when = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=30)
    assert asked_pause({"retry-after": email.utils.format_datetime(when, usegmt=True)}) == pytest.approx(30, abs=2)


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"error": {"param": "max_tokens", "code": "unsupported_parameter", "message": "Use another."}}, "max_tokens"),
        ({"message": "Unsupported value: 'temperature' does not support 0", "param": "temperature"}, "temperature"),
        ({"error": {"message": "top_logprobs must be less than or equal to 5"}}, "top_logprobs"),
        ({"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted"}]}, "seed"),
        ({"error": {"message": "max_tokens is too large: 9000. This model supports at most 4096"}}, None),
        ({"error": "Not Found"}, None),
        (None, None),
        ("<html>", None),
    ],
)
def test_parameters_that_are_not_taken(body, parameter):
    assert refused_parameter(error_of(body)) == parameter


def test_bodies_are_what_servers_document():
    bodies = Bodies("m", {"top_k": 3})
    request = LabelRequest("1", (0, 1), "Q", ("A", "B"), "S")
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]
    common = {"model": "m", "max_tokens": 1, "temperature": 1.0, "top_p": 1.0, "top_k": 3}
    chat = {"messages": messages, "logprobs": True, **common}
    assert bodies.of_labels(request, Served("chat"), 20) == {**chat, "top_logprobs": 20}
    assert bodies.of_labels(request, Served("chat", "vllm", "token-ids"), 20, (32, 33)) == {
        **chat, "top_logprobs": 3, "logprob_token_ids": [32, 33], "return_tokens_as_token_ids": True,
    }  # fmt: skip
    assert bodies.of_labels(request, Served("completions", "llama.cpp", "n-probs"), 64) == {
        **common, "prompt": "Q", "logprobs": 64, "n_probs": 64,
    }  # fmt: skip
    text = TextRequest("1", (0, 1), "Q", max_tokens=9, temperature=0.5, seed=2**40 + 7)
    assert bodies.of_text(text, Served("completions", length="max_completion_tokens")) == {
        "model": "m",
        "prompt": "Q",
        "max_completion_tokens": 9,
        "temperature": 0.5,
        "top_p": 1.0,
        "seed": 7,
        "top_k": 3,
    }
