"""Label tokens, against the tokens of full texts."""

import pytest

transformers = pytest.importorskip("transformers")

from tiny_models import byte_level, metaspace  # noqa: E402

from orderbias.backends import LabelRequest  # noqa: E402
from orderbias.backends._labels import Continuation, LabelTokenizer, Readout  # noqa: E402
from orderbias.errors import ArgumentError, ModelError  # noqa: E402

CHAT = "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}[assistant]\n"


def request(prompt, labels=("A", "B"), system=None):
    return LabelRequest("i", (0, 1), prompt, labels, system)


@pytest.mark.parametrize("make", [byte_level, metaspace])
@pytest.mark.parametrize("form", ["", " "])
def test_context_and_label_are_the_full_text(make, form):
    tokenizer = make()
    prompts = [
        f"Question: {word}?\n{end}" for word in ("heart", "gas") for end in ("Answer:", "Answer: ", "A nswer\n\n")
    ]
    labels = ("A", "B", "(C)")
    found = LabelTokenizer(tokenizer).continuations([request(p, labels) for p in prompts], form)
    for prompt, one in zip(prompts, found, strict=True):
        for label, sequence in zip(labels, one.sequences, strict=True):
            assert list(one.context + sequence) == tokenizer(prompt + form + label)["input_ids"]
        assert len({sequence[0] for sequence in one.sequences}) > 1


def test_one_end_is_looked_up_once():
    tokenizer = LabelTokenizer(byte_level())
    calls = []
    encode = tokenizer._encode
    tokenizer._encode = lambda texts: calls.append(len(texts)) or encode(texts)
    tokenizer.continuations([request(f"Question {i}\nAnswer:", tuple("ABCD")) for i in range(50)], " ")
    assert calls == [50, 5]


def test_a_remembered_end_is_not_trusted_across_different_tokens():
    # The same last line after different texts: the token before the label must be the one remembered.
    tokenizer = byte_level()
    prompts = ["heart", "\nheart", "xheart"]
    found = LabelTokenizer(tokenizer).continuations([request(p) for p in prompts], "")
    for prompt, one in zip(prompts, found, strict=True):
        assert list(one.context + one.sequences[1]) == tokenizer(prompt + "B")["input_ids"]


def test_labels_that_begin_one_another_are_refused():
    with pytest.raises(ModelError, match=r"'1' \(token ids \[\d+\]\) and '10' \(token ids"):
        LabelTokenizer(byte_level()).continuations([request("Answer:", ("1", "10"))], "")


def test_labels_the_model_does_not_know_are_refused():
    with pytest.raises(ModelError, match="'Ω' is not in this model's vocabulary"):
        LabelTokenizer(metaspace()).continuations([request("Answer:", ("A", "Ω"))], "")


def test_an_empty_prompt_is_refused():
    with pytest.raises(ModelError, match="no token of its own"):
        LabelTokenizer(byte_level()).continuations([request("")], "")


class TestBos:
    def test_a_plain_prompt_has_one(self):
        (one,) = LabelTokenizer(metaspace()).continuations([request("Answer:")], "")
        assert one.context.count(1) == 1
        assert one.context[0] == 1

    @pytest.mark.parametrize("template", [CHAT, CHAT.replace("{{ bos_token }}", ""), "{{ bos_token }}" + CHAT])
    def test_a_chat_has_one_whoever_writes_it(self, template):
        tokenizer = metaspace()
        tokenizer.chat_template = template
        (one,) = LabelTokenizer(tokenizer, chat=True).continuations([request("Answer:")], "")
        assert one.context[0] == 1
        assert one.context.count(1) == 1

    def test_a_tokenizer_without_one_gets_none(self):
        tokenizer = byte_level()
        (one,) = LabelTokenizer(tokenizer).continuations([request("Answer:")], "")
        assert list(one.context) == tokenizer("Answer:")["input_ids"]


class TestChat:
    def test_the_prompt_is_the_users_message(self):
        tokenizer = byte_level()
        tokenizer.chat_template = CHAT.replace("{{ bos_token }}", "")
        text = LabelTokenizer(tokenizer, chat=True).text(request("Which?", system="Be brief."))
        assert text == "[system] Be brief.\n[user] Which?\n[assistant]"

    def test_without_a_template(self):
        with pytest.raises(ModelError, match="no chat template"):
            LabelTokenizer(byte_level(), chat=True)

    def test_a_system_prompt_needs_it(self):
        with pytest.raises(ArgumentError, match="turn chat on"):
            LabelTokenizer(byte_level()).text(request("Which?", system="Be brief."))

    def test_a_template_that_refuses(self):
        tokenizer = byte_level()
        tokenizer.chat_template = "{{ raise_exception('no system role') }}"
        with pytest.raises(ModelError, match="no system role"):
            LabelTokenizer(tokenizer, chat=True).text(request("Which?", system="Be brief."))


def test_a_readout_reads_shared_steps_once():
    readout = Readout.of([Continuation((1, 2), ((5, 7), (5, 8)))])
    assert [(p.ids, p.wanted) for p in readout.paths] == [((1, 2), (5,)), ((1, 2, 5), (7, 8))]
    assert readout.logprobs([[-1.0], [-0.5, -2.0]]) == (-1.5, -3.0)
    assert readout.longest == 3
    assert readout.tokens == 2


def test_equal_forms_count_once():
    one = Continuation((1, 2), ((5,), (6,)))
    assert Readout.of([one, one]).logprobs([[-1.0, -2.0]]) == (-1.0, -2.0)
