"""Time written replies as a ratio against the text-generation pipeline of transformers on the same prompts.

SmolLM2-135M-Instruct, float32, two threads, embedded MMLU questions: the four rotations of each item asked for the
letter (short replies), and each option scored alone (longer ones). The pipeline is given the prompts sorted by length,
in batches of 16, which favours it; both write greedily. ``same`` is the share of replies whose texts are equal.

Run: python bench/writing.py [N_ITEMS]. Prints JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch
import transformers

from orderbias.backends import TextReply, TextRequest
from orderbias.backends._loading import Loaded, demo_model
from orderbias.backends.local import LocalBackend
from orderbias.benchmarks import load_benchmark
from orderbias.collect import Asker, all_queries
from orderbias.items import ItemSet
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.strategies import Strategy
from orderbias.strategies.direct import Direct
from orderbias.strategies.independent import Independent
from orderbias.strategies.writing import Writing

THREADS = 2
BATCH = 16
#: What is asked, with the most tokens of a reply.
ASKED: dict[str, tuple[Strategy, int]] = {
    "a letter, four rotations": (Direct(writing=Writing(max_tokens=8)), 8),
    "a score, each option alone": (Independent(writing=Writing(max_tokens=32)), 32),
}


def requests_of(items: ItemSet, strategy: Strategy) -> list[TextRequest]:
    """Return every text that a strategy asks for first, and all options' scores."""
    from orderbias.sharing import rehearsed

    asker = Asker(None, strategy, Template())  # type: ignore[arg-type]
    design = parse_design("canonical" if isinstance(strategy, Independent) else "cyclic")
    found = [r for q in all_queries(items, design) for r in rehearsed(asker.begin(q), q.item)]
    return [r for r in found if isinstance(r, TextRequest)]


def pipeline(loaded: Loaded, requests: list[TextRequest], most: int) -> tuple[float, list[str]]:
    """Time the pipeline, loading left out."""
    tokenizer = loaded.tokenizer
    tokenizer.pad_token, tokenizer.padding_side = tokenizer.eos_token, "left"
    write = transformers.pipeline("text-generation", model=loaded.model, tokenizer=tokenizer)
    order = sorted(range(len(requests)), key=lambda i: len(requests[i].prompt))
    texts = [requests[i].prompt for i in order]
    started = time.perf_counter()
    out = write(texts, batch_size=BATCH, max_new_tokens=most, do_sample=False, return_full_text=False)
    seconds = time.perf_counter() - started
    said = {i: found[0]["generated_text"] for i, found in zip(order, out, strict=True)}
    return seconds, [said[i] for i in range(len(requests))]


def main(n_items: int) -> None:
    torch.set_num_threads(THREADS)
    transformers.logging.set_verbosity_error()
    loaded = LocalBackend.load(demo_model())._loaded
    whole = load_benchmark("mmlu-five")
    items = ItemSet(whole.name, whole.items[:n_items])
    found = {}
    for name, (strategy, most) in ASKED.items():
        requests = requests_of(items, strategy)
        backend = LocalBackend(loaded)
        backend.ask(requests[:16])  # what is tried first is tried once a run, whatever its length
        seconds, replies = [], []
        for _ in range(2):
            started = time.perf_counter()
            replies = backend.ask(requests)
            seconds.append(time.perf_counter() - started)
        theirs, said = pipeline(loaded, requests, most)
        same = [isinstance(r, TextReply) and r.text == text for r, text in zip(replies, said, strict=True)]
        found[name] = {
            "prompts": len(requests),
            "seconds": min(seconds),
            "pipeline_seconds": theirs,
            "ratio": theirs / min(seconds),
            "same": sum(same) / len(same),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 24)
