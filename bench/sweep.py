"""Time the sweep of a real model as ratios: against one prompt at a time, a known harness, and the machine's limit.

SmolLM2-135M-Instruct, float32, two threads, MMLU items of five subjects, the prompt body of the paper, label " A".
Peers answer every n-th of the same items and are compared per token of the prompts; everything is timed in this one
run, loading left out. So that other work on the machine favours nobody, our time is the sum over portions of the best
of three sweeps (before, between and after the peer's), that of one prompt at a time comes from its median rate over
prompts, and that of a matrix product is the best of ten. The harness (0.4.13) runs in an environment of its own, made
in the cache when first needed. ``difference`` is the largest between the log-probabilities of a peer and ours.

Run: python bench/sweep.py [--items 40] [--peer-every 5] [--skip-harness]. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch

from orderbias.backends import LabelReply, LabelRequest
from orderbias.backends._conversion import cache_directory
from orderbias.backends._loading import Loaded, demo_model
from orderbias.backends._tree import TreeEngine
from orderbias.backends.local import LocalBackend
from orderbias.benchmarks import load_benchmark
from orderbias.collect import Asker, all_queries
from orderbias.items import Item, ItemSet
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.strategies.first_token import first_token

THREADS = 2
HARNESS = "0.4.13"
FORM = " A"
#: Items asked together.
PORTION = 10

#: Name -> design, solved examples, how many items relative to --items, and of how many subjects: solved examples are
#: shared by all items of a subject, so the sample has to hold many of each, as the whole benchmark does.
SETTINGS = {
    "zero-shot, cyclic+reversals": ("cyclic+reversals", 0, 1.0, 5),
    "five-shot, cyclic+reversals": ("cyclic+reversals", 5, 1.0, 2),
    "zero-shot, all 24 orderings": ("all", 0, 0.5, 5),
}
#: The ratios asked for, per setting: against one prompt at a time, and against the harness.
TARGETS = {
    "zero-shot, cyclic+reversals": {"one_at_a_time": 3.5, "harness": 2.2, "limit": 0.6},
    "five-shot, cyclic+reversals": {"one_at_a_time": 10.0, "harness": 9.0},
    "zero-shot, all 24 orderings": {"harness": 3.3},
}


def requests_of(items: Sequence[Item], whole: ItemSet, design: str, shots: int) -> list[LabelRequest]:
    queries = all_queries(ItemSet(whole.name, tuple(items)), parse_design(design))
    asker = Asker(None, first_token, Template(n_shots=shots), whole.shots)  # type: ignore[arg-type]
    return asker.requests(queries)


@dataclass
class Timed:
    """Seconds taken, and the log-probability of each label for each prompt."""

    seconds: float
    logprobs: list[list[float]]

    def difference(self, other: dict[str, Sequence[float]], prompts: Sequence[str]) -> float:
        rows = zip(prompts, self.logprobs, strict=True)
        return max(abs(a - b) for prompt, row in rows for a, b in zip(row, other[prompt], strict=True))


def ours(loaded: Loaded, requests: Sequence[LabelRequest]) -> tuple[list[float], list[list[float]]]:
    """Time the answers in portions, as a run asks; no prefix is known from an earlier sweep.

    Return the seconds of each portion, and the log-probabilities of each request.
    """
    backend = LocalBackend(loaded, label_form=FORM)
    ids = list(dict.fromkeys(r.item_id for r in requests))
    parts = [set(ids[at : at + PORTION]) for at in range(0, len(ids), PORTION)]
    backend.settle([r for r in requests if r.item_id in parts[0]])
    forget_prefixes(backend)
    replies: list[LabelReply] = []
    seconds = []
    for part in parts:
        asked = [r for r in requests if r.item_id in part]
        started = time.perf_counter()
        replies += backend.ask(asked)
        seconds.append(time.perf_counter() - started)
    return seconds, [list(r.logprobs or ()) for r in replies]


def forget_prefixes(backend: LocalBackend) -> None:
    """Empty the cache that the check of the engine has filled; the check is made once a run, whatever its length."""
    engine = getattr(backend._engine, "engine", None)
    if not isinstance(engine, TreeEngine):
        sys.exit(f"The prefix tree is not in use: {backend.notices}")
    engine.forget()


def one_at_a_time(loaded: Loaded, requests: Sequence[LabelRequest]) -> Timed:
    """Time each prompt by itself, with the logits of every position, as the simplest script does."""
    model, tokenizer = loaded.model, loaded.tokenizer
    labels = [tokenizer(" " + label, add_special_tokens=False).input_ids[0] for label in requests[0].labels]
    found, rates, tokens = [], [], 0
    with torch.inference_mode():
        for request in requests:
            started = time.perf_counter()
            ids = tokenizer(request.prompt, return_tensors="pt").input_ids
            logits = model(input_ids=ids).logits
            found.append(torch.log_softmax(logits[0, -1].float(), -1)[labels].tolist())
            rates.append((time.perf_counter() - started) / ids.shape[1])
            tokens += ids.shape[1]
    return Timed(statistics.median(rates) * tokens, found)


def gemm_rate(loaded: Loaded, tokens: int = 1024) -> tuple[float, int]:
    """Return float32 operations a second at the shapes of the model's layers, and its non-embedding parameters."""
    layers = [m for name, m in loaded.model.named_modules() if type(m) is torch.nn.Linear and "lm_head" not in name]
    n_parameters = sum(m.weight.numel() for m in layers)
    shapes: dict[tuple[int, ...], int] = {}
    for m in layers:
        shapes[tuple(m.weight.shape)] = shapes.get(tuple(m.weight.shape), 0) + 1
    total = 0.0
    for (n_out, n_in), count in shapes.items():
        x, w = torch.randn(tokens, n_in), torch.randn(n_out, n_in)
        torch.nn.functional.linear(x, w)
        times = []
        for _ in range(10):
            started = time.perf_counter()
            torch.nn.functional.linear(x, w)
            times.append(time.perf_counter() - started)
        total += count * min(times)
    return 2 * n_parameters * tokens / total, n_parameters


RUNNER = """
import json, sys, time
import torch
torch.set_num_threads(int(sys.argv[3]))
import lm_eval
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
model = HFLM(pretrained=sys.argv[1], dtype="float32", device="cpu", batch_size=16)
manager = TaskManager(include_path=sys.argv[2], include_defaults=False)
found = {}
for task in sys.argv[4:]:
    started = time.perf_counter()
    out = lm_eval.simple_evaluate(model=model, tasks=[task], task_manager=manager, bootstrap_iters=0, log_samples=True)
    seconds = time.perf_counter() - started
    samples = sorted(out["samples"][task], key=lambda s: s["doc_id"])
    found[task] = [seconds, [[float(r[0]) for r in s["filtered_resps"]] for s in samples]]
print(json.dumps(found))
"""

TASK = """
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{prompt}}}}"
doc_to_choice: ["A", "B", "C", "D"]
doc_to_target: 0
target_delimiter: " "
metric_list:
  - metric: acc
"""


def harness(model: str, prompts: dict[str, list[str]]) -> dict[str, Timed]:
    """Time lm-evaluation-harness on each list of prompts, given to it as a task file."""
    python = harness_python()
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for i, (setting, texts) in enumerate(prompts.items()):
            name = names[setting] = f"orderbias_bench_{i}"
            file = Path(folder, f"{name}.jsonl")
            file.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in texts))
            Path(folder, f"{name}.yaml").write_text(TASK.format(name=name, file=file))
        Path(folder, "runner.py").write_text(RUNNER)
        out = subprocess.run(
            [str(python), str(Path(folder, "runner.py")), model, folder, str(THREADS), *names.values()],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(Path(folder, "cache")),
                 "TOKENIZERS_PARALLELISM": "true"},
        ).stdout  # fmt: skip
    found = json.loads(out.strip().splitlines()[-1])
    return {setting: Timed(*found[name]) for setting, name in names.items()}


def harness_python() -> Path:
    """Return the interpreter of the harness's environment, making it if need be."""
    folder = cache_directory() / f"lm-eval-{HARNESS}"
    python = folder / "bin" / "python"
    done = folder / "complete"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        constraints = Path(__file__).resolve().parents[1] / "constraints.txt"
        wanted = ["-c", str(constraints), f"lm_eval[hf]=={HARNESS}"]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *wanted], check=True, stdout=sys.stderr)
        done.touch()
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--peer-every", type=int, default=5)
    parser.add_argument("--skip-harness", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    path = demo_model()
    backend = LocalBackend.load(path, label_form=FORM)
    loaded = backend._loaded
    whole = load_benchmark("mmlu-five")
    found: dict[str, dict[str, object]] = {}
    peers: dict[str, list[str]] = {}
    per_token: dict[str, float] = {}
    answers: dict[str, dict[str, Sequence[float]]] = {}
    for setting, (design, shots, share, subjects) in SETTINGS.items():
        items = chosen_items(whole, max(2, round(options.items * share)), subjects)
        requests = requests_of(items, whole, design, shots)
        few = {item.id for item in items[:: options.peer_every]}
        peer = [r for r in requests if r.item_id in few]
        ours(loaded, requests_of(items[:2], whole, design, shots))  # warm up
        work, peer_tokens = backend.workload(requests), backend.workload(peer).tokens
        # Ours before, between and after: a machine that slows down midway slows both.
        half = len(peer) // 2
        first, found_first = ours(loaded, requests)
        alone = [one_at_a_time(loaded, peer[:half])]
        second, _ = ours(loaded, requests)
        alone.append(one_at_a_time(loaded, peer[half:]))
        third, _ = ours(loaded, requests)
        rate, n_parameters = gemm_rate(loaded)
        taken = sum(map(min, zip(first, second, third, strict=True)))
        per_token[setting] = taken / work.tokens
        peers[setting] = [r.prompt for r in peer]
        answers[setting] = {r.prompt: row for r, row in zip(requests, found_first, strict=True)}
        single = Timed(alone[0].seconds + alone[1].seconds, alone[0].logprobs + alone[1].logprobs)
        found[setting] = {
            "items": len(items),
            "prompts": len(requests),
            "tokens": work.tokens,
            "unique_tokens": work.unique_tokens,
            "seconds": [round(sum(t), 2) for t in (first, second, third)],
            "gemm_gflops": round(rate / 1e9, 1),
            "limit": round(2 * n_parameters * work.unique_tokens / rate / taken, 3),
            "one_at_a_time": round(single.seconds / peer_tokens / per_token[setting], 2),
            "one_at_a_time_difference": single.difference(answers[setting], peers[setting]),
            "targets": TARGETS[setting],
            "peer_prompts": len(peer),
            "peer_tokens": peer_tokens,
        }
        print(setting, found[setting], file=sys.stderr)
    if not options.skip_harness:
        for setting, timed in harness(path, peers).items():
            entry = found[setting]
            entry["harness"] = round(timed.seconds / int(str(entry["peer_tokens"])) / per_token[setting], 2)
            entry["harness_difference"] = timed.difference(answers[setting], peers[setting])
    print(json.dumps({"model": dict(backend.identity), "threads": THREADS, "settings": found}, indent=1))


def chosen_items(whole: ItemSet, n: int, n_subjects: int) -> list[Item]:
    """Take items spread evenly over each of some subjects."""
    chosen: list[Item] = []
    for subject in sorted({item.group or "" for item in whole})[:n_subjects]:
        own = [item for item in whole if item.group == subject]
        each = max(1, n // n_subjects)
        chosen += own[:: len(own) // each][:each]
    return chosen


if __name__ == "__main__":
    main()
