"""`orderbias panel run --ray`: a cluster of three nodes, one of which dies; nothing is lost, nothing is doubled."""

import os
import threading
import time
from pathlib import Path

import pytest

from orderbias.cli import run
from orderbias.store import Run

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

PANEL = """
seed = 3
[[benchmarks]]
source = "mmlu-five"
n_items = 20
[[sweeps]]
[[sweeps]]
readout = "direct"
n_items = 8
"""
MODELS = ("Ash", "Birch", "Cedar")
#: What may happen while a node dies is Ray's to warn of.
pytestmark = pytest.mark.filterwarnings("ignore")


def slow_down():
    """Let the simulated model of a worker take its time, so that the node's death falls into the asking."""
    from orderbias import collect
    from orderbias.backends.simulated import SimulatedBackend

    collect.ITEMS_AT_ONCE, collect.FLUSH_SECONDS = 1, 0.0
    quick = SimulatedBackend.ask

    def ask(self, requests):
        time.sleep(0.25)
        return quick(self, requests)

    SimulatedBackend.ask = ask


@pytest.fixture
def cluster(monkeypatch):
    """Three nodes that ask one model each; the first is the head, and stays."""
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    here = Path(__file__).parent
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(here.parents[1] / "src"), str(here)]))
    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
    made = cluster_utils.Cluster(initialize_head=True, head_node_args=node)
    nodes = [made.add_node(wait=False, **node) for _ in range(2)]
    made.wait_for_nodes()
    ray.init(
        address=made.address, log_to_driver=False, logging_level="error",
        runtime_env={"worker_process_setup_hook": slow_down},
    )  # fmt: skip
    try:
        yield made, nodes
    finally:
        ray.shutdown()
        made.shutdown()


def n_parts(folder):
    """Count the parts of a model's cells."""
    return len(list(folder.glob("*/records/part-*.parquet")))


def answers(folder):
    """Return every answer of a panel by its cell and query; a doubled one would show in the count."""
    found = {}
    for path in sorted(Path(folder).glob("*/*/*/manifest.json")):
        opened = Run.open(path.parent)
        records = list(opened.records())
        assert opened.verify().faults == (), path
        rows = {(r.item_id, r.positions, r.repeat): (r.place, r.logprobs, r.mass, r.text, r.status) for r in records}
        assert len(rows) == len(records) == opened.manifest.n_queries
        found[str(path.parent.relative_to(folder))] = rows
    return found


def test_a_node_dies_and_nothing_is_lost_or_doubled(cluster, tmp_path, capsys):
    made, nodes = cluster
    panel = tmp_path / "PANEL.toml"
    panel.write_text(PANEL + "".join(f'[[models]]\nmodel = "simulated"\nname = "{name}"\n' for name in MODELS))
    out = tmp_path / "with-ray"
    began, over = {}, threading.Event()

    def kill_when_all_are_asked():
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline and not over.is_set():
            began.update({name: n_parts(out / "first-token" / name) for name in MODELS})
            if all(began.values()):
                break
            time.sleep(0.05)
        made.remove_node(nodes[0], allow_graceful=False)

    killer = threading.Thread(target=kill_when_all_are_asked)
    killer.start()
    code = run(["panel", "run", str(panel), "--out", out.as_uri(), "--ray", made.address])
    over.set()
    killer.join()
    said = capsys.readouterr().err
    assert code == 0, said
    assert all(began[name] for name in MODELS), "the node must die in mid-run"
    # One model was asked by two workers, one after the other: a cell of it was claimed twice.
    claims = {name: len(list(out.glob(f"*/{name}/*/records/writer-*"))) for name in MODELS}
    assert sorted(claims.values()) == [2, 2, 3]
    alone = tmp_path / "without-ray"
    assert run(["panel", "run", str(panel), "--out", str(alone)]) == 0
    assert answers(out) == answers(alone)
