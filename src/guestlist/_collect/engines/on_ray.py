"""Engine on a Ray cluster, or on one that Ray starts on this machine for one run.

The task and the records are put into the cluster once. Each number is a separate Ray task: if a worker or a node is lost, Ray
repeats only the numbers that it was working on.
"""

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

from guestlist._collect.engines.engine import ONE_THREAD, Files, Task, compute_or_error, load_error, pickle_task
from guestlist._store import temporary_folder
from guestlist._util import extra, integer, number, preserve_handlers, reason
from guestlist.data import Data
from guestlist.errors import AuditError

# Number of Ray tasks in the cluster for each of its cores.
AHEAD = 2
# Seconds between two checks of the cluster, and seconds that its head node may be silent. Ray itself ends the process after 60.
CHECK_INTERVAL = 1.0
PATIENCE = 20.0


@dataclass(frozen=True)
class Ray:
    """Engine that trains models on a Ray cluster (https://www.ray.io). It needs the extra ``ray``.

    guestlist must be installed on all nodes of the cluster, in one version.

    Attributes:
        address: Address of the cluster: ``host:port``, ``ray://host:port``, or ``auto`` for one that runs on this machine. By
            default the one that this process is connected to, or that $RAY_ADDRESS names; otherwise a new one on this machine.
        retries: Number of times that a training is repeated if its worker or node is lost.
        num_gpus: Number of GPUs of each task; 0.25 lets four tasks share one. With 0, tasks train on the CPU.

    Raises:
        ValueError: If ``retries`` is not an integer of 0 or more, or ``num_gpus`` is negative.

    Examples:
        >>> engine = gl.Ray("ray://head:10001", retries=5)  # pass it as engine=; it connects when models are trained
        >>> engine.retries
        5
    """

    address: str | None = None
    retries: int = 3
    num_gpus: float = 0

    def __post_init__(self):
        integer("retries", self.retries)
        number("num_gpus", self.num_gpus, 0, ends="[)")

    def run(self, task: Task, numbers: Sequence[int], pool: Data, work: Path) -> Generator[Files]:
        """Yield the files of every number."""
        ray = _ray()
        with _connected(ray, self.address):
            if self.num_gpus:
                _check_gpus(ray, self.num_gpus)
            shared = ray.put((pickle_task(task), pool))
            yield from _results(ray, shared, numbers, self.retries, self.num_gpus)


def _ray() -> Any:
    """Load Ray so that it does not end this process if a head node is gone: ``_Head`` raises instead."""
    with _environment({"RAY_gcs_rpc_server_reconnect_timeout_s": "1000000"}):
        return extra("ray", "The engine Ray")


@contextmanager
def _connected(ray, address: str | None) -> Iterator[None]:
    """Connect to a cluster for one run; an existing connection is used, and stays."""
    if ray.is_initialized() and address is None:
        yield
        return
    if ray.is_initialized():
        raise AuditError(
            f"This process is already connected to a Ray cluster. Omit address={address!r} (--address) to use it."
        )
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = address or os.environ.get("RAY_ADDRESS") or None
    with _new_cluster(ray, quiet) if address is None else _existing_cluster(ray, address, quiet):
        yield


@contextmanager
def _existing_cluster(ray, address: str, quiet: dict[str, Any]) -> Iterator[None]:
    try:
        _check_listening(address)
        with preserve_handlers():
            ray.init(address=address, **quiet)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise AuditError(
            f"No Ray cluster answers at {address!r} ({error}). Start one with ray start --head, or omit the address to "
            "start one on this machine."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_listening(address: str) -> None:
    """Raise if no process listens at an address: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


@contextmanager
def _new_cluster(ray, quiet: dict[str, Any]) -> Iterator[None]:
    # The folder is for logs and sockets. Its path must be short, since the name of a socket has a limit.
    with temporary_folder("guestlist-ray-", "/tmp" if os.name == "posix" else None) as folder:
        try:
            with _without_network(ray), preserve_handlers():
                _start(ray, include_dashboard=False, _temp_dir=str(folder), **quiet)
            yield
        finally:
            ray.shutdown()


def _start(ray, **options: Any) -> None:
    """Start Ray on this machine."""
    try:
        ray.init(address="local", **options)
    except Exception as error:  # Ray raises many types, for example if the machine is too busy.
        raise AuditError(
            f"Ray could not start on this machine ({reason(error)}). Run the same audit again to resume it, or omit engine= "
            "(--engine) to train in local processes."
        ) from error


@contextmanager
def _without_network(ray) -> Iterator[None]:
    """Disable Ray's usage reports, and its unauthenticated access from the network.

    The only setting for the second is this one, meant for systems whose firewall asks for confirmation.
    """
    settings = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    constants = ray._private.ray_constants
    enabled = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        with _environment(settings):
            yield
    finally:
        constants.ENABLE_RAY_CLUSTER = enabled


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Set environment variables, and restore them afterwards."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _check_gpus(ray, num_gpus: float) -> None:
    """Raise if no node has the GPUs of a task: Ray itself would wait for one forever."""
    largest = max((node["Resources"].get("GPU", 0.0) for node in ray.nodes() if node["Alive"]), default=0.0)
    if num_gpus > largest:
        raise AuditError(
            f"Each task needs {num_gpus:g} GPUs (num_gpus), but the largest node of the Ray cluster has {largest:g}. Add a "
            "node, or set a smaller num_gpus."
        )


def _results(ray, shared, numbers: Sequence[int], retries: int, num_gpus: float) -> Generator[Files]:
    compute = ray.remote(_compute).options(
        num_cpus=1,
        num_gpus=num_gpus,
        max_retries=retries,
        runtime_env={"env_vars": ONE_THREAD},  # separate workers: the user's other tasks keep their threads
    )
    waiting = deque(numbers)
    running: dict[Any, int] = {}
    head = _Head.connect(ray)
    try:
        while waiting or running:
            if head.answers():
                limit = AHEAD * head.cores()  # A cluster may grow and shrink.
                while waiting and len(running) < limit:
                    k = waiting.popleft()
                    running[compute.remote(shared, k)] = k
            if not running:  # The head has not answered since the start.
                time.sleep(CHECK_INTERVAL)
                continue
            done, _ = ray.wait(list(running), num_returns=1, timeout=CHECK_INTERVAL)
            for reference in done:
                yield _fetch(ray, reference, running.pop(reference), retries)
    finally:
        if head.silent_since is None:
            for unfinished in running:
                ray.cancel(unfinished, force=True)


@dataclass
class _Head:
    """The head node of the cluster.

    Ray ends this process after 60 seconds of calls to a head that is gone, so nothing is called unless the head answers.
    """

    ray: Any
    address: str  # empty if it is not known; the head then counts as answering
    silent_since: float | None = None

    @staticmethod
    def connect(ray) -> "_Head":
        """Return the head of the connected cluster."""
        try:
            return _Head(ray, str(ray.get_runtime_context().gcs_address))
        except Exception:  # A connection through a proxy does not know it.
            return _Head(ray, "")

    def answers(self) -> bool:
        """Return whether the head answers now; raise if it has not for too long."""
        try:
            _check_listening(self.address)
        except OSError as error:
            self.silent_since = self.silent_since or time.monotonic()
            if time.monotonic() - self.silent_since < PATIENCE:
                return False
            raise self._silent_error() from error
        self.silent_since = None
        return True

    def cores(self) -> int:
        """Return the number of cores in the cluster, 1 or more; raise if the head dies meanwhile."""
        resources: list[dict[str, float]] = []
        call = Thread(target=lambda: resources.append(self.ray.cluster_resources()), daemon=True)
        call.start()
        call.join(PATIENCE)
        if not resources:
            self.silent_since = time.monotonic() - PATIENCE
            raise self._silent_error()
        return max(1, int(resources[0].get("CPU", 1)))

    def _silent_error(self) -> AuditError:
        return AuditError(
            f"The head node of the Ray cluster at {self.address} has not answered for {PATIENCE:.0f} seconds. Results "
            "collected so far are kept. Start the cluster again (ray start --head), then run the same audit with its "
            "address."
        )


def _fetch(ray, reference, k: int, retries: int) -> Files:
    try:
        outcome = ray.get(reference)
    except ray.exceptions.RayError as error:
        why = next(iter(str(getattr(error, "cause", None) or error).splitlines()), "")
        raise AuditError(
            f"Task {k} failed on Ray after {_times(1 + retries)} ({type(error).__name__}: {why}). Other results are kept; "
            "run again to resume. The usual cause is too little memory. guestlist and everything the recipe imports must "
            "be installed on every node."
        ) from error
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _times(count: int) -> str:
    if count == 1:
        return "once"
    return f"{count} times"


def _compute(shared: tuple[bytes, Data], k: int) -> Files | Exception:
    """Compute the files of one number in a worker; an error is returned instead of raised."""
    pickled, pool = shared  # The arrays are not copied: all workers of a node share their memory.
    try:
        task = pickle.loads(pickled)
    except Exception as error:
        return load_error(error)
    return compute_or_error(task, k, pool)
