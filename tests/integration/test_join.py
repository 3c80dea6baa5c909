"""zkleader join: a gang of N, numbered, all at the same time; one lives of a name; nothing is left behind."""
import json
import os
import signal
import subprocess
import time
import uuid

import pytest
from kazoo.exceptions import NoNodeError

from harness.jobs import children
from harness.process import end, spawn
from harness.proxy import MULTI, Proxy
from harness.sidecar import build
from harness.waiting import holds_for, wait_until

NAME = "solver"
SESSION = {"session_timeout": "6s"}
RUNS = "echo $ZKLEADER_INDEX >{folder}/on.{key}; until [ -e {folder}/go ]; do sleep 0.05; done; rm {folder}/on.{key}; exit {code}"


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


class Gangs:
    """Begins members, each with a key; what still runs in the end is killed."""
    def __init__(self, folder):
        self.folder = folder
        self.begun = []

    def begin(self, sidecar, key, n, *args, body=RUNS, code=0):
        text = body.format(folder=self.folder, key=key, code=code)
        run = spawn([build() / "zkleader", "-s", sidecar.socket, "join", NAME, "--count", str(n), "--as", key, *args,
                     "--", "sh", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    env={**os.environ, "TMPDIR": str(self.folder)})  # what a killed one leaves goes with the folder
        self.begun.append(run)
        return run

    def begin_all(self, sidecars, keys, *args, **options):
        return [self.begin(sidecars[i % len(sidecars)], key, len(keys), *args, **options)
                for i, key in enumerate(keys)]

    def running(self):
        """The index of each key whose command has begun and not ended."""
        found = {f.name[3:]: f.read_text().strip() for f in self.folder.glob("on.*")}
        return {key: int(index) for key, index in found.items() if index}

    def wait_running(self, *keys):
        wait_until(lambda: set(self.running()) == set(keys), what=f"{keys} run")
        return self.running()

    def go(self):
        (self.folder / "go").touch()

    def anew(self):
        for file in [self.folder / "go", *self.folder.glob("on.*")]:
            file.unlink(missing_ok=True)

    def crash(self):
        """Client, guard and command of each at one moment: none of them sees another one go."""
        pids = [run.pid for run in self.begun if run.poll() is None]
        for level in range(3):
            pids += [c for pid in pids[:] for c in children(pid) if c not in pids]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
        for run in self.begun:
            run.wait(30)

    def close(self):
        for run in self.begun:
            end(run)
            run.stdout.close()
            run.stderr.close()


@pytest.fixture
def gangs(folder, fleet):
    assert fleet  # whose end comes after theirs
    all_of_them = Gangs(folder)
    yield all_of_them
    all_of_them.close()


def members(zk, name=NAME):
    """Those that are there or wait; None: no such gang."""
    try:
        names = zk.client.get_children(f"{zk.root}/gangs/{name}")
    except NoNodeError:
        return None
    return [n for n in names if not n.endswith("-left")]


def wait_members(zk, n):
    wait_until(lambda: len(members(zk) or []) == n, what=f"{n} are there")


def wait_nothing(zk, name=NAME):
    wait_until(lambda: members(zk, name) is None, what="nothing is left behind")


def codes(runs):
    return [run.wait(60) for run in runs]


def errors(run):
    return run.stderr.read()


def test_each_is_told_who_it_is_and_who_the_others_are(fleet, gangs, folder, zk, zkleader):
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    says = "echo $ZKLEADER_INDEX $ZKLEADER_COUNT $ZKLEADER_GANG; cat $ZKLEADER_PEERS; echo $ZKLEADER_PEERS >{folder}/path.{key}"
    first = gangs.begin_all([one, two], "ab", body=says)
    assert codes(first) == [0, 0]
    outs = sorted(run.stdout.read() for run in first)
    for index, out in enumerate(outs):
        lines = out.splitlines()
        assert lines[0] == f"{index} 2 {NAME}"
        assert [line.split()[0] for line in lines[1:]] == ["0", "1"]
        assert all(len(line.split()) == 3 for line in lines[1:])
        assert {line.split()[1] for line in lines[1:]} == {"127.0.0.1"}
    for key in "ab":
        assert not os.path.exists((folder / f"path.{key}").read_text().strip())
    wait_nothing(zk)
    alone = zkleader(one, "--json", "join", NAME, "-n", "1", "--", "sh", "-c", "exit 7")
    assert alone.code == 7
    assert json.loads(alone.out) == {"started": True, "index": 0, "count": 1, "instance": 1}
    wait_nothing(zk)


def test_all_begin_together_and_none_before(fleet, gangs, zk):
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    runs = [gangs.begin(one, "a", 3), gangs.begin(two, "b", 3)]
    wait_members(zk, 2)
    holds_for(lambda: not gangs.running(), 1, "nobody runs")
    runs.append(gangs.begin(one, "c", 3, code=3))
    assert sorted(gangs.wait_running("a", "b", "c").values()) == [0, 1, 2]
    gangs.go()
    assert codes(runs) == [0, 0, 3]
    assert members(zk) is None


def test_a_second_gang_is_refused_while_one_lives(fleet, gangs, zk, zkleader):
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    runs = gangs.begin_all([one, two], "ab")
    gangs.wait_running("a", "b")
    for sidecar in (one, two):
        other = zkleader(sidecar, "--json", "join", NAME, "-n", "2", "--as", "x", "--", "true")
        assert other.code == 1 and other.err == f"zkleader: {NAME} is in use: a gang of that name runs\n"
        assert json.loads(other.out) == {"started": False, "index": None, "count": None, "instance": None}
    again = zkleader(two, "join", NAME, "-n", "2", "--as", "a", "--timeout", "30s", "--", "true")
    assert again.code == 1 and "a member with that key is there" in again.err
    wait_members(zk, 2)
    gangs.go()
    assert codes(runs) == [0, 0]
    wait_nothing(zk)


def test_what_does_not_fit_is_refused(fleet, gangs, zk, zkleader):
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    first = gangs.begin(one, "a", 2)
    wait_members(zk, 1)
    other = zkleader(two, "join", NAME, "-n", "3", "--as", "b", "--", "true")
    assert other.code == 1 and other.err == f"zkleader: {NAME}: the others wait with --count 2\n"
    same = zkleader(two, "join", NAME, "-n", "2", "--as", "a", "--", "true")
    assert same.code == 1 and "a member with that key is there" in same.err
    loss = zkleader(two, "join", NAME, "-n", "2", "--as", "b", "--on-loss", "continue", "--", "true")
    assert loss.code == 1 and "another --on-loss" in loss.err
    wait_members(zk, 1)
    second = gangs.begin(two, "b", 2)
    gangs.wait_running("a", "b")
    gangs.go()
    assert codes([first, second]) == [0, 0]


def test_without_time_it_begins_with_who_is_there(fleet, zk, zkleader):
    one = fleet.sidecar("one")
    for _ in range(2):
        alone = zkleader(one, "join", NAME, "-n", "1", "--timeout", "0s", "--", "echo", "j")
        assert (alone.code, alone.out) == (0, "j\n"), alone
        wait_nothing(zk)
    late = zkleader(one, "join", NAME, "-n", "2", "--timeout", "0s", "--", "true")
    assert late.code == 1 and late.err == f"zkleader: {NAME}: not all of 2 members came in time\n"
    wait_nothing(zk)


def test_who_times_out_leaves_nothing(fleet, zk, zkleader):
    one = fleet.sidecar("one")
    late = zkleader(one, "join", NAME, "-n", "2", "--timeout", "300ms", "--", "true")
    assert late.code == 1 and late.err == f"zkleader: {NAME}: not all of 2 members came in time\n"
    wait_nothing(zk)


def test_what_is_refused(fleet, zkleader):
    one = fleet.sidecar("one")
    for args in ([], [NAME], [NAME, "--", "true"], [NAME, "-n", "0", "--", "true"], [NAME, "-n", "257", "--", "true"],
                 [NAME, "-n", "x", "--", "true"], ["a/b", "-n", "1", "--", "true"], [NAME, "-n", "1"],
                 ["x" * 101, "-n", "1", "--", "true"], [NAME, "-n", "1", "--as", "a/b", "--", "true"],
                 [NAME, "-n", "1", "--on-loss", "x", "--", "true"], [NAME, "-n", "1", "--timeout", "x", "--", "true"],
                 [NAME, "true", "-n", "1"], [NAME, "-n", "1", "--kill-after", "1h", "--", "true"]):
        wrong = zkleader(one, "join", *args)
        assert wrong.code == 3 and wrong.err.count("\n") == 1, args
    good = {"id": "0123456789abcdef", "count": 2}
    for options in ({}, {"id": "0123456789abcde"}, {"id": "0" * 16}, {"id": "0123456789abcdeF"}, {"count": 0},
                    {"count": 257}, {"timeout_ms": -2}, {"goes_on": 1}, {"key": "a/b"}):
        params = {**good, **options} if options else {}
        assert one.error_of("join", NAME, params).code == 3, options
    assert one.error_of("join_attach", NAME, "x").code == 3
    assert one.error_of("join_renew", 1).code == 3
    assert one.error_of("join_finish", 1).code == 3


def test_foreign_data_is_not_touched(fleet, zk, zkleader):
    one = fleet.sidecar("one")
    assert zkleader(one, "join", "other", "-n", "1", "--", "true").code == 0
    zk.client.ensure_path(f"{zk.root}/gangs/{NAME}/mine")
    no = zkleader(one, "join", NAME, "-n", "1", "--", "true")
    assert no.code == 2 and "there is something else in the gang's place" in no.err
    assert zk.client.get(f"{zk.root}/gangs/{NAME}")[0] == b"" and members(zk) == ["mine"]


def test_without_a_session(fleet, zkleader):
    alone = fleet.sidecar("alone", ready=False, zookeeper="127.0.0.1:1")
    wait_until(alone.listens, what="it listens")
    no = zkleader(alone, "join", NAME, "-n", "1", "--", "true")
    assert no.code == 2 and "no confirmed session" in no.err


def test_a_lost_member_stops_the_others(fleet, gangs, zk):
    one, two, three = (fleet.sidecar(n, **SESSION) for n in ("one", "two", "three"))
    runs = gangs.begin_all([one, two, three], "abc")
    gangs.wait_running("a", "b", "c")
    three.kill()
    assert codes(runs) == [2, 2, 2]
    assert f"a member of the gang {NAME} was lost, so its command was ended" in errors(runs[0])
    wait_nothing(zk)


def test_a_killed_client_is_a_lost_member(fleet, gangs, zk):
    one, two = fleet.sidecar("one", **SESSION), fleet.sidecar("two", **SESSION)
    runs = gangs.begin_all([one, two], "ab")
    gangs.wait_running("a", "b")
    end(runs[0])
    assert runs[1].wait(60) == 2
    wait_nothing(zk)


def test_who_has_ended_is_not_lost(fleet, gangs, zk):
    one, two = fleet.sidecar("one", **SESSION), fleet.sidecar("two", **SESSION)
    short = [gangs.begin(two, key, 3, body="exit 5") for key in "ab"]
    long = gangs.begin(one, "c", 3)
    assert codes(short) == [5, 5]
    wait_members(zk, 1)
    holds_for(lambda: long.poll() is None, 3, "the other goes on")
    gangs.go()
    assert long.wait(30) == 0
    wait_nothing(zk)


def test_a_cut_off_member_is_dead_before_the_others_know(fleet, gangs, server, zk):
    with Proxy(server.port) as proxy:
        one, two = fleet.sidecar("one", zookeeper=proxy.address, **SESSION), fleet.sidecar("two", **SESSION)
        body = RUNS.replace("sleep 0.05", "sleep 0.02; date +%s%N >>{folder}/ran.{key}")
        runs = gangs.begin_all([one, two], "ab", body=body)
        gangs.wait_running("a", "b")
        proxy.stall()
        assert codes(runs) == [2, 2]
        a, b = (int((gangs.folder / f"ran.{key}").read_text().split()[-1]) for key in "ab")
        assert a < b, "b runs until its sidecar knows of the loss"
        proxy.drop()
        proxy.flow()
        wait_until(lambda: not members(zk), what="nobody is there")


def test_with_continue_the_others_go_on_and_the_lost_one_returns(fleet, gangs, zk, zkleader):
    one, two, three = (fleet.sidecar(n, **SESSION) for n in ("one", "two", "three"))
    runs = gangs.begin_all([one, two, three], "abc", "--on-loss", "continue")
    before = gangs.wait_running("a", "b", "c")
    three.kill()
    assert runs[2].wait(60) == 2
    (gangs.folder / "on.c").unlink(missing_ok=True)
    wait_members(zk, 2)
    assert runs[0].poll() is None and runs[1].poll() is None
    stranger = zkleader(two, "join", NAME, "-n", "3", "--as", "x", "--on-loss", "continue", "--", "true")
    assert stranger.code == 1
    three.start()
    back = gangs.begin(three, "c", 3, "--on-loss", "continue")
    assert gangs.wait_running("a", "b", "c") == before
    wait_members(zk, 3)
    gangs.go()
    assert codes([*runs[:2], back]) == [0, 0, 0]
    wait_nothing(zk)


def test_with_continue_who_has_ended_does_not_come_again(fleet, gangs, zk, zkleader):
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    short = gangs.begin(two, "a", 2, "--on-loss", "continue", body="exit 0")
    long = gangs.begin(one, "b", 2, "--on-loss", "continue")
    assert short.wait(30) == 0
    again = zkleader(two, "join", NAME, "-n", "2", "--as", "a", "--on-loss", "continue", "--", "true")
    assert again.code == 1 and "a gang of that name runs" in again.err
    gangs.go()
    assert long.wait(30) == 0
    wait_nothing(zk)


def test_where_all_died_they_come_back_with_their_numbers(fleet, gangs, zk):
    sidecars = [fleet.sidecar(n, **SESSION) for n in ("one", "two", "three")]
    gangs.begin_all(sidecars, "abc")
    before = gangs.wait_running("a", "b", "c")
    gangs.crash()
    gangs.anew()
    first = gangs.begin(sidecars[0], "a", 3)  # at once: it waits for what is left of itself to go
    wait_until(lambda: [m.rsplit("-", 2)[1] for m in members(zk) or []] == ["a"], what="the old are gone")
    back = [first, gangs.begin(sidecars[2], "b", 3)]
    holds_for(lambda: not gangs.running(), 2, "nobody runs before all are there")
    back.append(gangs.begin(sidecars[1], "c", 3))
    assert gangs.wait_running("a", "b", "c") == before
    gangs.go()
    assert codes(back) == [0, 0, 0]
    wait_nothing(zk)


def test_where_the_whole_fleet_died(fleet, gangs, zk):
    sidecars = [fleet.sidecar(n, **SESSION) for n in ("one", "two", "three")]
    gangs.begin_all(sidecars, "abc", "--on-loss", "continue")
    before = gangs.wait_running("a", "b", "c")
    for sidecar in sidecars:
        sidecar.kill()
    gangs.crash()
    gangs.anew()
    for sidecar in sidecars:
        sidecar.start()
    back = [gangs.begin(sidecars[i], "abc"[i], 3, "--on-loss", "continue") for i in (2, 0, 1)]
    assert gangs.wait_running("a", "b", "c") == before
    gangs.go()
    assert codes(back) == [0, 0, 0]
    wait_nothing(zk)


@pytest.mark.slow
def test_a_dead_gang_is_replaced_whole_after_a_minute(fleet, gangs, zk):
    """Not before; by who waits for it, and by who comes later and knows since when nobody is there."""
    one, two = fleet.sidecar("one", **SESSION), fleet.sidecar("two", **SESSION)
    gangs.begin_all([one, two], "ab")
    gangs.wait_running("a", "b")
    gangs.crash()
    wait_until(lambda: members(zk) == [], what="nobody is there")
    died = time.monotonic()
    gangs.anew()
    early = gangs.begin(one, "x", 3)
    holds_for(lambda: early.poll() is None and members(zk) == [], 40, "it waits outside")
    later = [gangs.begin(two, key, 3) for key in "yz"]
    wait_until(lambda: set(gangs.running()) == set("xyz"), timeout=60, what="others have the name")
    assert 50 < time.monotonic() - died < 85
    gangs.go()
    assert codes([early, *later]) == [0, 0, 0]
    wait_nothing(zk)


@pytest.mark.parametrize("how", ["restarted", "killed"])
def test_a_sidecar_that_comes_back(fleet, gangs, zk, how):
    """A member that runs goes on, and one that waits is still there."""
    one, two = fleet.sidecar("one", session_timeout="20s"), fleet.sidecar("two", session_timeout="20s")
    runs = gangs.begin_all([one, two], "ab")
    gangs.wait_running("a", "b")
    waits = spawn([build() / "zkleader", "-s", one.socket, "join", "other", "-n", "2", "--as", "w", "--", "true"])
    gangs.begun.append(waits)
    waits.stdout = waits.stderr = open(os.devnull)
    wait_until(lambda: len(members(zk, "other") or []) == 1, what="one waits")
    line = members(zk)
    if how == "killed":
        one.kill()
    else:
        one.signal(signal.SIGUSR2)
        assert one.wait_exit() == 0
    one.start()
    wait_until(lambda: "gang goes on" in one.log(), what="it goes on")
    holds_for(lambda: [r.poll() for r in runs] == [None, None] and members(zk) == line, 3, "all goes on")
    assert waits.poll() is None and len(members(zk, "other")) == 1
    gangs.go()
    assert codes(runs) == [0, 0]
    wait_nothing(zk)
    end(waits)
    wait_nothing(zk, "other")


def test_a_sidecar_that_is_ended(fleet, gangs, zk):
    """The sidecar waits for the command; a member that waits is told."""
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    runs = gangs.begin_all([one, two], "ab")
    gangs.wait_running("a", "b")
    waits = spawn([build() / "zkleader", "-s", one.socket, "join", "other", "-n", "2", "--", "true"],
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    gangs.begun.append(waits)
    wait_until(lambda: len(members(zk, "other") or []) == 1, what="one waits")
    one.signal(signal.SIGTERM)
    assert waits.wait(30) == 2
    assert runs[0].poll() is None
    gangs.go()
    assert codes(runs) == [0, 0]
    assert one.wait_exit() == 0


def is_gang(kind, payload):
    return kind == MULTI and f"/gangs/{NAME}".encode() in payload


@pytest.mark.parametrize("drop", [False, True], ids=["made", "not made"])
def test_a_lost_answer_is_found_out(fleet, proxy, zk, zkleader, drop):
    """Whichever transaction it is about: the gang's folder, a node, the beginning, the end."""
    one = fleet.sidecar("one", zookeeper=proxy.address)
    for skip in range(5):
        left = [skip]

        def nth(kind, payload):
            if not is_gang(kind, payload):
                return False
            left[0] -= 1
            return left[0] < 0
        lost = proxy.lose(nth, drop=drop, then="close")
        assert zkleader(one, "join", NAME, "-n", "1", "--", "true").code == 0
        assert lost.applied.wait(1) or skip == 4
        wait_nothing(zk)
        wait_until(one.is_connected, what="it is back")


def join(client, name, count, **options):
    return client.send("join", name, {"id": uuid.uuid4().hex[:16], "count": count, **options})


@pytest.mark.parametrize("times", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_256_leave_at_once_again_and_again(fleet, zk, times):
    """Nothing stays behind, and the next gang of the name begins at once; nothing of it is taken away."""
    nodes = [fleet.sidecar(n, session_timeout="30s") for n in "abcd"]
    clients = [node.client(120) for node in nodes for _ in range(64)]
    try:
        for i in range(times):
            # All clients leave at once: always if the times are many, else one time in ten.
            some = clients if i % 10 == 0 or times == 100 else clients[i % 16::16]
            asked = [(c, join(c, NAME, len(some), key=f"k{n}")) for n, c in enumerate(some)]
            answers = [(c, c.result(n, 120)) for c, n in asked]
            assert [a["state"] for _, a in answers] == ["started"] * len(some)
            assert sorted(a["index"] for _, a in answers) == list(range(len(some)))
            assert all(a["instance"] == 1 and len(a["peers"]) == len(some) for _, a in answers)
            left = [(c, c.send("join_finish", a["number"])) for c, a in answers]
            assert all(c.result(n, 120) is True for c, n in left)
            assert members(zk) is None
    finally:
        for client in clients:
            client.close()


def test_term_goes_to_the_command(fleet, gangs, zk):
    one, two = fleet.sidecar("one"), fleet.sidecar("two")
    runs = gangs.begin_all([one, two], "ab", body="trap 'exit 9' TERM; echo 1 >{folder}/on.{key}; while :; do sleep 0.05; done")
    gangs.wait_running("a", "b")
    runs[0].send_signal(signal.SIGTERM)
    assert runs[0].wait(30) == 9
    holds_for(lambda: runs[1].poll() is None, 2, "the other goes on")
    runs[1].send_signal(signal.SIGTERM)
    assert runs[1].wait(30) == 9
    wait_nothing(zk)
