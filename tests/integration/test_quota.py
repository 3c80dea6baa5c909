"""A hard quota of ZooKeeper's that is used up: each order says so in one line and ends, and all goes on once it is raised."""
import pytest

from harness.process import end, spawn
from harness.sidecar import build, queue_text
from harness.waiting import holds_for, wait_until
from test_recipe_refusals import WRITING, one_line

SAYS = "a quota of ZooKeeper is used up: raise it with setquota"

LOG = "quota exceeded: raise it with setquota"


class Quota:
    """A quota of so many znodes below a path, or bytes in them, as zkCli's setquota -N and -B set it."""

    def __init__(self, zk, path):
        self.zk = zk
        self.home = f"/zookeeper/quota{path}"
        zk.client.ensure_path(path)

    def set(self, count, size=-1):
        limits = f"count=-1,bytes=-1=;byteHardLimit={size};countHardLimit={count}".encode()
        if self.zk.client.exists(self.home):
            self.zk.client.set(f"{self.home}/zookeeper_limits", limits)
        else:
            self.zk.client.create(f"{self.home}/zookeeper_limits", limits, makepath=True)
            self.zk.client.create(f"{self.home}/zookeeper_stats", b"count=0,bytes=0")


@pytest.fixture
def own_server(own_server):
    own_server.more = "enforceQuota=true\n"
    return own_server.start()


@pytest.fixture
def quota(zk):
    """quota(folder): that of a folder below ROOT, or without one that of ROOT, is full."""
    def of(*folder):
        made = Quota(zk, zk.path(*folder))
        made.set(1)
        return made
    return of


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


def is_told(result):
    return result.code in (2, 3) and result.out == "" and SAYS in result.err and one_line(result.err)


@pytest.mark.parametrize("where", ["folder", "root"])
def test_recipes(own_server, fleet, zkleader, quota, where):
    one = fleet.sidecar("one")
    for recipe, (words, folder) in WRITING.items():
        full = quota(folder) if where == "folder" else quota()
        refused = zkleader(one, *words)
        assert is_told(refused), (recipe, refused)
        full.set(1000)
        assert zkleader(one, *words).code == 0, recipe
    assert zkleader(one, "counter", "x").out == "1\n", "what was refused was not done"


@pytest.mark.costly
def test_a_lock_that_is_held_stays_so_and_who_waits_gets_it(own_server, fleet, folder, zk, zkleader, quota):
    one = fleet.sidecar("one", session_timeout="6s")
    over = folder / "over"
    made = []
    try:
        for script in (f"until [ -e {over} ]; do sleep 0.1; done; exit 7", f"test -e {over} && exit 8"):
            made.append(spawn([build() / "zkleader", "-s", one.socket, "lock", "x", "--", "sh", "-c", script]))
            wait_until(lambda: len(zk.names("locks", "x")) == len(made), what="the first holds it, the second waits")
        full = quota()
        assert is_told(zkleader(one, "lock", "x", "--", "true"))
        holds_for(lambda: [p.poll() for p in made] == [None, None], 8, "longer than a session lives without a heartbeat")
        over.touch()
        assert [p.wait(30) for p in made] == [7, 8]
        full.set(1000)
        assert zkleader(one, "lock", "x", "--", "true").code == 0
    finally:
        over.touch()
        for process in made:
            end(process)


def test_decisions(own_server, fleet, zkleader, quota):
    one = fleet.sidecar("one", tasks=["t"])
    full = quota("policy")
    for words in (["pause", "t"], ["drain", "--force"]):
        refused = zkleader(one, *words)
        assert is_told(refused), (words, refused)
    full.set(1000)
    assert zkleader(one, "pause", "t").code == 0


def test_elections(own_server, fleet, zk, quota):
    """A leader leads on; a task that nobody leads is led once there is room, and a new worker is registered then."""
    one = fleet.sidecar("one", version="2.0", tasks=["t"], session_timeout="10s")  # the best one, whoever comes
    token = zk.wait_for_leader("t", one)
    leaders, workers = quota("leaders"), quota("workers")
    two = fleet.sidecar("two", tasks=["t", "u"], ready=False, session_timeout="10s")
    wait_until(lambda: LOG in str(two.status()), what="it says why it is not there")
    workers.set(1000)
    two.wait_connected()
    wait_until(lambda: LOG in two.log() and "claim refused" in two.log(), what="it says why it does not lead")
    assert one.leads("t") and not two.leads("u")
    wait_until(lambda: [p["file"] for p in two.status()["problems"] if SAYS in p["message"]] == ["u"],
               what="its status says so, too")
    leaders.set(1000)
    zk.wait_for_leader("u", two)
    assert not any(SAYS in p["message"] for p in two.status()["problems"])
    assert zk.leader("t")[1] == token
    assert two.log().count("claim refused") < 20


@pytest.mark.costly
def test_bytes(own_server, fleet, zk, zkleader, quota):
    """Writes of no more bytes than were there before go on: leases are confirmed, a counter counts."""
    one = fleet.sidecar("one", tasks=["t"], session_timeout="6s")
    zk.wait_for_leader("t", one)
    assert zkleader(one, "counter", "x", "+1").out == "1\n"
    full = quota()
    full.set(-1, size=1)
    holds_for(lambda: one.leads("t"), 8, "longer than a lease")
    assert zkleader(one, "counter", "x", "+1").out == "2\n"
    assert is_told(zkleader(one, "lock", "x", "--", "true"))
    full.set(-1)
    assert zkleader(one, "lock", "x", "--", "true").code == 0


def test_jobs(own_server, queues, zkleader, quota):
    """A job that runs ends and is recorded; a submit is refused, and taken later."""
    over = queues.folder / "over"
    one = queues.site("one", queue_text("q", command=["/bin/sh", "-c", f"until [ -e {over} ]; do sleep 0.1; done"]))
    queues.wait_open("q")
    running = queues.submit(one, queue="q")
    queues.wait_state(one, running, "running")
    full = quota()
    # The folders of this minute are there, or not; those of a later one are not.
    for when in ([], ["--in", "3h"]):
        refused = zkleader(one, "submit", "q", *when)
        assert refused.code == 4 and refused.out == "" and SAYS in refused.err and one_line(refused.err), refused
    over.touch()
    queues.wait_state(one, running, "ok")
    full.set(10000)
    assert zkleader(one, "submit", "q", "--wait").code == 0
