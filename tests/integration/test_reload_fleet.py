"""Tasks and queues whose files come and go while the fleet runs do as if they were there from the start."""
import os
import signal

import pytest

from harness.runner import scheduled
from harness.sidecar import queue_text, task_text
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")


def notes(folder):
    return ["/bin/sh", "-c", f'echo "$ZKLEADER_JOB" >>{folder}/ran']


@pytest.fixture
def three(queues):
    """Three sidecars with runners, whose sessions are up before anything is configured."""
    sidecars = [queues.site(name) for name in "abc"]
    wait_until(lambda: all(len(s.call("workers")) == 3 for s in sidecars), what="all are there")
    return sidecars


def give(sidecars, text, file="new.conf"):
    for s in sidecars:
        s.write_file(text, file)


def take(sidecars, file="new.conf"):
    for s in sidecars:
        (s.task_dir / file).unlink()


@pytest.mark.seconds(300)
def test_a_queue(queues, three, folder):
    for _ in range(2):
        give(three, queue_text("q", slots=1, assign="round-robin", command=notes(folder)))
        wait_until(lambda: all("q" in s.task_names() for s in three), what="all have it")
        queues.wait_open()
        wait_until(lambda: len(three[0].call("queue", "q")["workers"]) == 3, what="three serve it")
        jobs = [queues.submit(three[0]) for _ in range(9)]
        found = [queues.wait_state(three[1], job) for job in jobs]
        assert {f["state"] for f in found} == {"ok"}
        assert len({f["node"] for f in found}) == 3, "not the leader alone does them"
        take(three)
        wait_until(lambda: not any("q" in s.task_names() for s in three), what="nobody has it any more")


def test_tasks(three, zk):
    give(three, task_text("one") + task_text("two", rank_position=0))
    wait_until(lambda: all(sum(s.leads(t) for s in three) == 1 for t in ("one", "two")) if
               all(len(s.task_names()) == 2 for s in three) else False, what="each is led by one")
    take(three[:2])
    wait_until(lambda: three[2].leads("one") and three[2].leads("two"), what="it is led where it is left")
    take(three[2:])
    wait_until(lambda: zk.names("leaders") == [], what="it is led nowhere")


def owners(zk, *tasks):
    led = zk.leaders()
    return [led[t] for t in tasks if led.get(t)]


def test_partitions_and_another_number(three, zk):
    give(three, task_text("scan", partitions=6))
    parts = [f"scan:{k}" for k in range(6)]
    wait_until(lambda: sorted(owners(zk, *parts).count(o) for o in set(owners(zk, *parts))) == [2, 2, 2],
               what="each leads two")
    give(three, task_text("scan"))
    wait_until(lambda: zk.names("leaders") == ["scan"], 60, "it is whole again")


def test_a_spread_group(three, zk):
    names = [f"t{i}" for i in range(6)]
    give(three, "".join(task_text(n, spread="feeds") for n in names))
    wait_until(lambda: sorted(owners(zk, *names).count(o) for o in set(owners(zk, *names))) == [2, 2, 2],
               what="each leads two")


def test_a_schedule(three, folder):
    give(three, scheduled("report", ["/bin/sh", "-c", f"echo $ZKLEADER_TICK >>{folder}/ticks"], schedule="every 2s"))
    path = folder / "ticks"
    wait_until(lambda: path.exists() and len(path.read_text().split()) >= 3, what="its ticks are run")
    ran = path.read_text().split()
    assert len(ran) == len(set(ran))


def test_notify(three):
    give(three, 'notify "ops" {\n  command = { "/bin/true" }\n}\n')
    for s in three:
        s.signal(signal.SIGHUP)
        wait_until(lambda s=s: "notify changed in:" in s.log(), what="it is in force")
        assert not s.status()["problems"] or all("ops" in str(p) or "notify" in str(p) for p in s.status()["problems"])
