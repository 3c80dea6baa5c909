"""Ask the zkleader sidecar of this machine whether this node leads a task.

    import zkleader

    client = zkleader.connect()
    if client.leads("nightly-report"):
        ...

A client is for as long as one likes, and for all threads. `zkleader.aio` has the same for asyncio.
"""
from ._base import Error, Lost, Path, now
from ._core import Lease, Run
from ._sync import Client, Leading, Watch
from ._told import Answer, Change, Job, Ran

__all__ = ["Answer", "Change", "Client", "Error", "Job", "Lease", "Leading", "Lost", "Ran", "Run", "Watch", "connect", "now"]
__version__ = "0.2.0"


def connect(path: Path = None, timeout: float = 5.0) -> Client:
    """A client of the sidecar on this socket: by default $ZKLEADER_SOCKET, or /run/zkleader/zkleader.sock.

    It connects when it is first asked something. `timeout`: seconds that an answer may take.
    """
    return Client(path, timeout)
