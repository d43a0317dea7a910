"""The embedder: each text embedded once, errors that teach; and all-MiniLM-L6-v2 itself where it is at hand."""

import builtins
import sys
import types

import numpy as np
import pytest

from embedder_files import minilm
from orderbias.backends.embedding import SentenceEmbedder, embedder
from orderbias.errors import MissingExtra, ModelError
from orderbias.strategies.matching import Matcher

pytest.importorskip("torch")

MINILM = minilm()


@pytest.fixture
def package(monkeypatch):
    """A stand-in for sentence-transformers that notes what it embeds."""
    asked = []

    class SentenceTransformer:
        def __init__(self, name, device, revision, local_files_only):
            if name == "none":
                raise OSError("no such model\nsecond line")

        def encode(self, texts, show_progress_bar):
            asked.append(list(texts))
            return [[len(t), 1.0] for t in texts]

    module = types.SimpleNamespace(SentenceTransformer=SentenceTransformer)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return asked


def test_each_text_is_embedded_once_and_rows_keep_their_order(package):
    embed = SentenceEmbedder("any")
    assert embed(["aa", "b", "aa"]).tolist() == [[2, 1], [1, 1], [2, 1]]
    assert embed(["b", "ccc"]).tolist() == [[1, 1], [3, 1]]
    assert package == [["aa", "b"], ["ccc"]]


def test_what_is_remembered_is_bounded(package, monkeypatch):
    monkeypatch.setattr("orderbias.backends.embedding.REMEMBERED", 3)
    embed = SentenceEmbedder("any")
    for n in range(9):
        assert embed(["x", "y" * (n + 1)]).tolist() == [[1, 1], [n + 1, 1]]
    assert len(embed._known) <= 3
    assert embed([str(i) for i in range(8)]).shape == (8, 2)


def test_a_model_that_is_not_there_is_named(package):
    with pytest.raises(ModelError, match=r"'none' cannot be loaded: no such model. Give a folder"):
        SentenceEmbedder("none").load()


def test_without_the_package_the_install_line_is_given(monkeypatch):
    def refuse(name, *args, **options):
        if name == "sentence_transformers":
            raise ImportError(name)
        return real(name, *args, **options)

    real = builtins.__import__
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=r"orderbias\[match\]"):
        SentenceEmbedder().load()


def test_a_folder_is_named_by_itself_and_its_weights_never_by_where_it_is(tmp_path):
    folder = tmp_path / "mini"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    name = SentenceEmbedder(str(folder)).identity
    assert name.startswith("mini ")
    assert str(tmp_path) not in name
    (folder / "model.safetensors").write_bytes(b"others")
    assert SentenceEmbedder(str(folder)).identity != name
    assert SentenceEmbedder("a/b", revision="v1").identity == "a/b v1"


@pytest.mark.model
@pytest.mark.skipif(MINILM is None, reason="all-MiniLM-L6-v2 is not at hand")
def test_minilm_embeds_as_mean_pooling_of_its_states_does_and_finds_what_is_meant():
    pytest.importorskip("sentence_transformers")
    import torch
    from transformers import AutoModel, AutoTokenizer

    embed = SentenceEmbedder(str(MINILM))
    texts = ["It warms the room", "heat", "sound"]
    tokenizer, model = AutoTokenizer.from_pretrained(MINILM), AutoModel.from_pretrained(MINILM)
    for text, row in zip(texts, embed(texts), strict=True):
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        mean = states.mean(0).numpy()
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-5)
    match = Matcher(embed).find("It warms the room", ("light", "heat", "sound"))
    assert (match.content, match.found) == (1, "cosine")


def test_runs_of_one_study_share_an_embedder(package):
    embedder.cache_clear()
    assert embedder("any") is embedder("any")
    with pytest.raises(ModelError):
        embedder("none")
    embedder.cache_clear()


def test_a_hub_without_a_connection_is_asked_once_and_only_what_is_there_is_loaded(package, monkeypatch):
    tried = []

    class Api:
        def model_info(self, name, revision, timeout):
            tried.append(name)
            raise OSError("no connection")

    monkeypatch.setattr("huggingface_hub.HfApi", Api)
    loaded = []
    monkeypatch.setattr(
        sys.modules["sentence_transformers"],
        "SentenceTransformer",
        lambda name, **options: loaded.append(options["local_files_only"]),
    )
    SentenceEmbedder("some/model").load()
    assert tried == ["some/model"]
    assert loaded == [True]
