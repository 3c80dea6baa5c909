"""Tasks with schedules whose jobs write down what they do, and whether that is what was promised."""
import calendar
import collections
import time

import msgpack

from harness.runner import scheduled

KEPT = 10000  # records: none is pruned meanwhile

# Locked for as long as it runs: a second one beside it says so.
JOB = """exec 9>>{folder}/{task}.lock
flock -n 9 || echo beside $ZKLEADER_TICK $ZKLEADER_ATTEMPT $ZKLEADER_TOKEN >>{folder}/{task}
echo begun $ZKLEADER_TICK $ZKLEADER_ATTEMPT $ZKLEADER_TOKEN >>{folder}/{task}
sleep {seconds}
echo ended $ZKLEADER_TICK $ZKLEADER_ATTEMPT $ZKLEADER_TOKEN >>{folder}/{task}
"""


def task(folder, name, period, seconds, writes=None, **values):
    """A task that is due every `period` seconds; its job takes so many seconds, and writes to the file of that name."""
    script = JOB.format(folder=folder, task=writes or name, seconds=seconds).replace("\n", "; ").rstrip("; ")
    values = {"catch_up": "all", "history": KEPT, **values}
    return scheduled(name, ["/bin/sh", "-c", script], schedule=f"every {period}s", **values)


def written(folder, name):
    path = folder / name
    lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(what, tick, int(attempt), int(token)) for what, tick, attempt, token in lines]


def records(zk, name):
    """By tick. A run whose session has ended is lost: nobody writes that where it is not to be begun again."""
    found = {tick: msgpack.unpackb(zk.get("runs", name, tick)[0]) for tick in zk.names("runs", name)}
    sessions = {stat.ephemeralOwner for _, stat in (zk.get("workers", worker) for worker in zk.names("workers")) if stat}
    for record in found.values():
        if record["state"] == "running" and record["session"] not in sessions:
            record["state"] = "lost"
    return found


def judge(folder, zk, name, until, period, least=1, rerun=False, writes=None):
    """The states of the ticks, and how many were begun again; fails where a tick was not run as is promised. `least`
    ticks have to be there; rerun: as on-crash has it; writes: as task() has it."""
    lines, kept = written(folder, writes or name), records(zk, name)
    assert not [line for line in lines if line[0] == "beside"], f"{name}: two jobs at a time"
    tokens = [token for what, _, _, token in lines if what == "begun"]
    assert tokens == sorted(tokens), f"{name}: a smaller token after a greater one"
    begun = collections.defaultdict(list)
    for what, tick, attempt, _ in lines:
        if what == "begun":
            begun[tick].append(attempt)
    ended = {tick for what, tick, _, _ in lines if what == "ended"}
    ticks = sorted(t for t in kept if t < until)
    seconds = [calendar.timegm(time.strptime(t, "%Y-%m-%dT%H:%M:%SZ")) for t in ticks]
    assert seconds == [seconds[0] + i * period for i in range(len(seconds))], f"{name}: each has a record: {ticks}"
    assert len(ticks) >= least and set(begun) <= set(kept), f"{name}: {len(ticks)} records, {set(begun) - set(kept)}"
    states = collections.Counter(kept[t]["state"] for t in ticks)
    for tick in ticks:
        state, attempts = kept[tick]["state"], begun[tick]
        assert attempts == sorted(set(attempts)), f"{name} {tick}: an attempt was begun twice: {attempts}"
        assert len(attempts) <= 1 or rerun, f"{name} {tick} was begun twice: {attempts}"
        assert (state == "ok") <= (tick in ended), f"{name} {tick} is ok, and did not end"
        assert state != "missed" or not attempts, f"{name} {tick} is missed, and was run"
        assert not rerun or state in ("ok", "missed"), f"{name} {tick}: {state}"
    return states, sum(len(a) > 1 for a in begun.values())
