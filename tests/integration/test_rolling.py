"""zkleader rolling: at most K nodes between drain and healthy, over reboots, kills and failing CMDs too."""
import json
import os
import pathlib
import signal
import subprocess
import time
import uuid

import pytest

from harness.names import need_mounts
from harness.process import end, spawn
from harness.sidecar import build, sanitizer_env
from harness.waiting import holds_for, wait_until

GROUP = "reboots"
TASK = "nightly"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Command:
    """A zkleader rolling that goes on."""

    def __init__(self, host, *words, env=None):
        self.process = spawn([*host.namespace(), build() / "zkleader", "-s", host.sidecar.socket, "rolling", *words],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**sanitizer_env(host.sidecar.folder), **(env or {})})
        self.err = None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """With CMD, which no guard ends."""
        try:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text("ascii").split()
        except OSError:
            children = []
        end(self.process)
        for pid in children:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait(self, timeout=60):
        out, self.err = self.process.communicate(timeout=timeout)
        self.out = out
        return self.process.returncode

    def is_running(self):
        return self.process.poll() is None


class Host:
    """A node whose boot can be another: the file of the kernel's boot id is one of its own."""

    def __init__(self, sidecar):
        self.sidecar = sidecar
        self.name = sidecar.name
        self.file = sidecar.folder / "boot_id"
        self.commands = []
        self.boot()

    def boot(self):
        self.file.write_text(f"{uuid.uuid4()}\n", encoding="ascii")
        self.file.chmod(0o644)

    def namespace(self):
        script = f"mount --bind {self.file} {BOOT_ID} && exec \"$@\""
        return ["unshare", "-m", "sh", "-c", script, "-"]

    def begin(self, *words, **kwargs):
        command = Command(self, *words, **kwargs)
        self.commands.append(command)
        return command

    def rolling(self, *words):
        command = self.begin(*words)
        code = command.wait()
        return code, command.out, command.err

    def crash(self):
        """All of it is gone at once."""
        for command in self.commands:
            command.kill()
        self.commands = []
        self.sidecar.kill()

    def reboot(self):
        self.crash()
        self.boot()
        self.sidecar.start()


@pytest.fixture
def hosts(fleet):
    need_mounts()
    made = []

    def make(n, **config):
        made.extend(Host(fleet.sidecar(f"n{i}", node=f"n{i}", tasks=[TASK], start=False, **config)) for i in range(n))
        for host in made:
            host.sidecar.start()
        for host in made:
            wait_until(lambda h=host: len(h.sidecar.call("workers")) == n, what="it knows all")
        return made
    yield make
    for host in made:
        for command in host.commands:
            command.kill()


def status(host):
    code, out, err = host.rolling(GROUP, "--status", "--json")
    assert code == 0, err
    return json.loads(out)


def states(host):
    return {s["node"]: s["state"] for s in status(host)["slots"]}


def wait_state(host, node, state, at=None):
    wait_until(lambda: states(at or host).get(node) == state, what=f"the slot of {node} is {state}")


def drained(host):
    return {w["node"] for w in host.sidecar.call("workers") if w["state"] == "drained"}


def wait_drained(host, *nodes):
    wait_until(lambda: drained(host) == set(nodes), what=f"{nodes} are drained")


def touching(path):
    """A CMD that says that it began and waits until it is told to end, or the test is over."""
    waits = f"while [ -d {path.parent} ] && [ ! -e {path} ]; do sleep 0.1; done"
    return ["--", "sh", "-c", f"touch {path}.began; {waits}"]


def test_one_after_the_other(hosts, folder):
    a, b, *_ = fleet = hosts(4)
    log = folder / "cmds"
    script = f"echo begin >> {log}; sleep 0.3; echo end >> {log}"
    commands = [h.begin(GROUP, "--soak", "300ms", "--", "sh", "-c", script) for h in fleet]
    for command in commands:
        assert command.wait() == 0, command.err
    assert log.read_text().split() == ["begin", "end"] * 4
    assert status(a) == {"group": GROUP, "max_unavailable": 1, "halted": None, "slots": [], "waiting": []}
    wait_drained(b)
    code, out, _ = a.rolling(GROUP, "--status")
    assert code == 0 and out == "reboots: 0 of 1 slots taken, 0 waiting\n"
    assert b.rolling("never", "--status")[1] == "never: there has been no rolling restart of it\n"


def test_a_damaged_group_keeps_no_other_one_back(hosts, zk):
    [a] = hosts(1)
    assert a.begin(GROUP, "--", "true").wait() == 0
    zk.put(b"\xc1", "rolling", "bad", ephemeral=False)
    code, out, err = a.rolling("--status")
    assert (code, out) == (3, "reboots: 0 of 1 slots taken, 0 waiting\n"), err
    assert "the group bad is not shown" in err and a.rolling("--status", "--json")[0] == 3


def test_what_is_seen_of_it_meanwhile(hosts, folder, zk):
    a, b, c = hosts(3)
    command = a.begin(GROUP, "-k", "1", "--soak", "5s", *touching(folder / "go"))  # so that it is seen
    wait_state(b, "n0", "running")
    wait_until((folder / "go.began").exists, what="CMD runs")
    wait_drained(b, "n0")
    [seen] = [w for w in b.sidecar.call("workers") if w["node"] == "n0"]
    assert seen["leads"] == 0
    waiter = b.begin(GROUP, "--soak", "0s", "--", "true")
    wait_until(lambda: [w["node"] for w in status(c)["waiting"]] == ["n1"], what="b waits")
    # Another K, and no time.
    code, _, err = c.rolling(GROUP, "-k", "2", "--", "true")
    assert code == 3 and "others use --max-unavailable 1" in err
    for timeout in ("0s", "300ms"):
        code, _, err = c.rolling(GROUP, "--timeout", timeout, "--", "true")
        assert code == 1 and "no slot in that time" in err
    wait_until(lambda: [w["node"] for w in status(c)["waiting"]] == ["n1"], what="c has left the queue")
    # The same node once more.
    code, _, err = a.rolling(GROUP, "--", "true")
    assert code == 3 and "another zkleader rolling reboots sees to the slot" in err
    code, out, _ = c.rolling(GROUP, "--status")
    assert code == 0 and "1 of 1 slots taken, 1 waiting" in out and "n0" in out and "waiting" in out
    (folder / "go").touch()
    wait_state(b, "n0", "soaking")
    assert command.wait() == 0 and "the slot is free" in command.err
    assert waiter.wait() == 0
    assert c.rolling(GROUP, "--soak", "0s", "--timeout", "0s", "--", "true")[0] == 0
    wait_drained(b)
    # Nobody has a slot or waits: another K is good.
    assert c.rolling(GROUP, "-k", "2", "--soak", "0s", "--", "true")[0] == 0
    assert status(c)["max_unavailable"] == 2


def test_jobs_end_first(hosts, folder, zk):
    a, b = hosts(2)
    best = a.sidecar.explain(TASK)["ranking"][0]["id"]
    leader = a if best == a.sidecar.id else b
    wait_until(lambda: zk.leaders().get(TASK) == best and leader.sidecar.leads(TASK), what="the best leads, who keeps it")
    job = spawn([build() / "zkleader", "-s", leader.sidecar.socket, "run", TASK, "--", "sh", "-c",
                 f"while [ ! -e {folder}/stop ]; do sleep 0.1; done"], env=sanitizer_env(leader.sidecar.folder))
    wait_until(lambda: leader.sidecar.status()["jobs"], what="the job runs")
    command = leader.begin(GROUP, "--soak", "0s", *touching(folder / "go"))
    wait_drained(leader, leader.name)
    holds_for(lambda: states(leader) == {leader.name: "draining"}, 1, "it waits for the job")
    assert not (folder / "go.began").exists()
    (folder / "stop").touch()
    job.wait(30)
    wait_until((folder / "go.began").exists, what="CMD has begun")
    (folder / "go").touch()
    assert command.wait() == 0


def test_a_failing_cmd_halts_the_group_and_everybody_hears(hosts, folder):
    a, b, c = hosts(3)
    first = a.begin(GROUP, "--", "sh", "-c", f"while [ ! -e {folder}/fail ]; do sleep 0.1; done; exit 7")
    wait_state(b, "n0", "running")
    waiter = b.begin(GROUP, "--", "true")
    wait_until(lambda: status(c)["waiting"], what="b waits")
    (folder / "fail").touch()
    assert first.wait() == 7 and "is halted: CMD failed with status 7" in first.err
    assert waiter.wait() == 1 and "is halted by n0: CMD failed with status 7" in waiter.err
    seen = status(c)
    assert seen["halted"]["node"] == "n0" and seen["halted"]["why"] == "CMD failed with status 7"
    assert seen["slots"][0]["exit_status"] == 7 and seen["waiting"] == []
    for host in (a, b, c):
        host.sidecar.wait_log("rolling restart halted")
        wait_until(lambda h=host: any("halted by n0" in p["message"] for p in h.sidecar.problems()), what="a problem")
        wait_drained(host, "n0")
    assert "halted by n0" in c.rolling(GROUP, "--status")[1]
    code, _, err = c.rolling(GROUP, "--", "true")
    assert code == 1 and "is halted" in err
    code, _, err = a.rolling(GROUP, "--", "true")
    assert code == 1 and "CMD failed on this node, with status 7" in err
    assert a.rolling(GROUP, "--finish")[0] == 0 and states(a) == {"n0": "failed"}
    # An operator's undrain does not end that.
    assert a.sidecar.call("undrain", {})["done"] is False
    assert "undrain does not end that" in a.sidecar.call("undrain", {})["message"]
    assert c.rolling(GROUP, "--resume") == (0, "reboots goes on\n", "")
    assert c.rolling(GROUP, "--resume") == (0, "reboots is not halted\n", "")
    wait_drained(b)
    assert status(b)["halted"] is None and states(b) == {}
    wait_until(lambda: not b.sidecar.problems(), what="no problem")
    assert b.rolling(GROUP, "--soak", "0s", "--", "true")[0] == 0
    # A CMD that cannot be started has failed, too.
    assert a.rolling(GROUP, "--", "/nowhere")[0] == 127
    assert status(a)["halted"]["why"] == "CMD failed with status 127"


@pytest.mark.costly
def test_a_reboot_in_the_middle(hosts, folder):
    a, b, c, d = fleet = hosts(4)
    began = folder / "began"
    for host in fleet:
        began.unlink(missing_ok=True)
        host.begin(GROUP, "--soak", "300ms", "--", "sh", "-c", f"touch {began}; exec sleep 1000")
        wait_until(began.exists, what="CMD runs")
        # Before the machine has gone down nothing is finished.
        assert host.rolling(GROUP, "--finish")[0] == 0
        assert states(host) == {host.name: "running"}
        host.crash()
        other = next(h for h in fleet if h is not host)
        assert states(other) == {host.name: "running"}
        late = other.begin(GROUP, "--timeout", "1s", "--", "true")
        assert late.wait() == 1
        host.boot()
        host.sidecar.start()
        code, _, err = host.rolling(GROUP, "--finish", "--soak", "300ms")
        assert code == 0 and "the slot is free" in err
        assert states(other) == {}
        wait_drained(other)
        # There is nothing more to finish.
        assert host.rolling(GROUP, "--finish") == (0, "", "")


DOCUMENTED = pathlib.Path(__file__).resolve().parents[2] / "docs/RECIPES.md"
UNIT = pathlib.Path(__file__).resolve().parents[2] / "systemd/zkleader-rolling@.service"


def documented_cmd(folder):
    """CMD of the script in docs/RECIPES.md, with the file that asks for a reboot in a folder of ours."""
    text = DOCUMENTED.read_text(encoding="utf-8")
    script = text.split("exec zkleader rolling upgrades ", 1)[1].split("```", 1)[0]
    options, cmd = script.split(" -- sh -c '", 1)
    assert "/var/run/reboot-required" in cmd
    return options.split(), cmd.rsplit("'", 1)[0].replace("/var/run", "$NODE_FOLDER")


def documented_boot(group):
    [line] = [line for line in UNIT.read_text(encoding="ascii").splitlines() if line.startswith("ExecStart=")]
    words = line.split("=", 1)[1].split()
    assert words[:2] == ["/usr/bin/zkleader", "rolling"]
    return [word.replace("%i", group) for word in words[2:]]


def program_in(folder, name, body):
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n", encoding="ascii")
    file.chmod(0o755)


@pytest.mark.seconds(300)
def test_upgrades_and_reboots_as_documented(hosts, folder):
    """All four at once, by the script of the documents and the unit that is shipped; one needs no reboot."""
    fleet, log, programs = hosts(4), folder / "log", folder / "programs"
    programs.mkdir()
    log.touch()
    program_in(programs, "unattended-upgrade", f"echo upgrade $NODE >> {log}; touch $NODE_FOLDER/upgraded; "
               "[ $NODE = n2 ] || touch $NODE_FOLDER/reboot-required")
    program_in(programs, "systemctl", '[ "$1" = reboot ] && touch $NODE_FOLDER/reboots')
    options, cmd = documented_cmd(folder)
    places = {}
    for host in fleet:
        places[host.name] = folder / f"of-{host.name}"
        places[host.name].mkdir()
        env = {"NODE": host.name, "NODE_FOLDER": str(places[host.name]), "PATH": f"{programs}:{os.environ['PATH']}"}
        host.begin("upgrades", *options, "--soak", "300ms", "--", "sh", "-c", cmd, env=env)

    def reboots():
        return [host for host in fleet if (places[host.name] / "reboots").exists()]

    for _ in range(3):
        wait_until(reboots, timeout=60, what="one of them reboots")
        [host] = reboots()
        (places[host.name] / "reboots").unlink()
        (places[host.name] / "reboot-required").unlink()
        begun = log.read_text(encoding="ascii")
        host.crash()
        assert log.read_text(encoding="ascii") == begun, "nobody else has begun"
        host.boot()
        host.sidecar.start()
        with open(log, "a", encoding="ascii") as f:
            f.write(f"back {host.name}\n")
        finish = host.begin(*documented_boot("upgrades"), "--soak", "300ms")
        assert finish.wait() == 0 and "the slot is free" in finish.err
    without = fleet[2].commands[0]
    assert without.wait() == 0, without.err
    told = [line.split() for line in log.read_text(encoding="ascii").splitlines()]
    assert sorted(node for what, node in told if what == "upgrade") == ["n0", "n1", "n2", "n3"]
    for (what, node), after in zip(told, told[1:]):
        assert what == "back" or node == "n2" or after == ["back", node], "one at a time"
    assert not reboots()
    code, out, _ = fleet[0].rolling("upgrades", "--status")
    assert code == 0 and out == "upgrades: 0 of 1 slots taken, 0 waiting\n"
    wait_drained(fleet[0])


def test_the_whole_fleet_goes_down(hosts, folder):
    fleet = hosts(3)
    for host in fleet:
        host.begin(GROUP, "-k", "2", "--soak", "300ms", *touching(folder / "never"))
    wait_until(lambda: list(states(fleet[0]).values()).count("running") == 2, what="two are at it")
    held = states(fleet[0])
    for host in fleet:
        host.crash()
    for host in fleet:
        host.boot()
        host.sidecar.start()
    assert states(fleet[0]) == held
    finishing = [h.begin(GROUP, "--finish", "--soak", "300ms") for h in fleet]
    for command in finishing:
        assert command.wait() == 0, command.err
    assert states(fleet[0]) == {}
    wait_drained(fleet[0])


def test_term_keeps_the_slot_and_the_command_goes_on(hosts, folder):
    a, b = hosts(2)
    go = folder / "go"
    first = a.begin(GROUP, *touching(go))
    wait_until((folder / "go.began").exists, what="CMD runs")
    first.signal(signal.SIGTERM)
    assert first.wait() == 143 and "keeps its slot" in first.err
    assert states(b) == {"n0": "running"} and status(b)["halted"] is None
    wait_drained(b, "n0")
    assert a.rolling(GROUP, "--finish")[0] == 0 and states(b) == {"n0": "running"}
    # CMD itself.
    code, _, err = a.rolling(GROUP, "--", "sh", "-c", "kill -TERM $$")
    assert code == 143 and "keeps its slot" in err and status(b)["halted"] is None
    # Killed, and run again.
    (folder / "go.began").unlink()
    third = a.begin(GROUP, "--", "sh", "-c", f"touch {go}.began; exec sleep 1000")
    wait_until((folder / "go.began").exists, what="CMD runs again")
    third.kill()
    go.touch()
    code, _, err = a.rolling(GROUP, "--soak", "0s", *touching(go))
    assert code == 0 and "going on with the slot of this node" in err
    assert states(b) == {}
    # While the node gets healthy: CMD is not run again.
    marks = folder / "marks"
    soaking = a.begin(GROUP, "--soak", "1000s", "--", "sh", "-c", f"echo x >> {marks}")
    wait_state(b, "n0", "soaking")
    soaking.signal(signal.SIGTERM)
    assert soaking.wait() == -signal.SIGTERM
    code, _, err = a.rolling(GROUP, "--soak", "0s", "--", "sh", "-c", f"echo x >> {marks}")
    assert code == 0 and marks.read_text() == "x\n"
    wait_drained(b)


def test_a_host_that_does_not_come_back(hosts, folder):
    a, b = hosts(2)
    a.begin(GROUP, *touching(folder / "never"))
    wait_state(b, "n0", "running")
    a.crash()
    waiter = b.begin(GROUP, "--soak", "0s", "--", "true")
    wait_until(lambda: status(b)["waiting"], what="b waits")
    wait_until(lambda: len(b.sidecar.call("workers")) == 1, what="its session has ended")
    holds_for(lambda: states(b) == {"n0": "running"}, 1, "beyond its session")
    assert b.rolling(GROUP, "--release", "n9") == (0, "n9 has no slot of reboots\n", "")
    assert json.loads(b.rolling(GROUP, "--json", "--release", "n0")[1]) == {"group": GROUP, "done": True}
    assert waiter.wait() == 0
    a.reboot()
    wait_drained(a)
    assert a.rolling(GROUP, "--finish") == (0, "", "")


def damage_nothing_but_the_record(zk):
    zk.client.set(zk.path("rolling", GROUP, "slots", "n0"), b"garbage")


def delete_the_slot(zk):
    zk.client.delete(zk.path("rolling", GROUP, "slots", "n0"))


def delete_the_group(zk):
    zk.client.delete(zk.path("rolling", GROUP), recursive=True)


def damage_the_group(zk):
    zk.client.set(zk.path("rolling", GROUP), b"garbage")
    zk.client.delete(zk.path("rolling", GROUP, "slots", "n0"))


@pytest.mark.parametrize("hand", [
    delete_the_slot,
    *(pytest.param(h, marks=pytest.mark.slow) for h in (damage_nothing_but_the_record, delete_the_group, damage_the_group)),
])
def test_a_drain_without_its_slot_is_named_and_released(hosts, folder, zk, hand):
    a, b = hosts(2)
    a.begin(GROUP, *touching(folder / "never"))
    wait_state(b, "n0", "running")
    wait_drained(b, "n0")
    hand(zk)
    a.crash()
    remedy = f"zkleader rolling {GROUP} --release n0"
    wait_until(lambda: any(remedy in p["message"] for p in b.sidecar.problems()), what="status names it")
    a.reboot()
    wait_until(lambda: any(remedy in p["message"] for p in a.sidecar.problems()), what="there, too")
    wait_drained(b, "n0")
    assert b.rolling(GROUP, "--release", "n0") == (0, "the slot of n0 is free, and its drain is ended\n", "")
    wait_drained(b)
    wait_drained(a)
    for host in (a, b):
        wait_until(lambda h=host: not any(remedy in p["message"] for p in h.sidecar.problems()), what="it is forgotten")
    assert b.rolling(GROUP, "--release", "n0") == (0, "n0 has no slot of reboots\n", "")


def test_health_comes_before_the_next(hosts, folder):
    a, b = hosts(2)
    sick = folder / "sick"
    a.sidecar.write_config(health_command=f"test ! -e {sick}", health_interval="1s")
    a.sidecar.call("reload")
    command = a.begin(GROUP, "--soak", "1s", *touching(folder / "go"))
    wait_until((folder / "go.began").exists, what="CMD runs")
    sick.touch()
    wait_until(lambda: a.sidecar.status()["health"]["node"], what="it is sick")
    (folder / "go").touch()
    wait_state(b, "n0", "soaking")
    holds_for(lambda: states(b) == {"n0": "soaking"}, 2, "it is not healthy")
    assert command.is_running()
    sick.unlink()
    assert command.wait() == 0
    wait_drained(b)


def test_an_operators_drain_is_another(hosts, folder):
    a, b = hosts(2)
    assert a.sidecar.call("drain", {"reason": "disk"})["done"] is True
    command = a.begin(GROUP, "--soak", "0s", *touching(folder / "go"))
    wait_state(b, "n0", "running")
    (folder / "go").touch()
    assert command.wait() == 0
    wait_drained(b, "n0")
    assert a.sidecar.call("undrain", {})["done"] is True
    wait_drained(b)
    # And ended by its operator while the other goes on.
    (folder / "go").unlink()
    command = a.begin(GROUP, "--soak", "0s", *touching(folder / "go"))
    wait_state(b, "n0", "running")
    a.sidecar.call("drain", {})
    assert "stays drained by the rolling restart" in a.sidecar.call("undrain", {})["message"]
    wait_drained(b, "n0")
    (folder / "go").touch()
    assert command.wait() == 0
    wait_drained(b)


def test_the_sidecar_is_started_anew_meanwhile(hosts, folder):
    a, b = hosts(2)
    command = a.begin(GROUP, "--soak", "500ms", *touching(folder / "go"))
    waiter = b.begin(GROUP, "--soak", "0s", "--", "true")
    wait_state(b, "n0", "running")
    for host in (a, b):
        host.sidecar.stop()
    (folder / "go").touch()
    time.sleep(0.2)
    for host in (b, a):
        host.sidecar.start()
    assert command.wait() == 0, command.err
    assert waiter.wait() == 0, waiter.err
    wait_drained(b)
    assert status(a)["slots"] == [] and status(a)["waiting"] == []


def test_what_is_refused(hosts, zk):
    a, = hosts(1)
    for words in ([GROUP], [GROUP, "--status", "--resume"], [GROUP, "--status", "--", "true"], ["a/b", "--", "true"],
                  [GROUP, "-k", "0", "--", "true"], [GROUP, "-k", "1001", "--", "true"],
                  [GROUP, "--soak", "x", "--", "true"], [GROUP, "--release", "", "--", "true"],
                  [GROUP, "--resume", "-k", "2"]):
        code, out, err = a.rolling(*words)
        assert code == 3 and err, words
    for params in ([GROUP], [GROUP, {}], [GROUP, {"do": "take"}], [GROUP, {"do": "jump"}], [GROUP, 1],
                   [GROUP, {"do": "advance", "state": "running"}], [GROUP, {"do": "free"}],
                   [GROUP, {"do": "status", "soak_ms": -1}], [GROUP, {"do": "release"}]):
        assert a.sidecar.error_of("rolling", *params).code == 3, params
    zk.client.ensure_path(f"{zk.root}/rolling/{GROUP}")
    zk.client.set(f"{zk.root}/rolling/{GROUP}", b"mine")
    code, _, err = a.rolling(GROUP, "--", "true")
    assert code == 3 and "something else in the place of the group's record" in err
    assert zk.client.get(f"{zk.root}/rolling/{GROUP}")[0] == b"mine"


def test_who_may(fleet, folder, base_folder):
    for path in (base_folder, folder):
        path.chmod(0o755)
    one = fleet.sidecar("one", tasks=[TASK])
    one.folder.chmod(0o755)
    for words in ([GROUP, "--", "true"], [GROUP, "--resume"], [GROUP, "--status"]):
        process = spawn(["setpriv", "--reuid=nobody", "--clear-groups", build() / "zkleader", "-s", one.socket, "rolling", *words],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 3 and "not allowed" in err
