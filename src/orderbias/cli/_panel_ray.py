"""The models of a panel spread over a Ray cluster; the one module that knows ray."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from orderbias.cli._panel_asking import ask_model
from orderbias.cli._panel_cells import Prepared
from orderbias.cli._panel_folder import PanelFolder
from orderbias.cli._saying import say
from orderbias.errors import MissingExtra, RunError

#: How often a model's cells are taken up again elsewhere where the node that asked it died.
RETRIES = 10
#: Seconds that workers have to store what they hold when the command is interrupted.
GRACE_SECONDS = 20.0
#: Seconds that an address has to answer.
REACH_SECONDS = 10.0


def need_ray() -> Any:
    """Import ray.

    Raises
    ------
    MissingExtra
        If it is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", "ray") from error
    return ray


def ask_with_ray(prepared: Prepared, folder: PanelFolder, address: str) -> list[str]:
    """Fill every cell, a model's cells in one task; returns a sentence for each thing that went wrong.

    Parameters
    ----------
    prepared
        The panel; it is sent to the workers, which need not have the files of its items.
    folder
        Opened not in place, and seen by every worker.
    address
        Of the cluster, ``auto`` for the one of this machine, ``local`` to start one here.

    Raises
    ------
    RunError
        If the cluster cannot be reached.
    """
    ray = need_ray()
    with _connected(ray, address):
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(ask_model)
        given = ray.put(prepared)
        waiting = {
            task.options(num_gpus=model.gpus, name=model.shown).remote(given, model.shown, folder): model.shown
            for model in prepared.settings.models
        }
        say(f"{len(waiting):,} models are asked by the cluster.")
        faults: list[str] = []
        try:
            while waiting:
                for done in ray.wait(list(waiting), num_returns=1, timeout=1.0)[0]:
                    faults += _outcome(ray, done, waiting.pop(done))
        except KeyboardInterrupt:
            _cancel(ray, list(waiting))
            raise
    return faults


def _outcome(ray: Any, done: Any, model: str) -> list[str]:
    try:
        found: list[str] = ray.get(done)
    except ray.exceptions.RayError as error:
        return [f"{model} is left: {str(error).strip().splitlines()[0]}"]
    say(f"{model}: {'all cells are done' if not found else f'{len(found):,} cells are left'}.")
    return found


def _cancel(ray: Any, waiting: list[Any]) -> None:
    """Interrupt the workers as a Ctrl-C would, and let them store what they hold."""
    for task in waiting:
        with contextlib.suppress(ray.exceptions.RayError):
            ray.cancel(task, force=False)
    ray.wait(waiting, num_returns=len(waiting), timeout=GRACE_SECONDS)
    say("What was answered is stored; the same command goes on from there.")


def check_reachable(address: str) -> None:
    """Refuse an address at which nothing listens: ray would try it for minutes.

    Raises
    ------
    RunError
        If nothing listens there.
    """
    import socket

    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        return  # a word of ray's, such as auto
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise RunError(
            f"--ray must be the address of a Ray cluster, HOST:PORT, auto, or local. Nothing answers at {address!r}: "
            f"{error}."
        ) from error


@contextlib.contextmanager
def _connected(ray: Any, address: str) -> Iterator[None]:
    """Connect to a cluster, unless this process is connected already."""
    if ray.is_initialized():
        yield
        return
    check_reachable(address)
    try:
        ray.init(address=address, log_to_driver=True)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise RunError(
            f"--ray must be the address of a Ray cluster, auto, or local. Got {address!r}: {error}"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()
