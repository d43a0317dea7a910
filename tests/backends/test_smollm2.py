"""The demonstration model: real weights, a real tokenizer, and the file they come from."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import plain_logprobs, requests

from orderbias.backends import TextRequest
from orderbias.backends._conversion import cache_directory
from orderbias.backends._loading import DEMO_NAME, demo_model
from orderbias.backends.local import LocalBackend

pytestmark = pytest.mark.model

SHOT = "Question: Where is the heart?\nA. in the chest\nB. in the head\nC. in the foot\nD. in the hand\nAnswer: A\n\n"
GGUF = Path.home() / ".cache/orderbias-models/smollm2-135m/model.gguf"


@pytest.fixture(scope="module")
def backend():
    return LocalBackend.load(str(GGUF) if GGUF.exists() else demo_model())


def test_it_answers_as_one_prompt_at_a_time(backend):
    asked = [r for shots in ("", SHOT) for r in requests(2, shots=shots)]
    replies = backend.ask(asked)
    assert backend.notices == ()
    assert backend.label_form == " A"
    for request, reply in list(zip(asked, replies, strict=True))[::5]:
        expected = [plain_logprobs(backend._loaded, request.prompt, " " + label) for label in request.labels]
        np.testing.assert_allclose(reply.logprobs, expected, atol=1e-3, rtol=0)


def test_plain_batches_answer_the_same(backend):
    asked = requests(2, shots=SHOT)
    plain = LocalBackend(backend._loaded, engine="plain", label_form=" A")
    np.testing.assert_allclose(
        [r.logprobs for r in plain.ask(asked)], [r.logprobs for r in backend.ask(asked)], atol=1e-3, rtol=0
    )


def test_a_trailing_space_changes_nothing(backend):
    asked = requests(1)
    spaced = [dataclasses.replace(r, prompt=r.prompt + " ") for r in asked]
    other = LocalBackend(backend._loaded)
    np.testing.assert_allclose(
        [r.logprobs for r in other.ask(spaced)], [r.logprobs for r in backend.ask(asked)], atol=1e-4
    )
    assert other.label_form == "A"


def test_a_chat_starts_once(backend):
    chat = LocalBackend(backend._loaded, chat=True)
    (reply,) = chat.ask(requests(1)[:1])
    loaded = backend._loaded
    text = chat._labels.text(requests(1)[0])
    assert text.startswith(loaded.tokenizer.bos_token)
    assert reply.tokens_in == len(loaded.tokenizer(text, add_special_tokens=False)["input_ids"])


def test_texts_are_those_that_transformers_writes_for_one_prompt_at_a_time(backend):
    loaded = backend._loaded
    prompts = [
        "Name the capital of France.",
        "Say hi.",
        "Count to five and say why you stopped.",
        "2+2?",
    ]
    replies = LocalBackend(loaded, chat=True).ask([TextRequest(p, (0, 1), p, max_tokens=24) for p in prompts])
    for prompt, reply in zip(prompts, replies, strict=True):
        turns = [{"role": "user", "content": prompt}]
        ids = loaded.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_tensors="pt")["input_ids"]
        whole = loaded.model.generate(ids, attention_mask=ids * 0 + 1, max_new_tokens=24, do_sample=False)
        out = whole[0, ids.shape[1] :]
        assert reply.text == loaded.tokenizer.decode(out, skip_special_tokens=True)
        assert reply.finished == (loaded.tokenizer.eos_token_id in out.tolist())
        assert reply.tokens_out == len(out)


@pytest.mark.slow
def test_the_demonstration_model_is_converted_once(tmp_path, monkeypatch):
    monkeypatch.setenv("ORDERBIAS_CACHE", str(tmp_path))
    path = demo_model()
    if "/" in path and Path(path).exists():
        assert Path(path).is_relative_to(cache_directory())
        assert Path(path).name == DEMO_NAME
        made = Path(path).stat().st_mtime_ns
        assert (demo_model(), Path(path).stat().st_mtime_ns) == (path, made)
