"""What clients are told, and how that is read."""
from dataclasses import dataclass, field
from typing import Any, Optional

from ._base import lease_seconds, may, now, want

ENDED = ("ok", "dead", "lost", "cancelled")  # states of a job, for ever


@dataclass(frozen=True)
class Answer:
    """Whether this node leads a task. As a bool it is `leads`."""

    task: str
    state: str  #: "leading", "following", "contending", "paused", "drained", "disconnected"; others may come
    token: int  #: the fencing token, bigger with each new leader; 0: nobody is known to lead
    leader: Optional[str]  #: what the node that leads is called; None: not known
    version: Optional[str]  #: of the leader
    why: str  #: a sentence for people
    until: float  #: by `zkleader.now()`: until when this node leads; 0.0: it does not
    lease: float = field(repr=False)  #: seconds from when it was asked

    @property
    def left(self) -> float:
        """Seconds for which this node leads from now on, whatever happens."""
        return max(self.until - now(), 0.0)

    @property
    def leads(self) -> bool:
        """Whether this node leads now: looked up in the lease, each time anew; nothing is asked."""
        return now() < self.until

    @property
    def _code(self) -> int:
        """Why this node does not lead, as zkleader-check says it."""
        if self.state == "paused":
            return 4
        if self.state != "disconnected" and self.leader is not None:
            return 1
        return 4 if self.state == "drained" else 2

    def __bool__(self) -> bool:
        return self.leads


@dataclass(frozen=True)
class Change:
    """The state of a task, as it became. News, and no permission: only `leads()` tells whether one may act."""

    task: str
    state: str
    leads: bool  #: this node has the role
    token: int  #: 0: nobody is known to lead
    leader: Optional[str]
    version: Optional[str]
    reason: Optional[str]  #: why the one before leads no longer, for people


@dataclass(frozen=True)
class Job:
    """A job of a queue."""

    id: str
    queue: str
    state: str  #: "queued", "assigned", "running"; for ever "ok", "dead", "lost", "cancelled"
    attempt: int
    node: Optional[str]
    exit_status: Optional[int]
    output: Optional[str]  #: the last 2,048 bytes that it wrote, if one may see them
    more: dict[str, Any] = field(repr=False)  #: all that the sidecar says of it

    @property
    def ended(self) -> bool:
        return self.state in ENDED


@dataclass(frozen=True)
class Ran:
    """What came of a `run`. As a bool: whether the function ran here."""

    ran: bool
    reason: str  #: "ok"; where it did not run here "taken", "waited" or "nobody"
    why: str = ""  #: for people
    tick: Optional[str] = None
    value: Any = None  #: what the function returned
    recorded: bool = False  #: its end is in the ledger

    def __bool__(self) -> bool:
        return self.ran


def answer(task: str, said: Any, sent: float) -> Answer:
    lease = lease_seconds(want(said, "lease_ms", int)) if want(said, "leader", bool) else 0.0
    leader, version = who(may(said, "led_by", dict))
    return Answer(task, want(said, "state", str), want(said, "token", int), leader, version, may(said, "why", str) or "",
                  sent + lease if lease > 0 else 0.0, lease)


def who(leader: Optional[dict[str, Any]]) -> tuple[Optional[str], Optional[str]]:
    """What a leader is called, and its version."""
    if leader is None:
        return None, None
    return (may(leader, "node", str) or may(leader, "hostname", str) or may(leader, "id", str) or None,
            may(leader, "version", str) or None)


def job(said: Any) -> Job:
    return Job(want(said, "id", str), want(said, "queue", str), want(said, "state", str), want(said, "attempt", int),
               may(said, "node", str), may(said, "exit_status", int), may(said, "output", str), said)
