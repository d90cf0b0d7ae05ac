"""A Ray cluster, or one that Ray starts on this machine for as long as the work lasts.

The task and the records are put into the cluster once. Each number is a Ray task of its own, so a worker or a node that
is lost costs the numbers it was working on, and Ray does these again elsewhere.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from guestlist.collecting.engines.engine import (
    ONE_THREAD,
    Files,
    Task,
    compute_files,
    load_error,
    picklable_error,
    pickle_task,
)
from guestlist.data import Data
from guestlist.errors import AuditError
from guestlist.extras import extra
from guestlist.stopping import handlers_kept
from guestlist.store.passing import temporary_folder

# Ray tasks that wait in the cluster, for each of its cores.
AHEAD = 2
# Seconds between two looks at the cluster while nothing is finished, and how long its head node may be silent. Ray itself ends
# the process after 60.
LOOK, PATIENCE = 1.0, 20.0


@dataclass(frozen=True)
class Ray:
    """A cluster that runs Ray (https://www.ray.io). guestlist must be installed on all its nodes, in one version.

    Args:
        address: of the cluster: ``host:port``, ``ray://host:port``, or ``auto`` for one that runs on this machine. None:
            the one this process is connected to, or that $RAY_ADDRESS names; otherwise a new one on this machine.
        retries: how often a number is done again whose worker or node was lost.
    """

    address: str | None = None
    retries: int = 3

    def __post_init__(self):
        if not isinstance(self.retries, int) or self.retries < 0:
            raise ValueError(f"Expected retries={self.retries!r} to be a whole number, 0 or more.")

    def run(self, task: Task, numbers: Sequence[int], pool: Data, work: Path) -> Generator[Files]:
        ray = _ray()
        with _connected(ray, self.address):
            shared = ray.put((pickle_task(task), pool))
            yield from _results(ray, shared, numbers, self.retries)


def _ray() -> Any:
    """Load Ray. If this is its first use, Ray does not end the process where a head node is gone: ``_Head`` raises instead."""
    with _environment({"RAY_gcs_rpc_server_reconnect_timeout_s": "1000000"}):
        return extra("ray", "The engine Ray")


@contextmanager
def _connected(ray, address: str | None) -> Iterator[None]:
    """Connect for as long as the work lasts; a connection that was there before is used, and stays."""
    if ray.is_initialized() and address is None:
        yield
        return
    if ray.is_initialized():
        raise AuditError(
            f"This process is connected to a Ray cluster already. Leave address={address!r} (--address) out to use it."
        )
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = address or os.environ.get("RAY_ADDRESS") or None
    with _own_cluster(ray, quiet) if address is None else _others_cluster(ray, address, quiet):
        yield


@contextmanager
def _others_cluster(ray, address: str, quiet: dict[str, Any]) -> Iterator[None]:
    try:
        _knock(address)
        with handlers_kept():
            ray.init(address=address, **quiet)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise AuditError(
            f"No Ray cluster answers at {address!r} ({error}). Start one with: ray start --head. Without an address, one is "
            "started on this machine."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise where nobody listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


@contextmanager
def _own_cluster(ray, quiet: dict[str, Any]) -> Iterator[None]:
    # Ray keeps logs and sockets there. The path must be short: a socket's name has a limit.
    with temporary_folder("guestlist-ray-", "/tmp" if os.name == "posix" else None) as place:
        try:
            with _to_itself(ray), handlers_kept():
                ray.init(address="local", include_dashboard=False, _temp_dir=str(place), **quiet)
            yield
        finally:
            ray.shutdown()


@contextmanager
def _to_itself(ray) -> Iterator[None]:
    """Ray reports its use, and listens to the whole network without a password, unless it is told not to.

    To the second it has no setting but this one, for systems where a firewall would ask.
    """
    settings = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    constants, enabled = ray._private.ray_constants, ray._private.ray_constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        with _environment(settings):
            yield
    finally:
        constants.ENABLE_RAY_CLUSTER = enabled


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Set variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _results(ray, shared, numbers: Sequence[int], retries: int) -> Generator[Files]:
    compute = ray.remote(_compute).options(
        num_cpus=1,
        max_retries=retries,
        runtime_env={"env_vars": ONE_THREAD},  # workers of their own, so that the user's other tasks keep their threads
    )
    waiting, running, head = deque(numbers), dict[Any, int](), _Head.of(ray)
    try:
        while waiting or running:
            if head.answers():
                room = AHEAD * head.cores()  # a cluster may grow and shrink
                while waiting and len(running) < room:
                    k = waiting.popleft()
                    running[compute.remote(shared, k)] = k
            if not running:  # the head has not answered since the start
                time.sleep(LOOK)
                continue
            done, _ = ray.wait(list(running), num_returns=1, timeout=LOOK)
            for one in done:
                yield _fetched(ray, one, running.pop(one), retries)
    finally:
        if head.silent_since is None:
            for unfinished in running:
                ray.cancel(unfinished, force=True)


@dataclass
class _Head:
    """The head node of the cluster.

    Ray ends this process if it has asked a head that is gone for 60 seconds, so it is asked nothing unless it answers.
    """

    ray: Any
    address: str  # empty where it is not known, and then it is taken to answer
    silent_since: float | None = None

    @staticmethod
    def of(ray) -> _Head:
        try:
            return _Head(ray, str(ray.get_runtime_context().gcs_address))
        except Exception:  # a connection through a proxy does not know it
            return _Head(ray, "")

    def answers(self) -> bool:
        """Whether the head answers now; raise if it has not for too long."""
        try:
            _knock(self.address)
        except OSError as error:
            self.silent_since = self.silent_since or time.monotonic()
            if time.monotonic() - self.silent_since < PATIENCE:
                return False
            raise self._gone() from error
        self.silent_since = None
        return True

    def cores(self) -> int:
        """The number of cores in the cluster, 1 or more; raise if the head dies meanwhile."""
        found: list[dict[str, float]] = []
        call = Thread(target=lambda: found.append(self.ray.cluster_resources()), daemon=True)
        call.start()
        call.join(PATIENCE)
        if not found:
            self.silent_since = time.monotonic() - PATIENCE
            raise self._gone()
        return max(1, int(found[0].get("CPU", 1)))

    def _gone(self) -> AuditError:
        return AuditError(
            f"The head node of the Ray cluster at {self.address} has not answered for {PATIENCE:.0f} seconds. What was "
            "collected before is kept. Start the cluster again (ray start --head), and run the same audit again with its "
            "address."
        )


def _fetched(ray, done, k: int, retries: int) -> Files:
    try:
        outcome = ray.get(done)
    except ray.exceptions.RayError as error:
        why = next(iter(str(getattr(error, "cause", None) or error).splitlines()), "")
        raise AuditError(
            f"Ray could not do number {k}, though it tried {_times(1 + retries)} ({type(error).__name__}: {why}). Number {k} "
            "is lost, what was collected is kept: run again. A full memory is the usual cause; guestlist, and whatever the "
            "recipe imports, must be installed on every node."
        ) from error
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _compute(shared: tuple[bytes, Data], k: int) -> Files | Exception:
    """In a worker: the files of one number, or why there are none."""
    packed, pool = shared  # arrays in it are not copied, but lie in memory that all workers of a node share
    try:
        task = pickle.loads(packed)
    except Exception as error:
        return load_error(error)
    try:
        return compute_files(task, k, pool)
    except Exception as error:
        return picklable_error(error, k)
