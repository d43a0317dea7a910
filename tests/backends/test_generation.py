"""Written replies: as one prompt at a time gives them, whatever the batch; ended, cut off or refused as they should."""

import contextlib
import copy
import dataclasses
import functools

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from scipy import stats  # noqa: E402
from tiny_models import LONG, PLAIN, TREE, requests, tiny  # noqa: E402

from orderbias.backends import LabelReply, TextReply, TextRequest  # noqa: E402
from orderbias.backends._generation import end_tokens  # noqa: E402
from orderbias.backends.local import LocalBackend  # noqa: E402

WORDS = ["oxygen", "carbon dioxide in", "plants take", "the heart is in the chest", "which of the gases", "helium"]


def texts(n=6, **options):
    options = {"max_tokens": 12, **options}
    return [TextRequest(f"q{i}", (0, 1), f"Question {i}: {WORDS[i % 6] * (1 + i % 4)}?", **options) for i in range(n)]


@contextlib.contextmanager
def ending_on(loaded, *tokens, where="generation_config"):
    """Let tokens end a text for a while, as a model's files would say it."""
    place = loaded.model.generation_config if where == "generation_config" else loaded.model.config
    own = place.eos_token_id
    place.eos_token_id = list(tokens)
    try:
        yield
    finally:
        place.eos_token_id = own


def written_alone(loaded, prompt, n, ends=()):
    """Greedy continuation by full forward passes over one prompt, nothing cached, nothing padded."""
    ids = loaded.tokenizer(prompt)["input_ids"]
    out = []
    for _ in range(n):
        with torch.no_grad():
            logits = loaded.model(input_ids=torch.tensor([ids + out])).logits[0, -1]
        out.append(int(logits.argmax()))
        if out[-1] in ends:
            break
    return out


@pytest.mark.parametrize("architecture", [*TREE, *PLAIN])
@pytest.mark.parametrize("tokenizer", ["byte_level", "metaspace"])
def test_a_batch_writes_what_one_prompt_at_a_time_does(architecture, tokenizer):
    loaded = tiny(architecture, tokenizer)
    asked = texts()
    backend = LocalBackend(loaded)
    for request, reply in zip(asked, backend.ask(asked), strict=True):
        ends = end_tokens(loaded, chat=False)
        own = written_alone(loaded, request.prompt, 12, ends)
        kept = own[:-1] if own[-1] in ends else own
        assert reply.text == loaded.tokenizer.decode(kept, skip_special_tokens=True)
        assert (reply.tokens_out, reply.finished) == (len(own), own[-1] in ends)
        assert reply.tokens_in == len(loaded.tokenizer(request.prompt)["input_ids"])
        assert (reply.status, reply.reason) == ("ok", None)


@pytest.mark.parametrize("architecture", LONG)
def test_texts_longer_than_a_switch_of_frequencies_are_written_alone(architecture):
    loaded = tiny(architecture)
    asked = [*texts(), dataclasses.replace(texts()[0], item_id="long", prompt="Question: " + "oxygen helium " * 12)]
    replies = LocalBackend(loaded).ask(asked)
    alone = [LocalBackend(loaded).ask([request])[0] for request in asked]
    assert replies == alone


@pytest.mark.parametrize("budget", [1, 20, 5000])
def test_replies_do_not_depend_on_the_batch(budget):
    loaded = tiny("llama")
    asked = texts(10)
    assert LocalBackend(loaded, token_budget=budget).ask(asked) == LocalBackend(loaded).ask(asked)
    assert LocalBackend(loaded).ask(asked[::-1]) == LocalBackend(loaded).ask(asked)[::-1]


def test_a_model_that_padding_misleads_writes_one_at_a_time_and_says_so(monkeypatch):
    from orderbias.backends import _generation, _writing_trial

    monkeypatch.setattr(_writing_trial, "_error", lambda *_: 2.0)
    sizes = []
    continued = _generation.Writer._continue
    monkeypatch.setattr(
        _generation.Writer, "_continue", lambda self, batch: sizes.append(len(batch)) or continued(self, batch)
    )
    backend = LocalBackend(tiny("llama"))
    backend.ask(texts())
    assert sizes == [1] * 6
    (notice,) = backend.notices
    assert "one at a time" in notice


@pytest.mark.parametrize("where", ["generation_config", "config"])
def test_every_token_that_ends_a_text_ends_a_reply(where):
    loaded = tiny("qwen2")
    asked = texts()
    free = [written_alone(loaded, r.prompt, 12) for r in asked]
    ends = {free[0][3], free[1][5]}
    with ending_on(loaded, *ends, where=where):
        replies = LocalBackend(loaded).ask(asked)
    known = ends | set(end_tokens(loaded, chat=False))
    for tokens, reply in zip(free, replies, strict=True):
        at = next((i for i, t in enumerate(tokens) if t in known), None)
        assert reply.finished == (at is not None)
        assert reply.tokens_out == (12 if at is None else at + 1)
        assert reply.text == loaded.tokenizer.decode(tokens[:at], skip_special_tokens=True)
    assert any(reply.finished for reply in replies)


def test_a_turn_of_a_chat_ends_with_the_token_of_its_template():
    loaded = tiny("llama", "metaspace")
    tokenizer = loaded.tokenizer
    before = tokenizer.chat_template
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ '</s>' if m.role == 'assistant' }}\n{% endfor %}"
    )
    try:
        assert tokenizer.convert_tokens_to_ids("</s>") in end_tokens(loaded, chat=True)
    finally:
        tokenizer.chat_template = before


def test_settings_that_a_model_carries_do_not_leak_in():
    loaded = tiny("llama")
    expected = LocalBackend(loaded).ask(texts())
    own = loaded.model.generation_config
    loaded.model.generation_config = transformers.GenerationConfig(
        repetition_penalty=9.0, do_sample=True, temperature=5.0, top_k=2, no_repeat_ngram_size=1, max_new_tokens=2
    )
    try:
        assert LocalBackend(loaded).ask(texts()) == expected
        assert loaded.model.generation_config.repetition_penalty == 9.0
    finally:
        loaded.model.generation_config = own


def test_draws_depend_on_the_seed_and_not_on_the_batch():
    loaded = tiny("llama")
    asked = [dataclasses.replace(r, temperature=1.5, seed=i) for i, r in enumerate(texts(8))]
    together = LocalBackend(loaded).ask(asked)
    assert [LocalBackend(loaded).ask([r])[0] for r in asked] == together
    assert LocalBackend(loaded).ask(asked[::-1]) == together[::-1]
    reseeded = LocalBackend(loaded).ask([dataclasses.replace(r, seed=r.seed + 100) for r in asked])
    assert all(a.text != b.text for a, b in zip(together, reseeded, strict=True))
    mixed = LocalBackend(loaded).ask([asked[0], texts(8)[1]])
    assert mixed == [together[0], LocalBackend(loaded).ask([texts(8)[1]])[0]]


@pytest.mark.parametrize("temperature", [0.7, 2.0])
def test_draws_follow_the_models_own_distribution(temperature):
    loaded = tiny("gpt2")
    n = 600
    prompt = texts(1)[0].prompt
    asked = [TextRequest("q", (0, 1), prompt, max_tokens=1, temperature=temperature, seed=s) for s in range(n)]
    drawn = [reply.text for reply in LocalBackend(loaded).ask(asked)]
    with torch.no_grad():
        logits = loaded.model(input_ids=torch.tensor([loaded.tokenizer(prompt)["input_ids"]])).logits[0, -1].double()
    shares = torch.softmax(logits / temperature, 0)
    ends = end_tokens(loaded, chat=False)
    top = [t for t in shares.argsort(descending=True).tolist() if t not in ends][:6]
    by_text = {}
    for token in range(len(shares)):  # tokens of half a character look alike
        text = loaded.tokenizer.decode([] if token in ends else [token], skip_special_tokens=True)
        by_text[text] = by_text.get(text, 0.0) + float(shares[token])
    wanted = list(dict.fromkeys(loaded.tokenizer.decode([t]) for t in top))
    observed = [drawn.count(text) for text in wanted]
    expected = [n * by_text[text] for text in wanted]
    test = stats.chisquare([*observed, n - sum(observed)], [*expected, n - sum(expected)])
    assert test.pvalue > 0.001


def test_a_prompt_too_long_is_an_error_and_never_cut():
    loaded = tiny("llama")
    asked = texts()
    asked[2] = dataclasses.replace(asked[2], prompt="oxygen " * 600)
    replies = LocalBackend(loaded).ask(asked)
    assert (replies[2].text, replies[2].status) == (None, "error")
    assert "at most 512" in replies[2].reason
    assert "not cut" in replies[2].reason
    others = [r for i, r in enumerate(replies) if i != 2]
    assert others == LocalBackend(loaded).ask([r for i, r in enumerate(asked) if i != 2])


def test_a_reply_ends_where_the_model_can_read_no_further():
    loaded = tiny("llama")
    prompt = "oxygen " * 60
    n = len(loaded.tokenizer(prompt)["input_ids"])
    limit, loaded.model.config.max_position_embeddings = loaded.model.config.max_position_embeddings, n + 3
    try:
        (reply,) = LocalBackend(loaded).ask([TextRequest("q", (0, 1), prompt, max_tokens=50)])
    finally:
        loaded.model.config.max_position_embeddings = limit
    assert (reply.tokens_out, reply.finished, reply.status) == (3, False, "ok")


def test_requests_of_both_kinds_are_answered_in_their_order():
    loaded = tiny("llama")
    labels, written = requests(1), texts(4)
    mixed = [labels[0], written[0], written[1], labels[1], written[2]]
    replies = LocalBackend(loaded).ask(mixed)
    assert [type(reply) for reply in replies] == [LabelReply, TextReply, TextReply, LabelReply, TextReply]
    assert [replies[i] for i in (1, 2, 4)] == LocalBackend(loaded).ask(written[:3])
    alone = LocalBackend(loaded).ask(labels[:2])
    assert [replies[i].logprobs for i in (0, 3)] == [pytest.approx(r.logprobs, abs=1e-4) for r in alone]


def test_texts_of_different_length_asked_together_are_cut_each_at_its_own():
    loaded = tiny("llama")
    asked = [dataclasses.replace(r, max_tokens=2 + 3 * i) for i, r in enumerate(texts(5))]
    for request, reply in zip(asked, LocalBackend(loaded).ask(asked), strict=True):
        assert reply == LocalBackend(loaded).ask([request])[0]
        assert reply.tokens_out <= request.max_tokens


def test_the_work_of_texts_is_counted():
    loaded = tiny("llama")
    asked = texts(5, max_tokens=20)
    work = LocalBackend(loaded).workload([*asked, *requests(1)])
    only = LocalBackend(loaded).workload(requests(1))
    assert work.tokens - only.tokens == sum(len(loaded.tokenizer(r.prompt)["input_ids"]) for r in asked)
    assert work.reply_tokens == 100
    assert only.reply_tokens == 0


@pytest.mark.parametrize("architecture", [*TREE, *PLAIN])
def test_a_reply_that_has_ended_is_not_computed_any_further(architecture):
    loaded, temperature = tiny(architecture), 1.0 if architecture == "llama" else 0.0
    lengths = (2, 40, 5, 17, 3, 9, 30, 1)
    asked = [
        dataclasses.replace(request, max_tokens=n, temperature=temperature, seed=n)
        for request, n in zip(texts(8), lengths, strict=True)
    ]
    alone = [LocalBackend(loaded).ask([request])[0] for request in asked]
    sizes = []
    forward = loaded.model.forward

    @functools.wraps(forward)  # what is passed depends on the signature
    def counting(*args, **kwargs):
        sizes.append(kwargs["input_ids"].shape[0])
        return forward(*args, **kwargs)

    loaded.model.forward = counting
    try:
        together = LocalBackend(loaded).ask(asked)
    finally:
        loaded.model.forward = forward
    assert together == alone
    if architecture not in LONG:
        # The last rows are written without the first ones: after 6, 18 and 42 steps, not at the end of the longest.
        assert sizes[-1] <= 2
        assert sum(sizes) < 8 * max(lengths) * 0.7


def alike(n_items=5, **options):
    """Prompts of items that begin as a chat does, four of each item that share more, of lengths of their own."""
    opening = "Which of the gases do plants take in? Answer with the letter and nothing else. "
    options = {"max_tokens": 12, **options}
    return [
        TextRequest(f"q{i}", (0, 1), f"{opening}{WORDS[i] * (1 + i % 3)}? {WORDS[(i + j) % 6] * (1 + j)}:", **options)
        for i in range(n_items)
        for j in range(4)
    ]


@pytest.mark.parametrize("architecture", [*TREE, *PLAIN])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_prompts_that_begin_alike_are_written_as_each_alone(architecture, temperature):
    loaded = tiny(architecture)
    asked = [dataclasses.replace(request, temperature=temperature, seed=i) for i, request in enumerate(alike())]
    alone = [LocalBackend(loaded).ask([request])[0] for request in asked]
    assert LocalBackend(loaded).ask(asked) == alone
    assert LocalBackend(loaded).ask(asked[::-1]) == alone[::-1]
    assert LocalBackend(loaded, token_budget=150).ask(asked) == alone


def computed_tokens(backend, asked, monkeypatch):
    """Ask, and count the tokens that the model was given, padding included."""
    n_tokens = []
    model = backend._loaded.model
    forward = model.forward

    @functools.wraps(forward)  # what is passed depends on the signature
    def counting(*args, **kwargs):
        n_tokens.append(kwargs["input_ids"].numel())
        return forward(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(model, "forward", counting)
        backend.ask(asked)
        n_tokens.clear()  # what was tried first is paid once
        backend.ask(asked)
    assert backend.notices == ()
    return sum(n_tokens)


def test_what_prompts_begin_with_alike_is_read_once_and_without_padding(monkeypatch):
    loaded, asked = tiny("llama"), alike(max_tokens=1)
    rows = [loaded.tokenizer(request.prompt)["input_ids"] for request in asked]
    distinct = {tuple(row[:n]) for row in rows for n in range(1, len(row))}
    shared = computed_tokens(LocalBackend(loaded), asked, monkeypatch)
    assert shared == len(distinct) + len(rows)  # the last token of each is read to go on
    whole = computed_tokens(LocalBackend(loaded, engine="plain"), asked, monkeypatch)
    assert whole == len(rows) * max(map(len, rows))
    assert shared < whole / 2


@pytest.mark.parametrize("fault", ["wrong", "no number", "raises"])
def test_a_model_that_cannot_be_read_as_a_tree_reads_prompts_whole_and_says_so(monkeypatch, fault):
    from orderbias.backends import _writing_trial

    read = _writing_trial.read

    def broken(model, rows):
        layout = read(model, rows)
        if fault == "raises":
            raise TypeError("no keys and values")
        for layer in next(iter(layout.given.values())).layers:
            layer.values *= float("nan") if fault == "no number" else 3.0
        return layout

    loaded, asked = tiny("llama"), alike()
    alone = [LocalBackend(loaded).ask([request])[0] for request in asked]
    monkeypatch.setattr(_writing_trial, "read", broken)
    backend = LocalBackend(loaded)
    assert backend.ask(asked) == alone
    (notice,) = backend.notices
    assert "Each is read whole." in notice


@pytest.mark.parametrize("architecture", TREE)
def test_what_the_sweep_reads_as_a_tree_is_read_so_for_written_replies(architecture, monkeypatch):
    loaded = tiny(architecture)
    backend = LocalBackend(loaded)
    backend.ask(alike())
    assert backend.notices == ()


def of_lengths(loaded, lengths, **options):
    """Prompts of so many tokens each, one an item."""
    ids = loaded.tokenizer("oxygen helium in the chest " * 200)["input_ids"]
    prompts = [loaded.tokenizer.decode(ids[:n], skip_special_tokens=True) for n in lengths]
    assert [len(loaded.tokenizer(p)["input_ids"]) for p in prompts] == list(lengths)
    return [TextRequest(f"q{i}", (0, 1), p, **options) for i, p in enumerate(prompts)]


@pytest.mark.parametrize("architecture", ["gpt2", "opt", "gpt_neo", "llama", *LONG])
@pytest.mark.parametrize("engine", ["auto", "plain"])
def test_no_reply_is_written_past_the_room_of_another(architecture, engine):
    """Beside a prompt that leaves room for two tokens, others go on; positions that are not there break them all."""
    loaded = tiny(architecture)
    limit = loaded.limit
    asked = of_lengths(loaded, (limit - 2, limit - 1, limit - 5, 20, 30, limit // 2), max_tokens=30)
    alone = [LocalBackend(loaded, engine="plain").ask([request])[0] for request in asked]
    assert LocalBackend(loaded, engine=engine).ask(asked) == alone
    assert [reply.tokens_out for reply in alone[:3]] == [2, 1, 5]


def test_a_short_context_of_another_frequency_is_not_left_by_a_neighbour():
    """Up to 60 positions a dynamic rope is one, beyond it another: no row may lead the others across."""
    from orderbias.backends._engines import alone_above

    loaded = tiny("llama_dynamic")
    above = alone_above(loaded.model.config)
    asked = of_lengths(loaded, (above - 2, above - 1, above - 5, 20, 30, 30), max_tokens=2)
    asked += of_lengths(loaded, (21, 31), max_tokens=above - 40)
    asked = [dataclasses.replace(r, item_id=f"{i}") for i, r in enumerate(asked)]
    alone = [LocalBackend(loaded, engine="plain").ask([request])[0] for request in asked]
    for engine in ("auto", "plain"):
        assert LocalBackend(loaded, engine=engine).ask(asked) == alone


def test_logits_that_are_no_numbers_are_no_text():
    loaded = tiny("llama")
    asked = texts()
    kept = loaded.model.model.norm.weight.data.clone()
    try:
        loaded.model.model.norm.weight.data.fill_(float("inf"))
        backend = LocalBackend(loaded)
        replies = backend.ask(asked)
        assert {(r.status, r.text) for r in replies} == {("error", None)}
        assert "no numbers in float32" in replies[0].reason
        assert backend.notices == ()
    finally:
        loaded.model.model.norm.weight.data.copy_(kept)
    assert {r.status for r in LocalBackend(loaded).ask(asked)} == {"ok"}


@pytest.mark.parametrize("after", [False, True])
def test_one_row_without_numbers_leaves_the_others(after, monkeypatch):
    """A row whose logits are no numbers is an error, and no other; what comes after a reply's end is none of it."""
    from orderbias.backends import _drawing

    loaded, asked = tiny("llama"), texts(max_tokens=4)
    free = written_alone(loaded, asked[2].prompt, 4)
    with ending_on(loaded, free[1]):
        fine = LocalBackend(loaded).ask(asked)
        assert fine[2].finished
        seen = _drawing.Soundness.__call__

        def look(self, input_ids, scores):
            if len(scores) == len(asked):  # the batch, in its own order
                at = next(n for n, row in enumerate(input_ids.tolist()) if marked(row))
                if (input_ids[at, -2:].tolist() == free[:2]) if after else input_ids.shape[1] == width:
                    scores[at] = float("nan")
            return seen(self, input_ids, scores)

        ids = loaded.tokenizer(asked[2].prompt)["input_ids"]
        width = max(len(loaded.tokenizer(r.prompt)["input_ids"]) for r in asked)

        def marked(row):
            return any(row[n : n + len(ids)] == ids for n in range(len(row)))

        backend = LocalBackend(loaded)
        backend.ask(asked)
        monkeypatch.setattr(_drawing.Soundness, "__call__", look)
        found = backend.ask(asked)
    assert [i for i, (one, other) in enumerate(zip(found, fine, strict=True)) if one != other] == ([] if after else [2])
    assert found[2].status == ("ok" if after else "error")


@pytest.mark.parametrize("step", ["padding", "tree"])
def test_an_interrupt_while_settling_leaves_nothing_half_known(step, monkeypatch):
    """A model that padding misleads, or a tree, is not taken for one that either leaves alone."""
    from orderbias.backends import _writing_trial

    loaded, asked = tiny("bloom"), alike()
    expected = LocalBackend(loaded)
    wanted, notices = expected.ask(asked), expected.notices
    backend, error = LocalBackend(loaded), _writing_trial._error
    calls = []

    def stopped(*given):
        calls.append(1)
        if len(calls) == (1 if step == "padding" else 2):
            raise KeyboardInterrupt
        return error(*given)

    monkeypatch.setattr(_writing_trial, "_error", stopped)
    if step == "tree":
        monkeypatch.setattr(_writing_trial, "read", lambda model, rows: _writing_trial.unread(rows, model.device))
    with pytest.raises(KeyboardInterrupt):
        backend.ask(asked)
    monkeypatch.undo()
    assert backend.ask(asked) == wanted
    assert backend.notices == notices


def test_a_prompt_of_one_token_does_not_turn_the_tree_off(monkeypatch):
    loaded = tiny("llama")
    asked = [TextRequest("one", (0, 1), "Q", max_tokens=6), *alike()]
    assert len(loaded.tokenizer("Q")["input_ids"]) == 1
    backend = LocalBackend(loaded)
    alone = [LocalBackend(loaded).ask([request])[0] for request in asked]
    assert backend.ask(asked) == alone
    assert backend.notices == ()
    whole = computed_tokens(LocalBackend(loaded, engine="plain"), asked[1:], monkeypatch)
    assert computed_tokens(backend, asked[1:], monkeypatch) < whole


def test_an_empty_prompt_is_an_error_of_its_own():
    loaded = tiny("llama")
    asked = [TextRequest("none", (0, 1), "", max_tokens=6), *texts(2)]
    found = LocalBackend(loaded).ask(asked)
    assert (found[0].status, found[0].reason) == ("error", "the prompt has no token")
    assert found[1:] == LocalBackend(loaded).ask(asked[1:])


@pytest.mark.parametrize("temperature", [1e-6, 1e-30, 1e-300])
def test_hardly_any_temperature_draws_the_most_probable(temperature):
    loaded = tiny("llama")
    greedy = LocalBackend(loaded).ask(texts())
    assert LocalBackend(loaded).ask(texts(temperature=temperature, seed=5)) == greedy


@pytest.mark.parametrize("architecture", TREE)
def test_queries_of_a_long_piece_attend_in_parts(architecture, monkeypatch):
    """The masks of a long prompt would grow with the square of its length: made in parts, answers stay the same."""
    from orderbias.backends import _tree_attention

    loaded, asked = tiny(architecture), requests(2)
    whole = LocalBackend(loaded, engine="tree").ask(asked)
    monkeypatch.setattr(_tree_attention, "QUERIES_AT_ONCE", 3)
    monkeypatch.setattr(_tree_attention, "KEPT_ENTRIES", 0)
    parts = LocalBackend(loaded, engine="tree").ask(asked)
    for one, other in zip(whole, parts, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_half_precision_is_said():
    loaded = tiny("llama")
    halved = dataclasses.replace(loaded, model=copy.deepcopy(loaded.model).to(torch.bfloat16))
    backend = LocalBackend(halved)
    backend.ask(texts())
    assert any("half precision" in notice for notice in backend.notices)


def test_no_row_is_led_across_a_switch_of_frequencies_by_a_neighbour_that_stays_below():
    """A row that is nearly at the switch has two tokens to write; the others have thirty, and may not take it along."""
    loaded = tiny("phi3_long")
    asked = of_lengths(loaded, (54, 20, 21, 30), max_tokens=2) + of_lengths(loaded, (22, 12), max_tokens=30)
    asked = [dataclasses.replace(r, item_id=str(i)) for i, r in enumerate(asked)]
    alone = [LocalBackend(loaded, engine="plain").ask([request])[0] for request in asked]
    backend = LocalBackend(loaded)
    assert backend.ask(asked) == alone


def test_a_prompt_that_is_written_alone_does_not_speak_against_batches():
    loaded = tiny("phi3_long")
    backend = LocalBackend(loaded)
    asked = of_lengths(loaded, (10, 20, 30, 76), max_tokens=4)
    alone = [LocalBackend(loaded, engine="plain").ask([request])[0] for request in asked]
    assert backend.ask(asked) == alone
    assert backend.notices == ()
