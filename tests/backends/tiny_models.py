"""Small causal models with random weights and small tokenizers, built in code; and their answers worked out plainly."""

import functools

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from orderbias.backends import LabelRequest
from orderbias.backends._loading import Loaded
from orderbias.orderings import cyclic_with_reversals

# Models this small are slower on several threads than on one.
torch.set_num_threads(1)

SENTENCES = [
    "Question: Which gas do plants take in?",
    "A. oxygen\nB. carbon dioxide\nC. nitrogen\nD. helium",
    "Question: Where is the heart?\nA. in the chest\nB. in the head\nC. in the foot\nD. in the hand",
    "Which of the 1234567890 gases at o'clock? the letter (A) (B) (C) (D) nitrogen helium more",
    *(f"Answer: {c}" for c in "ABCD" for _ in range(20)),
]
VOCABULARY = 360


def byte_level():
    """A byte-level BPE tokenizer as GPT-2, Qwen and SmolLM have: no token before a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")


def metaspace():
    """A tokenizer in the manner of sentencepiece: spaces as marks, one put before the text, after a BOS token."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False, min_frequency=2
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


TOKENIZERS = {"byte_level": byte_level, "metaspace": metaspace}

_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.3,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
_WINDOWS = ["sliding_attention", "sliding_attention", "full_attention"]
_GPT2 = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 512}
_ENDS = {"bos_token_id": None, "eos_token_id": None, "initializer_range": 0.3}

#: Every one of these must be computed by the prefix tree. Windows are shorter than the prompts.
TREE = {
    "llama": lambda: transformers.LlamaConfig(**_SIZES),
    "qwen2": lambda: transformers.Qwen2Config(**_SIZES),
    "gpt2": lambda: transformers.GPT2Config(**_GPT2, **_ENDS),
    "phi3": lambda: transformers.Phi3Config(**_SIZES),
    "gemma3": lambda: transformers.Gemma3TextConfig(
        **_SIZES, head_dim=8, sliding_window=8, layer_types=_WINDOWS, final_logit_softcapping=5.0
    ),
    "mistral": lambda: transformers.MistralConfig(**_SIZES, sliding_window=8),
    "gemma2": lambda: transformers.Gemma2Config(
        **_SIZES,
        head_dim=8,
        sliding_window=8,
        layer_types=_WINDOWS,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=5.0,
    ),
    "granite": lambda: transformers.GraniteConfig(**_SIZES, logits_scaling=3.0),
    "cohere": lambda: transformers.CohereConfig(**_SIZES, logit_scale=0.4),
}
#: The usual prompts are just short enough for the context after which the frequencies change.
LONG = {
    "phi3_long": lambda: transformers.Phi3Config(
        **{**_SIZES, "original_max_position_embeddings": 56},
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "short_factor": [1.0] * 4,
            "long_factor": [4.0] * 4,
            "original_max_position_embeddings": 56,
        },
    ),
}
#: These cannot be, each for a reason of its own: position biases, windows of their own, and states that run along the
#: sequence, alone or beside keys and values.
PLAIN = {
    "gpt_neo": lambda: transformers.GPTNeoConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_layers=2,
        num_heads=4,
        max_position_embeddings=512,
        attention_types=[[["global", "local"], 1]],
        window_size=8,
        **_ENDS,
        pad_token_id=None,
    ),
    "falcon_h1": lambda: transformers.FalconH1Config(
        **_SIZES, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_d_state=4, mamba_n_groups=1, mamba_chunk_size=8
    ),
    "minimax": lambda: transformers.MiniMaxConfig(
        **_SIZES,
        num_local_experts=2,
        layer_types=["linear_attention", "full_attention", "linear_attention"],
        head_dim=8,
        block_size=8,
    ),
    "bloom": lambda: transformers.BloomConfig(
        vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4, **_ENDS, pad_token_id=None
    ),
    "mamba": lambda: transformers.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4, **_ENDS, pad_token_id=0
    ),
}


#: Others that a test names.
MORE = {
    "opt": lambda: transformers.OPTConfig(
        vocab_size=VOCABULARY, hidden_size=32, word_embed_proj_dim=32, ffn_dim=48, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=512, init_std=0.3, bos_token_id=None, eos_token_id=None,
        pad_token_id=None,
    ),
    "llama_dynamic": lambda: transformers.LlamaConfig(
        **{**_SIZES, "max_position_embeddings": 60},
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0},
    ),
}  # fmt: skip


@functools.cache
def tiny(architecture, tokenizer="byte_level"):
    """A model with random weights large enough that every token changes what follows."""
    torch.manual_seed(sum(map(ord, architecture)))
    config = {**TREE, **LONG, **PLAIN, **MORE}[architecture]()
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    return Loaded(model, TOKENIZERS[tokenizer](), architecture, "random", "cpu")


def requests(n_items=3, *, shots="", labels=tuple("ABCD"), end="Answer:", design=None):
    """Prompts of a few questions under the orderings of a design."""
    asked = []
    design = cyclic_with_reversals(4) if design is None else design
    for i in range(n_items):
        question = f"Which of the {i + 3} gases do plants take in at {i} o'clock?"
        options = ["oxygen", "carbon dioxide", f"nitrogen {i}", "helium and some more"][: len(labels)]
        for positions in design.positions:
            shown = [options[list(positions).index(place)] for place in range(len(labels))]
            body = "".join(f"{label}. {text}\n" for label, text in zip(labels, shown, strict=True))
            prompt = f"{shots}Question: {question}\n{body}{end}"
            asked.append(LabelRequest(f"item{i}", tuple(map(int, positions)), prompt, tuple(labels)))
    return asked


def plain_logprobs(loaded, text, label):
    """Log-probability of a label from full logits of one prompt, by the tokens of the full text."""
    prompt, full = (loaded.tokenizer(t)["input_ids"] for t in (text, text + label))
    kept = next((i for i, (a, b) in enumerate(zip(prompt, full, strict=False)) if a != b), len(prompt))
    with torch.no_grad():
        logits = loaded.model(input_ids=torch.tensor([full])).logits[0].double()
    logprobs = torch.log_softmax(logits, dim=-1)
    return sum(float(logprobs[i - 1, full[i]]) for i in range(kept, len(full)))
