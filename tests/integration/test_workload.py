"""The judges of what jobs write are not blind: each finds what is planted. Locks and gangs are judged by flock(1)."""
import random
import types

import msgpack
import pytest

from harness.rpc import RpcError
from harness.schedules import judge
from harness.workload import Submits

TICKS = [f"2026-11-20T00:0{m}:00Z" for m in range(4)]
UNTIL = "2026-11-21T00:00:00Z"


class Records:
    """A tree with the records of one task."""

    def __init__(self, states):
        self.states = states

    def names(self, folder, *_):
        return sorted(self.states) if folder == "runs" else ["worker"]

    def get(self, folder, *names):
        if folder == "workers":
            return b"", types.SimpleNamespace(ephemeralOwner=1)
        state, _, session = self.states[names[-1]].partition(" in ")
        return msgpack.packb({"state": state, "session": int(session or 1)}), None


def judge_ticks(folder, lines, *states, rerun=False):
    (folder / "task").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return judge(folder, Records(dict(zip(TICKS, states))), "task", UNTIL, 60, 1, rerun)


def ran(k, attempt=1, token=7):
    return [f"begun {TICKS[k]} {attempt} {token}", f"ended {TICKS[k]} {attempt} {token}"]


def test_the_judge_of_ticks_lets_what_is_right_pass(folder):
    states, again = judge_ticks(folder, [*ran(0), *ran(2, token=9)], "ok", "missed", "ok", "running in 2")
    assert (dict(states), again) == ({"ok": 2, "missed": 1, "lost": 1}, 0)
    assert judge_ticks(folder, ran(0)[:1], "running in 1")[0] == {"running": 1}
    assert judge_ticks(folder, [ran(0)[0], *ran(0, 2, 8)], "ok", rerun=True)[1] == 1


@pytest.mark.parametrize("what, lines, states, rerun", [
    ("two jobs at a time", [*ran(0), f"beside {TICKS[0]} 1 7"], ["ok"], False),
    ("a smaller token", [*ran(0), *ran(1, token=6)], ["ok", "ok"], False),
    ("an attempt was begun twice", [*ran(0), *ran(0)], ["ok"], True),
    ("was begun twice", [*ran(0), *ran(0, 2)], ["ok"], False),
    ("did not end", ran(0)[:1], ["ok"], False),
    ("is missed, and was run", ran(0), ["missed"], False),
    ("lost", [*ran(0)], ["lost"], True),
    ("records", [*ran(0), *ran(1)], ["ok"], False),
    ("records", [], [], False),
])
def test_the_judge_of_ticks_finds(folder, what, lines, states, rerun):
    with pytest.raises(AssertionError, match=what):
        judge_ticks(folder, lines, *states, rerun=rerun)


def test_the_judge_of_ticks_finds_one_without_a_record(folder):
    with pytest.raises(AssertionError, match="each has a record"):
        judge(folder, Records({TICKS[0]: "missed", TICKS[2]: "missed"}), "task", UNTIL, 60)


class Known:
    """A sidecar that knows of these jobs."""

    def __init__(self, states):
        self.states = states

    def client(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def call(self, _, job):
        if job not in self.states:
            raise RpcError({"code": 3, "message": "no such job"})
        return {"state": self.states[job]}


def judge_jobs(folder, lines, states, committed, purged=0, cancelled=()):
    use = Submits(random.Random(1), [Known(states)], folder)
    use.begins = {"a": 9.5}
    use.committed, use.purges, use.cancelled = committed, {"run": purged} if purged else {}, set(cancelled)
    use.out.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return use.judge()


def did(job, attempt=1, up=9.5):
    return [f"begun {job} {attempt} {up}", f"ended {job} {attempt} {up}"]


def test_the_judge_of_jobs_lets_what_is_right_pass(folder):
    lines = ["begun a 1 9.5", *did("a", 2), *did("b"), "begun c 1 9.5"]
    judge_jobs(folder, lines, {"a": "ok", "b": "ok", "c": "lost", "e": "cancelled"},
               {"a": "again", "b": "once", "c": "once", "d": "once", "e": "again"}, purged=1, cancelled="e")


@pytest.mark.parametrize("what, lines, states, queue", [
    ("at a time", ["beside a 1 9.5"], {"a": "ok"}, "again"),
    ("is None", did("a"), {}, "again"),
    ("is None", [], {}, "once"),
    ("is running", did("a"), {"a": "running"}, "once"),
    ("is dead", did("a"), {"a": "dead"}, "again"),
    ("is cancelled", did("a"), {"a": "cancelled"}, "again"),
    ("an attempt begun twice", [*did("a"), *did("a")], {"a": "ok"}, "again"),
    ("was begun twice", [*did("a"), *did("a", 2)], {"a": "ok"}, "once"),
    ("did not end", ["begun a 1 9.5"], {"a": "ok"}, "once"),
    ("before 9.5", did("a", up=9.3), {"a": "ok"}, "once"),
    ("nobody was told of", [*did("a"), *did("x")], {"a": "ok"}, "once"),
])
def test_the_judge_of_jobs_finds(folder, what, lines, states, queue):
    with pytest.raises(AssertionError, match=what):
        judge_jobs(folder, lines, states, {"a": queue})


def test_the_judge_of_jobs_finds_that_more_are_gone_than_were_purged(folder):
    with pytest.raises(AssertionError, match="more are gone than were purged"):
        judge_jobs(folder, [], {"a": "lost"}, {"a": "once", "b": "once", "c": "once"}, purged=1)
