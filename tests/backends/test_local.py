"""The contract of local models: every architecture and engine gives what one full forward pass a prompt gives."""

import dataclasses
import logging
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_models import PLAIN, TREE, plain_logprobs, requests, tiny  # noqa: E402

from orderbias.backends.local import LocalBackend  # noqa: E402
from orderbias.errors import ArgumentError, ModelError  # noqa: E402
from orderbias.orderings import all_orderings, cyclic  # noqa: E402

FORMS = {"A": "", " A": " "}
SHOTS = [
    "Question: Where is the heart?\nA. in the chest\nB. in the head\nC. in the foot\nD. in the hand\nAnswer: A\n\n",
    "Question: Where is the brain?\nA. in the chest\nB. in the head\nC. in the foot\nD. in the hand\nAnswer: B\n\n",
]


def assert_as_one_at_a_time(backend, loaded, asked, replies, within=2e-4):
    form = FORMS[backend.label_form]
    for request, reply in zip(asked, replies, strict=True):
        assert reply.status == "ok"
        expected = [plain_logprobs(loaded, request.prompt, form + label) for label in request.labels]
        np.testing.assert_allclose(reply.logprobs, expected, atol=within, rtol=0)
        assert reply.tokens_in == len(loaded.tokenizer(request.prompt)["input_ids"])


@pytest.mark.parametrize("engine", ["tree", "plain"])
@pytest.mark.parametrize("tokenizer", ["byte_level", "metaspace"])
@pytest.mark.parametrize("architecture", TREE)
def test_engines_agree_with_one_prompt_at_a_time(architecture, tokenizer, engine):
    loaded = tiny(architecture, tokenizer)
    backend = LocalBackend(loaded, engine=engine, token_budget=300)
    asked = requests()
    assert_as_one_at_a_time(backend, loaded, asked, backend.ask(asked))
    assert backend.notices == ()


@pytest.mark.parametrize("architecture", TREE)
def test_shared_examples_are_computed_once_and_change_nothing(architecture):
    loaded = tiny(architecture)
    backend = LocalBackend(loaded, engine="tree", token_budget=200)
    asked = [r for shots in (*SHOTS, SHOTS[0] * 2) for r in requests(2, shots=shots)]
    assert_as_one_at_a_time(backend, loaded, asked, backend.ask(asked))
    # Item by item, out of a cache that holds the examples of several subjects.
    alone = [reply for i in range(0, len(asked), 8) for reply in backend.ask(asked[i : i + 8])]
    assert_as_one_at_a_time(backend, loaded, asked, alone)


def test_shared_examples_are_really_reused(monkeypatch):
    from orderbias.backends import _tree

    computed = []
    run = _tree.TreeEngine._run
    monkeypatch.setattr(
        _tree.TreeEngine,
        "_run",
        lambda self, rows, *rest: computed.append(sum(r.tree.n_nodes for r in rows)) or run(self, rows, *rest),
    )
    backend = LocalBackend(tiny("llama"), engine="tree")
    asked = requests(6, shots=SHOTS[0] * 2)
    backend.settle(asked[:16])
    computed.clear()
    for i in range(0, len(asked), 8):
        backend.ask(asked[i : i + 8])
    assert sum(computed) <= backend.workload(asked).unique_tokens
    assert backend.workload(asked).unique_tokens < backend.workload(asked).tokens / 4


@pytest.mark.parametrize("architecture", PLAIN)
def test_what_no_tree_can_follow_falls_back_and_says_so(architecture):
    loaded = tiny(architecture)
    backend = LocalBackend(loaded, token_budget=300)
    asked = requests(2)
    assert_as_one_at_a_time(backend, loaded, asked, backend.ask(asked))
    (notice,) = backend.notices
    assert type(loaded.model).__name__ in notice
    assert "plain batches" in notice
    with pytest.raises(ModelError, match="Use engine 'auto' or 'plain'"):
        LocalBackend(loaded, engine="tree").ask(asked)


def test_a_tree_that_disagrees_is_not_used(monkeypatch):
    from orderbias.backends import _tree_attention

    visible = _tree_attention._visible
    monkeypatch.setattr(_tree_attention, "_visible", lambda *a: np.ones_like(visible(*a)))
    loaded = tiny("llama")
    backend = LocalBackend(loaded)
    asked = requests(2)
    assert_as_one_at_a_time(backend, loaded, asked, backend.ask(asked))
    assert "differ by" in backend.notices[0]


@pytest.mark.parametrize("budget", [1, 37, 5000])
def test_results_do_not_depend_on_the_batch(budget):
    loaded = tiny("mistral")
    asked = requests(4, shots=SHOTS[0])
    replies = LocalBackend(loaded, engine="tree", token_budget=budget).ask(asked)
    usual = LocalBackend(loaded, engine="tree").ask(asked)
    np.testing.assert_allclose([r.logprobs for r in replies], [r.logprobs for r in usual], atol=1e-4)


def test_a_tree_too_large_is_cut(monkeypatch):
    from orderbias.backends import _tree

    monkeypatch.setattr(_tree, "_LARGEST_TREE", 150)
    loaded = tiny("llama")
    asked = requests(2, shots=SHOTS[0], design=all_orderings(4))
    backend = LocalBackend(loaded, engine="tree", token_budget=100)
    assert_as_one_at_a_time(backend, loaded, asked, backend.ask(asked))


def test_the_model_is_left_as_it_was():
    loaded = tiny("llama")
    before = loaded.model.config._attn_implementation, loaded.model.lm_head.forward
    LocalBackend(loaded, engine="tree").ask(requests(1))
    assert (loaded.model.config._attn_implementation, loaded.model.lm_head.forward) == before


def test_probabilities_are_over_the_whole_vocabulary():
    backend = LocalBackend(tiny("llama"))
    masses = [sum(map(math.exp, reply.logprobs)) for reply in backend.ask(requests())]
    assert max(masses) < 1


def test_the_better_form_is_kept_for_the_whole_run():
    loaded = tiny("llama")
    asked = requests(4)
    backend = LocalBackend(loaded)
    assert "label_form" not in backend.identity
    backend.settle(asked[:8])
    by_mass = {
        name: sum(math.exp(plain_logprobs(loaded, asked[0].prompt, form + c)) for c in "ABCD")
        for name, form in FORMS.items()
    }
    assert backend.label_form == max(by_mass, key=by_mass.get) == backend.identity["label_form"]
    for form in FORMS:
        resumed = LocalBackend(loaded, label_form=form)
        assert_as_one_at_a_time(resumed, loaded, asked, resumed.ask(asked))
        assert resumed.label_form == form


def test_both_forms_are_summed_as_probabilities():
    loaded = tiny("qwen2")
    asked = requests(2)
    backend = LocalBackend(loaded, label_forms="sum")
    for request, reply in zip(asked, backend.ask(asked), strict=True):
        expected = [
            np.logaddexp(*(plain_logprobs(loaded, request.prompt, form + label) for form in FORMS.values()))
            for label in request.labels
        ]
        np.testing.assert_allclose(reply.logprobs, expected, atol=2e-4)
    assert backend.label_form == "A+ A"


@pytest.mark.parametrize("labels", [("(A)", "(B)", "(C)", "(D)"), ("10", "20", "30", "40"), ("AA", "AB", "BA", "BB")])
@pytest.mark.parametrize("tokenizer", ["byte_level"])
def test_labels_of_several_tokens_are_scored_as_sequences(labels, tokenizer):
    loaded = tiny("llama", tokenizer)
    asked = requests(2, labels=labels)
    backend = LocalBackend(loaded, engine="tree")
    assert_as_one_at_a_time(backend, loaded, asked, backend.ask(asked))


@pytest.mark.parametrize("tokenizer", ["byte_level", "metaspace"])
@pytest.mark.parametrize("end", ["Answer: ", "Answer:\n", "Answer", "Answer: the letter ("])
def test_every_end_of_a_prompt_is_read_at_its_true_boundary(end, tokenizer):
    loaded = tiny("llama", tokenizer)
    asked = requests(2, end=end)
    backend = LocalBackend(loaded, engine="tree")
    form = {"": "", "A": "", " A": " "}
    for request, reply in zip(asked, backend.ask(asked), strict=True):
        f = form[backend.label_form]
        expected = [plain_logprobs(loaded, request.prompt, f + label) for label in request.labels]
        np.testing.assert_allclose(reply.logprobs, expected, atol=2e-4)


def test_a_prompt_too_long_is_an_error_and_never_cut():
    loaded = tiny("llama")
    asked = requests(2)
    asked[3] = dataclasses.replace(asked[3], prompt="Question: " + "oxygen " * 600 + "\nAnswer:")
    backend = LocalBackend(loaded)
    replies = backend.ask(asked)
    assert replies[3].status == "error"
    assert replies[3].logprobs is None
    assert "512" in replies[3].text
    assert [r.status for i, r in enumerate(replies) if i != 3] == ["ok"] * (len(asked) - 1)
    alone = LocalBackend(loaded)
    assert [r.status for r in alone.ask(asked[3:4])] == ["error"]
    # Nothing could be checked on it; the next prompts are checked as the first ones would be.
    assert alone.label_form is None
    assert_as_one_at_a_time(alone, loaded, asked[:3], alone.ask(asked[:3]))


def test_prompts_around_a_switch_of_frequencies():
    """LongRoPE encodes a whole batch by its longest prompt."""
    loaded = tiny("phi3_long")
    asked = requests(3)
    for i in (3, 12):
        asked[i] = dataclasses.replace(asked[i], prompt=asked[i].prompt.replace("Answer", "Think. Answer"))
    lengths = {len(loaded.tokenizer(r.prompt)["input_ids"]) for r in asked}
    assert min(lengths) <= loaded.model.config.original_max_position_embeddings < max(lengths)
    for engine in ("tree", "plain"):
        backend = LocalBackend(loaded, engine=engine)
        assert_as_one_at_a_time(backend, loaded, asked, backend.ask(asked))


def test_packed_weights_are_put_away_again():
    from orderbias.backends._cpu import PackedLinears

    model = tiny("llama").model
    layer = model.model.layers[0].mlp.up_proj
    packed = PackedLinears(model)
    x = torch.randn(2, 5, 32)
    with packed.used(), torch.inference_mode():
        inside = layer(x)
        assert "forward" in vars(layer)
    assert "forward" not in vars(layer)
    torch.testing.assert_close(inside, layer(x), atol=1e-5, rtol=1e-5)


def test_no_requests_no_replies():
    backend = LocalBackend(tiny("llama"))
    assert backend.ask([]) == []
    assert backend.workload([]).tokens == 0


def test_workload_counts_distinct_prefixes():
    loaded = tiny("llama")
    asked = requests(3)
    work = LocalBackend(loaded).workload(asked)
    ids = [tuple(loaded.tokenizer(r.prompt)["input_ids"]) for r in asked]
    distinct = sum(len({i[:n] for i in ids[k : k + 8] for n in range(1, len(i) + 1)}) for k in range(0, len(ids), 8))
    assert work.tokens == sum(map(len, ids))
    assert work.unique_tokens == distinct


def test_half_precision_answers_from_a_head_in_float32():
    loaded = tiny("llama")
    half = dataclasses.replace(loaded, model=transformers.AutoModelForCausalLM.from_config(loaded.model.config))
    half.model.load_state_dict(loaded.model.state_dict())
    half.model.to(torch.bfloat16).eval()
    backend = LocalBackend(half, label_form=" A")
    asked = requests(2, design=cyclic(4))
    own = []
    for request, reply in zip(asked, backend.ask(asked), strict=True):
        with torch.no_grad():
            inputs = torch.tensor([half.tokenizer(request.prompt)["input_ids"]])
            hidden = half.model.model(inputs).last_hidden_state[0, -1].float()
            logits = half.model.lm_head.weight.float() @ hidden
        tokens = [half.tokenizer(" " + c)["input_ids"][0] for c in "ABCD"]
        expected = torch.log_softmax(logits, 0)[tokens].numpy()
        # Packing changes the rounding of hidden states in half precision; logits rounded to half are far coarser.
        own.append(np.abs(np.array(reply.logprobs) - expected).max())
        distinct = {v - reply.logprobs[0] for v in reply.logprobs}
        assert any(float(torch.tensor(d).bfloat16()) != d for d in distinct)
    assert np.median(own) < 0.1
    assert backend.identity["dtype"] == "bfloat16"


def test_identity_names_what_makes_the_numbers():
    backend = LocalBackend(tiny("llama"), label_form="A", engine="plain")
    other = LocalBackend(tiny("llama"), label_form="A", engine="tree")
    assert list(backend.identity) == ["model", "revision", "dtype", "chat_template", "label_forms", "label_form"]
    assert backend.identity == other.identity


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_forms": "all"}, "label_forms"),
        ({"engine": "fast"}, "engine"),
        ({"token_budget": 0}, "token_budget"),
        ({"label_form": "B"}, "label_form"),
        ({"label_form": "A+ A"}, "one form"),
    ],
)
def test_options_outside_their_range(options, message):
    with pytest.raises(ArgumentError, match=message):
        LocalBackend(tiny("llama"), **options)


class TestLoading:
    @pytest.fixture
    def folder(self, tmp_path):
        loaded = tiny("llama")
        path = tmp_path / "a-small-model"
        loaded.model.save_pretrained(path)
        loaded.tokenizer.save_pretrained(path)
        return path

    def test_a_folder_is_loaded_without_a_word(self, folder, capfd, caplog):
        capfd.readouterr()
        with caplog.at_level(logging.DEBUG, logger="transformers"):
            backend = LocalBackend.load(str(folder))
        assert capfd.readouterr() == ("", "")
        asked = requests(1)
        assert_as_one_at_a_time(backend, tiny("llama"), asked, backend.ask(asked))

    def test_its_name_is_the_last_part_of_its_path(self, folder):
        identity = LocalBackend.load(str(folder)).identity
        assert identity["model"] == "a-small-model"
        assert str(folder.parent) not in str(identity)

    def test_its_revision_follows_its_weights(self, folder):
        first = LocalBackend.load(str(folder)).identity["revision"]
        assert LocalBackend.load(str(folder)).identity["revision"] == first
        model = tiny("llama").model
        changed = transformers.AutoModelForCausalLM.from_config(model.config)
        changed.save_pretrained(folder)
        assert LocalBackend.load(str(folder)).identity["revision"] != first

    @pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "nothing.gguf"])
    def test_a_path_that_is_not_there(self, name):
        with pytest.raises(ModelError, match="no model file or folder"):
            LocalBackend.load(name)

    def test_a_folder_without_a_model(self, tmp_path):
        with pytest.raises(ModelError, match="exactly one GGUF"):
            LocalBackend.load(str(tmp_path))

    def test_a_broken_file(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ORDERBIAS_CACHE", str(tmp_path / "cache"))
        (tmp_path / "model.gguf").write_bytes(b"not a model")
        with pytest.raises(ModelError, match="cannot be loaded"):
            LocalBackend.load(str(tmp_path / "model.gguf"))
        assert not list((tmp_path / "cache").rglob("*.safetensors"))

    @pytest.mark.parametrize("options", [{"dtype": "int3"}, {"device": "abacus"}])
    def test_unknown_options(self, folder, options):
        with pytest.raises(ArgumentError):
            LocalBackend.load(str(folder), **options)
