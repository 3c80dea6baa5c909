"""zkleader index, roster, forget: a number for each node, which it keeps."""
import concurrent.futures
import json

import msgpack
import pytest

from harness.proxy import MULTI, Proxy
from harness.waiting import wait_until


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


def index_of(sidecar):
    return sidecar.call("index")["index"]


def numbers(sidecars):
    with concurrent.futures.ThreadPoolExecutor(len(sidecars)) as pool:
        return list(pool.map(index_of, sidecars))


def roster_of(sidecar):
    return {e["node"]: e for e in sidecar.call("roster")}


def departed(sidecar, *names):
    return lambda: {n for n, e in roster_of(sidecar).items() if e["departed"]} == set(names)


def start_all(nodes):
    for node in nodes:
        node.start(ready=False)
    for node in nodes:
        node.wait_connected(120)


def story_of_many(fleet, n, config=None):
    """All at once: no gap and no twin; half of them back, then all, and the numbers are the same."""
    nodes = [fleet.sidecar(f"n{i}", node=f"n{i}", start=False, **(config or {})) for i in range(n)]
    start_all(nodes)
    first = numbers(nodes)
    assert sorted(first) == list(range(n))
    half = nodes[:n // 2]
    for node in half:
        node.stop()
    wait_until(departed(nodes[-1], *(node.name for node in half)), timeout=120, what="it is noted who is gone")
    assert sorted(e["index"] for e in roster_of(nodes[-1]).values()) == list(range(n))
    start_all(half)
    assert numbers(nodes) == first
    for node in nodes:
        node.kill()
    start_all(nodes[::-1])
    assert numbers(nodes) == first
    wait_until(departed(nodes[0]), timeout=120, what="all are back")
    return nodes, first


@pytest.mark.costly
def test_many_at_once_keep_their_numbers(fleet):
    story_of_many(fleet, 20)


def is_roster_change(kind, payload):
    return kind == MULTI and b"/roster" in payload


@pytest.mark.slow
@pytest.mark.seconds(600)
def test_fifty_and_the_assigner_killed_between_two_steps(fleet, zk, server):
    """Whoever gives numbers out is killed with one on its way, made and not made: the next goes on where it was."""
    with Proxy(server.port) as proxy:
        nodes, first = story_of_many(fleet, 50, {"zookeeper": proxy.address})
        for drop in (False, True):
            # Ids are those of registrations, so whoever is the first now is another than before.
            assigner = min(nodes, key=lambda node: node.id)
            lost = proxy.lose(is_roster_change, drop=drop)
            new = fleet.sidecar(f"new{drop}", node=f"new{drop}", start=False, zookeeper=proxy.address)
            new.start(ready=False)
            assert lost.applied.wait(60), "somebody gives it a number"
            assigner.kill()
            new.wait_connected(120)
            assigner.start()
            nodes.append(new)
            first.append(len(first))
            assert numbers(nodes) == first
        wait_until(departed(nodes[0]), timeout=120, what="all are there")
        assert sorted(e["index"] for e in roster_of(nodes[0]).values()) == list(range(len(nodes)))


def test_the_smallest_that_was_freed_is_given_out_first(fleet, zkleader):
    names = ["a", "b", "c", "d"]
    nodes = {}
    for name in names:
        nodes[name] = fleet.sidecar(name, node=name)
        assert index_of(nodes[name]) == names.index(name)
    for name in ("b", "c"):
        there = zkleader(nodes["a"], "forget", name)
        assert there.code == 3 and "in the fleet" in there.err
        nodes[name].stop()
    for name in ("c", "b"):
        done = zkleader(nodes["d"], "forget", name)
        assert done.code == 0 and name in done.out
        assert zkleader(nodes["d"], "forget", name).code == 3
    assert set(roster_of(nodes["a"])) == {"a", "d"}
    new = [fleet.sidecar(name, node=name) for name in ("e", "f", "g")]
    assert sorted(numbers(new)) == [1, 2, 4]
    nodes["b"].start()
    assert index_of(nodes["b"]) == 5


def test_what_is_printed(fleet, zkleader, zk):
    one = fleet.sidecar("one", node="one")
    assert index_of(one) == 0
    two = fleet.sidecar("two")
    assert index_of(two) == 1
    assert zkleader(two, "index").out == "1\n"
    assert json.loads(zkleader(two, "--json", "index").out) == {"index": 1}
    table = zkleader(one, "roster").out.splitlines()
    assert table[0].split() == ["INDEX", "NODE", "HOSTNAME", "SINCE", "DEPARTED"]
    assert [line.split()[0] for line in table[1:]] == ["0", "1"]
    entries = json.loads(zkleader(one, "--json", "roster").out)
    assert [set(e) for e in entries] == [{"node", "index", "hostname", "since", "departed"}] * 2
    assert entries[0]["node"] == "one" and entries[0]["departed"] is None and entries[0]["since"].endswith("Z")
    # The name of a node without a key has slashes, which a znode's may not.
    record = msgpack.unpackb(zk.client.get(f"{zk.root}/roster/one")[0])
    assert record["index"] == 0 and record["departed"] == 0
    assert sorted(zk.names("roster"))[1].endswith("%2Fs")
    for args in (["forget"], ["forget", "nobody"], ["forget", "x" * 401], ["index", "x"], ["roster", "x"]):
        assert zkleader(one, *args).code == 3, args


def test_a_twin_gets_no_number(fleet, zkleader):
    """Two machines with one name: neither has one until the other is gone."""
    one = fleet.sidecar("one", node="app").on_its_own_machine()
    one.stop()
    one.start()
    assert index_of(one) == 0
    two = fleet.sidecar("two", node="app", start=False).on_its_own_machine()
    two.start()
    wait_until(lambda: len(one.call("workers")) == 2, what="one knows two")
    for node in (one, two):
        none = zkleader(node, "index")
        assert none.code == 2 and "another machine has this node's name" in none.err
    one.stop()
    wait_until(lambda: len(two.call("workers")) == 1, what="two is alone")
    assert index_of(two) == 0


def test_a_foreign_tree_and_a_lost_one(fleet, zk, zkleader):
    one, two = fleet.sidecar("one", node="one"), fleet.sidecar("two", node="two")
    assert sorted(numbers([one, two])) == [0, 1]
    zk.client.create(f"{zk.root}/roster/not%41ours", b"x")
    zk.client.create(f"{zk.root}/roster/bad", b"x")
    assert set(roster_of(one)) == {"one", "two", "bad"}  # its number is not known
    zk.client.set(f"{zk.root}/roster/two", b"mine")
    assert zkleader(two, "index").code == 2
    zk.client.delete(f"{zk.root}/roster", recursive=True)
    wait_until(lambda: sorted(numbers([one, two])) == [0, 1], what="numbers are given out anew")


def test_no_session_no_number(fleet, zkleader):
    alone = fleet.sidecar("alone", ready=False, zookeeper="127.0.0.1:1")
    wait_until(alone.listens, what="it listens")
    for word in (["index"], ["roster"], ["forget", "x"]):
        assert zkleader(alone, *word).code == 2, word


def test_a_run_is_told_the_number(fleet, zk, zkleader):
    task = 'task "t" {\n  index = true\n}\n'
    assert index_of(fleet.sidecar("one", node="one", tasks=[task])) == 0
    two = fleet.sidecar("two", node="two", version="2.0", tasks=[task, "plain"])
    wait_until(lambda: zk.leaders().get("t") == two.id, what="two leads")
    assert index_of(two) == 1
    told = zkleader(two, "run", "--tick", "none", "t", "--", "sh", "-c", "echo $ZKLEADER_INDEX")
    assert (told.code, told.out) == (0, "1\n")
    plain = zkleader(two, "run", "--tick", "none", "plain", "--", "sh", "-c", "echo ${ZKLEADER_INDEX-none}",
                     env={"ZKLEADER_INDEX": "7"})
    assert (plain.code, plain.out) == (0, "none\n")
    zk.client.set(f"{zk.root}/roster/two", b"mine")
    none = zkleader(two, "run", "--tick", "none", "t", "--", "true")
    assert none.code == 2 and "no number" in none.err


def test_an_entry_that_cannot_be_read_stops_nobody_and_keeps_its_number(fleet, zk, zkleader):
    a, b, c = (fleet.sidecar(n, node=n) for n in ("a", "b", "c"))
    assert sorted(numbers([a, b, c])) == [0, 1, 2]
    lost = index_of(c)
    c.stop()
    wait_until(departed(a, "c"), what="it is noted that one is gone")
    zk.client.set(zk.path("roster", "c"), b"junk")
    # The first by id gives numbers out: by each of these all may read it anew.
    new = [fleet.sidecar(f"n{i}", node=f"n{i}") for i in range(4)]
    given = numbers([a, b, *new])
    assert len(set(given)) == 6 and lost not in given, (lost, given)
    for sidecar in (a, b, *new):  # whoever is asked reads it anew, and one of them is the first by id
        assert {e["node"]: e["index"] for e in sidecar.call("roster")}["c"] is None
    shown = zkleader(a, "roster")
    assert shown.code == 0 and any(line.split()[:2] == ["?", "c"] for line in shown.out.splitlines()), shown
    def told():
        """By the first by id, who gives numbers out."""
        return [p["message"] for s in (a, b, *new) for p in s.problems() if p["file"] == "c"]
    wait_until(told, what="it is told")
    assert "zkleader forget c" in told()[0]
    assert zkleader(a, "forget", "c").code == 0
    wait_until(lambda: not told(), what="all is well")
    last = fleet.sidecar("last", node="last")
    assert index_of(last) == lost, "the smallest that is free"


def test_a_node_whose_entry_cannot_be_read_gets_a_number_anew(fleet, zk, zkleader):
    a, b = (fleet.sidecar(n, node=n) for n in ("a", "b"))
    assert sorted(numbers([a, b])) == [0, 1]
    zk.client.set(zk.path("roster", "b"), b"junk")
    refused = zkleader(b, "index")
    assert refused.code == 2 and "cannot be read" in refused.err, refused
    wait_until(lambda: [p["file"] for p in b.problems()] == ["b"], what="it says so itself")
    assert zkleader(b, "forget", "b").code == 0
    assert sorted(numbers([a, b])) == [0, 1]
    wait_until(lambda: not b.problems(), what="all is well")
