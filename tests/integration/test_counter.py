"""zkleader counter: a number that the fleet shares; each addition is made once."""
import concurrent.futures
import json
import subprocess
import threading

import pytest

from harness.process import spawn
from harness.proxy import MULTI
from harness.sidecar import build
from harness.waiting import wait_until

NAME = "builds"


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


def test_additions_and_the_present_value(fleet, zkleader):
    one, two = fleet.sidecar("one", session_timeout="10s"), fleet.sidecar("two", session_timeout="10s")
    assert zkleader(one, "counter", NAME).out == "0\n"
    assert zkleader(one, "counter", NAME, "+5").out == "5\n"
    assert zkleader(two, "counter", NAME, "+2").out == "7\n"
    assert zkleader(one, "counter", NAME, "--", "-10").out == "-3\n"
    assert zkleader(two, "counter", NAME).out == "-3\n"
    assert json.loads(zkleader(two, "--json", "counter", NAME, "+0").out) == {
        "value": -3, "done": True, "why": None}


def test_what_is_refused(fleet, zkleader, zk):
    one = fleet.sidecar("one")
    for args in (["-bad"], ["a/b"], ["x" * 101], [NAME, "5"], [NAME, "+"], [NAME, "+1x"],
                 [NAME, "+9223372036854775808"], []):
        wrong = zkleader(one, "counter", "--", *args)
        assert wrong.code == 3 and wrong.err.count("\n") == 1, args
    assert zkleader(one, "counter", NAME, "+9223372036854775807").code == 0
    full = zkleader(one, "--json", "counter", NAME, "+1")
    assert full.code == 2 and "not done: the value would not fit" in full.err
    assert json.loads(full.out)["done"] is False
    assert zkleader(one, "counter", NAME).out == "9223372036854775807\n"


def test_a_foreign_record_is_not_touched(fleet, zkleader, zk):
    one = fleet.sidecar("one")
    assert zkleader(one, "counter", NAME, "+1").code == 0
    zk.client.set(f"{zk.root}/counters/{NAME}", b"mine")
    for args in ([NAME], [NAME, "+1"]):
        other = zkleader(one, "counter", *args)
        assert other.code == 2 and "not done: there is something else" in other.err
    assert zk.client.get(f"{zk.root}/counters/{NAME}")[0] == b"mine"


def test_without_a_session_nothing_is_done(fleet, zkleader):
    alone = fleet.sidecar("alone", ready=False, zookeeper="127.0.0.1:1")
    wait_until(alone.listens, what="it listens")
    no = zkleader(alone, "counter", NAME, "+1")
    assert no.code == 2 and "not done: no confirmed session" in no.err
    alone.stop()
    gone = zkleader(alone, "counter", NAME, "+1")
    assert gone.code == 2 and "not done: " in gone.err and gone.err.count("\n") == 1


def as_user(user, sidecar, *args):
    sidecar.folder.chmod(0o755)
    command = ["setpriv", f"--reuid={user}", "--clear-groups", build() / "zkleader", "-s", sidecar.socket, *args]
    process = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    err = process.communicate(timeout=30)[1]
    return process.returncode, err


def test_who_may(fleet, folder, base_folder):
    for path in (base_folder, folder):
        path.chmod(0o755)
    one = fleet.sidecar("one", recipe_users=["daemon"])
    assert as_user("daemon", one, "counter", NAME, "+1") == (0, "")
    code, err = as_user("nobody", one, "counter", NAME, "+1")
    assert code == 3 and "recipe-users" in err
    one.write_config(recipe_users=["nobody"])
    one.call("reload")
    assert as_user("nobody", one, "counter", NAME)[0] == 0
    assert as_user("daemon", one, "counter", NAME)[0] == 3


def is_addition(kind, payload):
    return kind == MULTI and f"/counters/{NAME}".encode() in payload


@pytest.mark.parametrize("drop", [False, True])
def test_a_lost_answer_is_found_out(fleet, proxy, drop):
    """Whether the request or the answer was lost: the next connection shows it, and it is made once."""
    one, two = fleet.sidecar("one", zookeeper=proxy.address), fleet.sidecar("two")
    assert two.call("counter", NAME, 1)["value"] == 1
    for i in range(3):
        lost = proxy.lose(is_addition, drop=drop, then="close")
        answer = one.call("counter", NAME, 10)
        assert lost.applied.wait(10) and answer == {"value": 11 + 10 * i, "done": True, "why": None}
    assert two.call("counter", NAME, 1)["value"] == 32


@pytest.mark.parametrize("each", [20, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.seconds(600)])])
def test_the_sum_is_exact_although_answers_are_lost(fleet, proxy, each):
    """Eight nodes at once, of which two lose the answer to one addition after the other. Where the time for an answer
    is over before it is found out, it says that it does not know: then, and only then, may there be one more."""
    nodes = [fleet.sidecar(n, zookeeper=proxy.address if n in "ab" else None, session_timeout="20s")
             for n in "abcdefgh"]
    going = threading.Event()

    def lose():
        while not going.is_set():
            proxy.lose(is_addition, then="close").applied.wait(1)

    def add(node):
        done = unknown = 0
        with node.client(60) as client:
            while done < each:
                answer = client.call("counter", NAME, 1)
                done += answer["done"] or 0
                unknown += answer["done"] is None
        return done, unknown

    loser = threading.Thread(target=lose)
    loser.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(len(nodes)) as pool:
            done, unknown = map(sum, zip(*pool.map(add, nodes)))
    finally:
        going.set()
        loser.join()
    assert done == each * len(nodes)
    assert done <= nodes[-1].call("counter", NAME)["value"] <= done + unknown, unknown
