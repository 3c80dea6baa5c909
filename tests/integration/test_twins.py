"""Names of nodes, and two machines with one name."""
from harness.sidecar import task_text
from harness.waiting import holds_for, wait_until

TASK = "nightly"


def machine(fleet, name, **config):
    """A sidecar on a machine of its own, as far as it can see."""
    sidecar = fleet.sidecar(name, start=False, tasks=[task_text(TASK)], session_timeout="10s", **config)
    return sidecar.on_its_own_machine().start()


def drained(sidecar):
    """The ids of the drained workers, as the sidecar sees the fleet."""
    return {w["id"] for w in sidecar.call("workers") if w["state"] == "drained"}


def test_a_node_is_called_by_its_key_or_its_host(fleet, zk, program):
    a = fleet.sidecar("a", tasks=[TASK])
    [worker] = a.call("workers")
    assert worker["node"] == worker["hostname"] == a.status()["node"]
    b = fleet.sidecar("b", version="2", tasks=[TASK], node="blue")
    wait_until(lambda: len(a.call("workers")) == 2, what="it knows the other")
    names = {w["id"]: w["node"] for w in a.call("workers")}
    assert names == {a.id: f"{worker['hostname']}:{a.socket}", b.id: "blue"}
    assert {w["node"] for w in zk.workers().values()} == {f"{worker['hostname']}:{a.socket}", "blue"}
    assert b.status()["node"] == "blue"
    zk.wait_for_leader(TASK, b)
    wait_until(lambda: a.check(TASK)["led_by"], what="the other knows")
    told = program("zkleader-check", "-s", a.socket, "-v", TASK)
    assert told.code == 1 and told.out.startswith("blue ("), told
    # Its host's name is not its own.
    c = fleet.sidecar("c", tasks=[TASK], node="red", root=f"{zk.root}/others")
    unknown = program("zkleader", "-s", c.socket, "drain", worker["hostname"])
    assert unknown.code == 3 and f'no node "{worker["hostname"]}" is known: that is the host of red\n' in unknown.err
    wrong = fleet.sidecar("wrong", start=False, node="no name")
    told = program("zkleaderd", "-t", "-c", wrong.config_file)
    assert told.code == 78 and "node" in told.err + told.out


def test_two_machines_with_one_name_are_told_apart_and_named(fleet, zk, jobs):
    one, two = machine(fleet, "one", node="web"), machine(fleet, "two", node="web")
    wait_until(lambda: len(one.call("workers")) == 2 == len(two.call("workers")), what="they know each other")
    for sidecar in (one, two):
        [problem] = sidecar.problems()
        assert problem["file"] == "web" and "two machines have this name" in problem["message"]
    # A drain of one is not the other's; nor is its end.
    wait_until(lambda: one.call("drain", {}), what="it is told")
    for sidecar in (one, two):
        wait_until(lambda s=sidecar: drained(s) == {one.id}, what="one is drained")
    zk.wait_for_leader(TASK, two)
    two.call("undrain", {})
    holds_for(lambda: drained(two) == {one.id}, 1, "it stays so")
    wait_until(lambda: two.call("drain", {"force": True}), what="the other as well")
    wait_until(lambda: drained(one) == {one.id, two.id}, what="both are drained")
    one.call("undrain", {})
    wait_until(lambda: drained(two) == {two.id}, what="the other alone is drained")
    zk.wait_for_leader(TASK, one)
    two.call("undrain", {})
    wait_until(lambda: not drained(one), what="nobody is drained")
    # Resignations are of one worker alone as well.
    best = one.explain(TASK)["ranking"][0]["id"]
    leader, other = (one, two) if best == one.id else (two, one)
    zk.wait_for_leader(TASK, leader)
    wait_until(lambda: leader.call("resign", TASK, {}), what="it resigns")
    zk.wait_for_leader(TASK, other)


def test_two_workers_of_one_machine_with_one_name_are_named(fleet, zk):
    one = fleet.sidecar("one", tasks=[TASK], node="web", address="192.0.2.1")
    two = fleet.sidecar("two", tasks=[TASK], node="web", address="192.0.2.2")
    for sidecar, other in ((one, "192.0.2.2"), (two, "192.0.2.1")):
        [problem] = wait_until(sidecar.problems, what="it is told, once neither can be left over from the other")
        assert problem["file"] == "web" and "another worker has this name and this machine id" in problem["message"]
        assert f"with the address {other}," in problem["message"]
    two.kill()
    two.start()
    wait_until(one.problems, what="it is still so")
    two.stop()
    wait_until(lambda: not one.problems(), what="one is left")


def test_an_order_about_twins_by_their_name_is_refused(fleet, zk, program):
    one, two = machine(fleet, "one", node="web"), machine(fleet, "two", node="web")
    third = machine(fleet, "third", node="db")
    for sidecar in (one, third):
        wait_until(lambda s=sidecar: len(s.call("workers")) == 3, what="it knows all")

    def told(*words, at=third):
        return program("zkleader", "-s", at.socket, *words)

    addresses = {w["ip"] for w in third.call("workers")}
    for words in (["drain", "web"], ["undrain", "web"], ["unresign", TASK, "web"]):
        for sidecar in (third, one):
            refused = told(*words, at=sidecar)
            assert refused.code == 3 and "web is the name of several machines" in refused.err, refused
            assert all(a in refused.err for a in addresses) and "without a name" in refused.err
    assert not drained(third)
    # Without a name it is about who is asked; of what is left the name is clear again.
    assert told("drain", at=one).code == 0
    wait_until(lambda: drained(third) == {one.id}, what="one is drained")
    one.stop()
    wait_until(lambda: len(third.call("workers")) == 2, what="it is gone")
    assert told("undrain", "web").code == 0
    assert told("drain", "web").code == 0
    wait_until(lambda: drained(third) == {two.id}, what="the other is drained")


def test_a_name_that_returns_with_another_machine_is_the_same_node(fleet, zk):
    old, other = machine(fleet, "old", node="web"), machine(fleet, "other", node="db")
    wait_until(lambda: old.call("drain", {}), what="it is told")
    wait_until(lambda: drained(other) == {old.id}, what="it is drained")
    old.stop()
    new = machine(fleet, "new", node="web")
    wait_until(lambda: drained(other) == {new.id}, what="the name is still drained")
    new.call("undrain", {})
    wait_until(lambda: not drained(other), what="and the drain can be taken back there")
    assert not new.problems()
