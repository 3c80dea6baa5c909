"""zkleader lock: never more than K commands at a time in the whole fleet, whatever is killed, stopped or cut off."""
import concurrent.futures
import json
import os
import signal
import time

import pytest
from kazoo.exceptions import NoNodeError

from harness.holders import Holders
from harness.jobs import children
from harness.process import end
from harness.proxy import MULTI, Proxy
from harness.waiting import holds_for, wait_until

CHILDREN = (8, 12)  # ZooKeeper's requests for the names in a node
NAME = "db"
SESSION = {"session_timeout": "6s"}
OBEDIENT = "while [ ! -e {folder}/release.$1 ]; do sleep 0.05; done"


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


@pytest.fixture
def holders(folder, fleet):
    """holders(slots): those of the lock NAME; what is left of them at the end is killed."""
    assert fleet  # whose end comes after theirs
    made = []

    def of(slots=1, name=NAME):
        made.append(Holders(folder, name, slots))
        return made[-1]

    yield of
    for one in made:
        one.close()
        one.check()


def nodes(zk, name=NAME):
    """The nodes that hold and wait, in their order; None: the lock is not there."""
    try:
        return sorted(zk.client.get_children(f"{zk.root}/locks/{name}"), key=lambda n: int(n.rsplit("-", 1)[1]))
    except NoNodeError:
        return None


def wait_in_line(zk, n, name=NAME):
    wait_until(lambda: len(nodes(zk, name) or []) == n, what=f"{n} are in line")


def wait_nobody(zk, name=NAME):
    wait_until(lambda: not nodes(zk, name), what="nothing is left behind")


def test_the_command_and_its_exit_code(fleet, zkleader, zk):
    one = fleet.sidecar("one")
    said = zkleader(one, "lock", NAME, "--", "sh", "-c", 'echo "$ZKLEADER_LOCK $ZKLEADER_TOKEN"; exit 7')
    assert (said.code, said.err) == (7, "")
    name, token = said.out.split()
    again = zkleader(one, "lock", NAME, "--", "sh", "-c", "echo $ZKLEADER_TOKEN")
    assert name == NAME and int(again.out) > int(token) > 0
    assert nodes(zk) == []
    missing = zkleader(one, "lock", NAME, "--", "/no/such/program")
    assert missing.code == 127 and "/no/such/program" in missing.err
    assert nodes(zk) == []
    assert zkleader(one, "lock", NAME, "--", "sh", "-c", "kill -9 $$").code == 137


def test_json_says_before_the_command_whether_it_begins(fleet, holders, zkleader):
    one, h = fleet.sidecar("one"), holders(slots=2)
    free = zkleader(one, "--json", "lock", NAME, "--", "sh", "-c", "echo $ZKLEADER_TOKEN; exit 7")
    told, printed = free.out.rsplit("\n", 2)[:2]
    assert (free.code, json.loads(told)) == (7, {"started": True, "token": int(printed), "slots": 1}), free
    h.run(one, "a")
    h.wait_started("a")
    h.run(one, "b")
    h.wait_started("a", "b")
    taken = zkleader(one, "--json", "lock", NAME, "--slots", "2", "--wait", "0s", "--", "echo", "no")
    assert (taken.code, json.loads(taken.out)) == (1, {"started": False, "token": None, "slots": None}), taken
    other = zkleader(one, "--json", "lock", NAME, "--", "echo", "no")
    assert (other.code, json.loads(other.out)) == (3, {"started": False, "token": None, "slots": 2}), other
    for who in ("a", "b"):
        h.release(who)


def test_first_come_first_served(fleet, holders, zk, zkleader):
    one, two, h = fleet.sidecar("one"), fleet.sidecar("two"), holders()
    order = ["a", "b", "c", "d", "e"]
    for i, who in enumerate(order):
        h.run((one, two)[i % 2], who)
        wait_in_line(zk, i + 1)
    h.wait_started("a")
    shown = json.loads(zkleader(two, "--json", "locks", NAME).out)
    assert [lock["name"] for lock in shown] == [NAME] and shown[0]["slots"] == 1
    assert [e["node"] for e in shown[0]["entries"]] == [fleet_name(one), fleet_name(two)] * 2 + [fleet_name(one)]
    assert [bool(e["held"]) for e in shown[0]["entries"]] == [True] + [False] * 4
    assert shown[0]["entries"][1]["command"].endswith("script.b b")
    assert shown[0]["entries"][1]["pid"] == h.runs["b"].pid
    text = zkleader(two, "locks").out.splitlines()
    assert text[0].split() == ["LOCK", "SLOTS", "STATE", "FOR", "NODE", "PID", "COMMAND"]
    assert [line.split()[2] for line in text[1:]] == ["holds"] + ["waits"] * 4
    for i, who in enumerate(order):
        h.wait_started(*order[:i + 1])
        h.release(who)
        assert h.runs[who].code() == 0
    wait_nobody(zk)
    assert zkleader(two, "locks").out == "nobody holds a lock\n"


def fleet_name(sidecar):
    return next(w["node"] for w in sidecar.call("workers") if w["id"] == sidecar.id)


@pytest.mark.costly
def test_slots(fleet, holders, zk):
    """Whichever of the holders goes, the first that waits has its slot."""
    one, two, h = fleet.sidecar("one"), fleet.sidecar("two"), holders(2)
    order = ["a", "b", "c", "d", "e"]
    for i, who in enumerate(order):
        h.run((one, two)[i % 2], who)
        wait_in_line(zk, i + 1)
    wait_until(lambda: sorted(h.who("start")) == ["a", "b"], what="two hold")
    for n, who in enumerate(["b", "c", "d", "a", "e"]):
        h.release(who)
        assert h.runs[who].code() == 0
        begun = order[:min(n + 3, 5)]
        wait_until(lambda begun=begun: sorted(h.who("start")) == begun, what=f"{begun} have begun")
    wait_nobody(zk)


def test_another_number_of_slots_is_refused(fleet, holders, zk, zkleader):
    one, h = fleet.sidecar("one"), holders(2)
    h.run(one, "a")
    h.wait_started("a")
    other = zkleader(one, "lock", NAME, "--", "true")
    assert other.code == 3 and other.err == f"zkleader: others use the lock {NAME} with --slots 2\n"
    wait_in_line(zk, 1)


def test_another_number_of_slots_is_good_as_soon_as_nobody_uses_the_lock(fleet, holders, zk, zkleader):
    one, two, h = fleet.sidecar("one"), fleet.sidecar("two"), holders(2)
    for sidecar in (one, two):
        h.run(one, f"at-{sidecar.name}")
        h.wait_started(*[f"at-{s.name}" for s in (one, two)][:len(h.runs)])
        h.release(f"at-{sidecar.name}")
        assert h.runs[f"at-{sidecar.name}"].code() == 0
        began = time.monotonic()
        for slots in (1, 3, 2):
            said = zkleader(sidecar, "lock", "--slots", str(slots), NAME, "--", "true")
            assert (said.code, said.err) == (0, ""), slots
        assert time.monotonic() - began < 15, "three times"
    assert nodes(zk) == []


def test_of_many_with_numbers_of_slots_of_their_own_each_has_the_lock_in_the_end(fleet, zk, zkleader):
    """Those that use it with one number keep it from the others, who try again; never two numbers at a time."""
    sidecars = [fleet.sidecar(name) for name in ("one", "two")]

    def take(i):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            said = zkleader(sidecars[i % 2], "lock", "--slots", str(i % 3 + 1), NAME, "--", "true")
            if said.code != 3:
                return said.code
        return 3

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(take, range(16))) == [0] * 16
    wait_nobody(zk)


def test_wait_is_over(fleet, holders, zk, zkleader):
    one, two, h = fleet.sidecar("one"), fleet.sidecar("two"), holders()
    assert zkleader(two, "lock", "--wait", "0s", NAME, "--", "true").code == 0
    h.run(one, "a")
    h.wait_started("a")
    for wait in ("0s", "300ms"):
        late = zkleader(two, "lock", "--wait", wait, NAME, "--", "true")
        assert late.code == 1 and late.err.startswith(f"zkleader: the lock {NAME} was not free within")
        wait_in_line(zk, 1)


def test_what_is_refused(fleet, zkleader):
    one = fleet.sidecar("one")
    for args in ([NAME], ["a/b", "--", "true"], ["--slots", "0", NAME, "--", "true"],
                 ["--slots", "1001", NAME, "--", "true"], ["--wait", "x", NAME, "--", "true"], ["--", "true"],
                 ["--kill-after", "1h", NAME, "--", "true"]):
        wrong = zkleader(one, "lock", *args)
        assert wrong.code == 3 and wrong.err, args
    for params in ((), (NAME,), (NAME, {}), (NAME, {"id": "x"}), (NAME, {"id": "0" * 32, "slots": 0}), (1, 2),
                   (NAME, {"id": "0" * 32, "command": "x" * 101}), (NAME, {"id": "0" * 32, "wait_ms": -2})):
        assert one.error_of("lock", *params).code == 3, params
    for method in ("lock_renew", "lock_finish", "lock_attach"):
        for params in ((), (7,), (NAME, "x")):
            assert one.error_of(method, *params).code == 3, (method, params)
    assert one.call("lock_attach", NAME, "0" * 32)["attached"] is False


def test_foreign_content_is_not_touched(fleet, zk, zkleader):
    one = fleet.sidecar("one")
    assert zkleader(one, "lock", NAME, "--", "true").code == 0
    zk.client.set(f"{zk.root}/locks/{NAME}", b"mine")
    zk.client.create(f"{zk.root}/locks/{NAME}/yours", b"mine")
    other = zkleader(one, "lock", NAME, "--", "true")
    assert other.code == 2 and "there is something else in the lock's place" in other.err
    wait_until(lambda: zk.names("locks", NAME) == ["yours"], what="nothing of ours is left")
    zk.client.set(f"{zk.root}/locks/{NAME}", b"\x81\xa5slots\x01")
    assert zkleader(one, "lock", NAME, "--", "true").code == 0
    assert zk.names("locks", NAME) == ["yours"]


def test_without_a_session(fleet, zkleader):
    alone = fleet.sidecar("alone", ready=False, zookeeper="127.0.0.1:1")
    wait_until(alone.listens, what="it listens")
    no = zkleader(alone, "lock", NAME, "--", "true")
    assert no.code == 2 and "no confirmed session with ZooKeeper" in no.err
    alone.stop()
    gone = zkleader(alone, "lock", NAME, "--", "true")
    assert gone.code == 2 and gone.err.count("\n") == 1


@pytest.mark.slow
def test_an_empty_lock_goes(fleet, zk, zkleader):
    one = fleet.sidecar("one")
    assert zkleader(one, "lock", NAME, "--", "true").code == 0
    assert nodes(zk) == []
    wait_until(lambda: nodes(zk) is None, timeout=60, what="the folder has gone")
    assert zkleader(one, "lock", "--slots", "3", NAME, "--", "true").code == 0


def is_entry(kind, payload):
    return kind == MULTI and f"/locks/{NAME}/".encode() in payload and b"command" in payload


@pytest.mark.parametrize("drop", [False, True], ids=["made", "not made"])
def test_a_lost_answer_is_found_out(fleet, proxy, zk, zkleader, drop):
    one = fleet.sidecar("one", zookeeper=proxy.address)
    assert zkleader(one, "lock", NAME, "--", "true").code == 0
    for _ in range(3):
        lost = proxy.lose(is_entry, drop=drop, then="close")
        assert zkleader(one, "lock", NAME, "--", "true").code == 0
        assert lost.applied.wait(10)
        assert nodes(zk) == []


@pytest.mark.parametrize("waits", [False, True], ids=["holds", "waits"])
def test_a_killed_client_leaves_nothing(fleet, holders, zk, waits):
    one, two, h = fleet.sidecar("one", **SESSION), fleet.sidecar("two", **SESSION), holders()
    h.run(one, "a")
    h.wait_started("a")
    victim = "a"
    if waits:
        victim = "b"
        h.run(two, "b")
        wait_in_line(zk, 2)
    end(h.runs[victim].process)
    h.run(two, "c")
    if waits:
        wait_in_line(zk, 2)
        h.release("a")
    h.release("c")
    assert h.runs["c"].code() == 0
    assert h.who("start") == ["a", "c"]
    wait_nobody(zk)


def test_the_guard_is_killed(fleet, holders, zk):
    one, h = fleet.sidecar("one", **SESSION), holders()
    run = h.run(one, "a")
    h.wait_started("a")
    h.run(one, "b")
    wait_in_line(zk, 2)
    guard = next(iter(children(run.pid)))
    os.kill(guard, signal.SIGKILL)
    assert run.code() == 137
    h.release("b")
    assert h.runs["b"].code() == 0
    wait_nobody(zk)


def test_a_stopped_sidecar_and_a_stopped_guard(fleet, holders, zk):
    """Beyond the session: the command is dead before the next one begins, whoever of its keepers stands still."""
    one, two, h = fleet.sidecar("one", **SESSION), fleet.sidecar("two", **SESSION), holders()
    run = h.run(one, "a")
    h.wait_started("a")
    h.run(two, "b")
    wait_in_line(zk, 2)
    os.kill(next(iter(children(run.pid))), signal.SIGSTOP)
    one.pause()
    h.wait_started("a", "b")
    assert run.code() == 2
    one.resume()
    h.release("b")
    assert h.runs["b"].code() == 0
    wait_nobody(zk)


def test_a_sidecar_that_is_cut_off(fleet, holders, server, zk):
    with Proxy(server.port) as proxy:
        one, two = fleet.sidecar("one", zookeeper=proxy.address, **SESSION), fleet.sidecar("two", **SESSION)
        h = holders()
        run = h.run(one, "a")
        h.wait_started("a")
        h.run(two, "b")
        wait_in_line(zk, 2)
        proxy.stall()
        h.wait_started("a", "b")
        code, _, err = run.wait()
        assert code == 2 and f"the lock {NAME} was lost, so its command was ended" in err
        proxy.drop()
        proxy.flow()
        h.release("b")
        assert h.runs["b"].code() == 0
        wait_nobody(zk)


def test_a_killed_sidecar(fleet, holders, zk):
    """Its session is not taken over in time: the command ends, and the next one begins."""
    one, two, h = fleet.sidecar("one", **SESSION), fleet.sidecar("two", **SESSION), holders()
    run = h.run(one, "a")
    h.wait_started("a")
    h.run(two, "b")
    wait_in_line(zk, 2)
    one.kill()
    h.wait_started("a", "b")
    assert run.code() == 2
    h.release("b")
    assert h.runs["b"].code() == 0


@pytest.mark.parametrize("how", ["restarted", "killed"])
def test_a_sidecar_that_comes_back(fleet, holders, zk, how):
    """A run that holds the lock goes on, and one that waits keeps its place."""
    one, two, h = fleet.sidecar("one", session_timeout="20s"), fleet.sidecar("two"), holders()
    h.run(one, "a")
    h.wait_started("a")
    h.run(one, "b")
    wait_in_line(zk, 2)
    h.run(two, "c")
    wait_in_line(zk, 3)
    line = nodes(zk)
    if how == "killed":
        one.kill()
    else:
        one.signal(signal.SIGUSR2)
        assert one.wait_exit() == 0
    one.start()
    wait_until(lambda: "lock goes on" in one.log(), what="it goes on")
    holds_for(lambda: h.runs["a"].process.poll() is None and nodes(zk) == line, 3, "all goes on")
    for who in "abc":
        h.release(who)
        assert h.runs[who].code() == 0
    assert h.who("start") == ["a", "b", "c"]
    wait_nobody(zk)


def test_a_sidecar_that_is_ended(fleet, holders, zk):
    """The sidecar waits for the command that holds; a run that waits is told."""
    one, two, h = fleet.sidecar("one"), fleet.sidecar("two"), holders()
    h.run(one, "a")
    h.wait_started("a")
    h.run(one, "b")
    wait_in_line(zk, 2)
    h.run(two, "c")
    wait_in_line(zk, 3)
    one.signal(signal.SIGTERM)
    assert h.runs["b"].code() == 2
    assert h.who("start") == ["a"]
    h.release("a")
    h.release("c")
    assert (h.runs["a"].code(), h.runs["c"].code()) == (0, 0)
    assert one.wait_exit() == 0


def test_term_goes_to_the_command(fleet, holders, zk):
    one, h = fleet.sidecar("one"), holders()
    run = h.run(one, "a", body=OBEDIENT)
    h.wait_started("a")
    run.signal(signal.SIGTERM)
    assert run.code() == 143
    waiter_of = holders(name="other")
    waiter_of.run(one, "x")
    waiter_of.wait_started("x")
    waits = waiter_of.run(one, "y")
    wait_in_line(zk, 2, "other")
    waits.signal(signal.SIGTERM)
    assert waits.code() == -signal.SIGTERM
    wait_in_line(zk, 1, "other")
    wait_nobody(zk)


def settled(count):
    """The count once nothing was counted for two seconds."""
    n = None
    while n != count.n:
        n = count.n
        time.sleep(2)
    return n


def test_no_herd_with_a_thousand_waiters(fleet, server, zk):
    """A release costs ZooKeeper six requests about the lock at most, however many wait: one removes a watch, and one
    sets that of the own node again, which telling others that it holds has used up."""
    with Proxy(server.port) as proxy:
        # Those that wait are lost with a session.
        sidecars = [fleet.sidecar(n, zookeeper=proxy.address, session_timeout="40s") for n in "abcd"]
        clients = [sidecar.client(120) for sidecar in sidecars for _ in range(5)]
        try:
            def ask(client):
                return client.send("lock", NAME, {"id": os.urandom(16).hex()})
            holder = clients[0]
            held = holder.result(ask(holder), 60)
            watching = proxy.count(lambda kind, payload: kind in CHILDREN and f"/{NAME}/".encode() in payload)
            for i in range(1000):
                ask(clients[i % len(clients)])
            wait_until(lambda: len(nodes(zk)) == 1001, timeout=120, what="all wait")
            wait_until(lambda: watching.n >= 1000, timeout=120, what="each has watched the one before it")
            settled(watching)
            asked = proxy.count(lambda kind, payload: f"/locks/{NAME}".encode() in payload)
            holder.call("lock_finish", held["number"])
            wait_until(lambda: len(nodes(zk)) == 1000, what="one has gone")
            assert 1 <= settled(asked) <= 6
        finally:
            for client in clients:
                client.close()
