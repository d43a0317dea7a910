"""Time the sweep of a real model as ratios: against one prompt at a time, a known harness, and the machine's limit.

SmolLM2-135M-Instruct, float32, two threads, MMLU items of five subjects, the prompt body of the paper, label " A".
Peers answer every n-th of the same items and are compared per prompt; everything is timed in this one run, loading left
out. The harness (0.4.13) runs in an environment of its own, made in the cache on first use.

Run: python bench/sweep.py [--items 60] [--peer-every 6] [--skip-harness]. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch

from orderbias.backends import LabelRequest
from orderbias.backends._conversion import cache_directory
from orderbias.backends._loading import demo_model
from orderbias.backends.local import LocalBackend
from orderbias.benchmarks import load_benchmark
from orderbias.collect import ITEMS_AT_ONCE, Asker, all_queries
from orderbias.items import Item, ItemSet
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.strategies.first_token import first_token

THREADS = 2
HARNESS = "0.4.13"
FORM = " A"

#: Name -> design, solved examples, and how many items relative to --items.
SETTINGS = {
    "zero-shot, cyclic+reversals": ("cyclic+reversals", 0, 1.0),
    "five-shot, cyclic+reversals": ("cyclic+reversals", 5, 1.0),
    "zero-shot, all 24 orderings": ("all", 0, 0.5),
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


def ours(backend: LocalBackend, requests: Sequence[LabelRequest]) -> float:
    """Seconds to answer, in the portions that a run asks in."""
    ids = list(dict.fromkeys(r.item_id for r in requests))
    started = time.perf_counter()
    for at in range(0, len(ids), ITEMS_AT_ONCE):
        part = set(ids[at : at + ITEMS_AT_ONCE])
        backend.ask([r for r in requests if r.item_id in part])
    return time.perf_counter() - started


def one_at_a_time(backend: LocalBackend, requests: Sequence[LabelRequest]) -> float:
    """Seconds to score each prompt by itself, with the logits of every position, as the simplest script does."""
    model, tokenizer = backend._loaded.model, backend._loaded.tokenizer
    labels = [tokenizer(" " + label, add_special_tokens=False).input_ids[0] for label in requests[0].labels]
    started = time.perf_counter()
    with torch.inference_mode():
        for request in requests:
            logits = model(input_ids=tokenizer(request.prompt, return_tensors="pt").input_ids).logits
            torch.log_softmax(logits[0, -1].float(), -1)[labels].tolist()
    return time.perf_counter() - started


def gemm_rate(backend: LocalBackend, tokens: int = 1024) -> tuple[float, int]:
    """Return float32 operations a second at the shapes of the model's layers, and its non-embedding parameters."""
    layers = [
        m for name, m in backend._loaded.model.named_modules() if type(m) is torch.nn.Linear and "lm_head" not in name
    ]
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
        total += count * sorted(times)[len(times) // 2]
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
seconds = {}
for task in sys.argv[4:]:
    started = time.perf_counter()
    lm_eval.simple_evaluate(model=model, tasks=[task], task_manager=manager, bootstrap_iters=0, verbosity="ERROR")
    seconds[task] = time.perf_counter() - started
print(json.dumps(seconds))
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


def harness(model: str, prompts: dict[str, list[str]]) -> dict[str, float]:
    """Seconds that lm-evaluation-harness takes for each list of prompts, given to it as a task file."""
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
    seconds = json.loads(out.strip().splitlines()[-1])
    return {setting: seconds[name] for setting, name in names.items()}


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
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--peer-every", type=int, default=6)
    parser.add_argument("--skip-harness", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    path = demo_model()
    backend = LocalBackend.load(path, label_form=FORM)
    found: dict[str, dict[str, object]] = {}
    peers: dict[str, list[str]] = {}
    for setting, (design, shots, share) in SETTINGS.items():
        # Items of two subjects, so that a run's few prefixes are shared by many items, as in the whole benchmark.
        whole = load_benchmark("mmlu-five")
        groups = sorted({item.group or "" for item in whole})[1:3]
        n = max(2, round(options.items * share))
        items = [i for g in groups for i in [i for i in whole if i.group == g][: n // 2]]
        requests = requests_of(items, whole, design, shots)
        few = {item.id for item in items[:: options.peer_every]}
        peer = [r for r in requests if r.item_id in few]
        ours(backend, requests_of(items[:1], whole, design, shots))  # warm up, and the check of the engine
        work = backend.workload(requests)
        # Ours before and after the peer: a machine that slows down midway slows both.
        first, alone, second = ours(backend, requests), one_at_a_time(backend, peer), ours(backend, requests)
        rate, n_parameters = gemm_rate(backend)
        taken = (first + second) / 2
        limit = 2 * n_parameters * work.unique_tokens / rate
        found[setting] = {
            "items": len(items),
            "prompts": len(requests),
            "tokens": work.tokens,
            "unique_tokens": work.unique_tokens,
            "seconds": [round(first, 2), round(second, 2)],
            "one_at_a_time": round(alone / len(peer) * len(requests) / taken, 2),
            "gemm_gflops": round(rate / 1e9, 1),
            "limit": round(limit / taken, 3),
            "targets": TARGETS[setting],
        }
        peers[setting] = [r.prompt for r in peer]
        print(setting, found[setting], file=sys.stderr)
    if not options.skip_harness:
        for setting, seconds in harness(path, peers).items():
            entry = found[setting]
            taken = sum(entry["seconds"]) / 2  # type: ignore[arg-type]
            entry["harness"] = round(seconds / len(peers[setting]) * int(str(entry["prompts"])) / taken, 2)
    print(json.dumps({"model": backend.identity, "threads": THREADS, "settings": found}, indent=1))


if __name__ == "__main__":
    main()
