"""A sidecar that is restarted takes the session of the one before it over: nothing moves."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading

import pytest

from harness.oracle import Oracle
from harness.process import end, spawn
from harness.proxy import GET, MULTI
from harness.sidecar import build
from harness.waiting import holds_for, wait_until

UNITS = pathlib.Path(__file__).resolve().parents[2] / "systemd"
TASKS = ["nightly-report", "cleanup", "digest"]


@pytest.fixture
def pair(fleet, zk):
    """The one that leads all, and an older one that would like to."""
    made = {"new": fleet.sidecar("new", version="2", tasks=TASKS, session_timeout="6s")}
    made["old"] = fleet.sidecar("old", version="1", tasks=TASKS, session_timeout="6s")
    wait_until(lambda: zk.leaders() == {t: made["new"].id for t in TASKS}, what="the newest leads all")
    wait_until(lambda: all(made["new"].leads(t) for t in TASKS), what="and says so")
    return made


def ask_to_restart(sidecar):
    """As `systemctl restart` does, by the unit's RestartKillSignal."""
    sidecar.signal(signal.SIGUSR2)
    assert sidecar.wait_exit() == 0


def went_on(sidecar, zk, changes):
    wait_until(lambda: all(sidecar.leads(t) for t in TASKS), what="it leads as before")
    assert "registration taken over" in sidecar.log()
    assert zk.leader_changes() == changes, "nothing has moved"


def test_a_restart_moves_nothing(pair, zk):
    new = pair["new"]
    before, tokens, changes = new.id, zk.tokens(), zk.leader_changes()
    for _ in range(3):
        ask_to_restart(new)
        new.start()
        went_on(new, zk, changes)
    assert (new.id, zk.tokens()) == (before, tokens)
    assert pair["old"].log().count("worker left") == 0


def test_a_sidecar_that_was_killed_is_taken_over(pair, zk):
    new, tokens, changes = pair["new"], zk.tokens(), zk.leader_changes()
    new.kill()
    new.start()
    went_on(new, zk, changes)
    assert zk.tokens() == tokens


def test_a_stop_hands_everything_over_and_leaves_nothing_to_take(pair, zk):
    new, old = pair["new"], pair["old"]
    assert new.stop() == 0
    wait_until(lambda: set(zk.leaders().values()) == {old.id}, what="the other leads")
    assert not os.path.exists(f"{new.socket}.session")
    new.start()
    assert "taking over" not in new.log()


def test_another_version_at_the_restart_moves_what_it_must_and_once(pair, zk):
    new, old, changes = pair["new"], pair["old"], zk.leader_changes()
    ask_to_restart(new)
    new.write_config(version="3")
    new.start()
    wait_until(lambda: all(new.leads(t) for t in TASKS), what="it leads as before")
    assert zk.leader_changes() == changes, "it is the best as before"
    assert [w["version"] for w in zk.workers().values() if w["id"] != old.id] == ["3"]
    ask_to_restart(new)
    new.write_config(version="0.1")
    new.start()
    wait_until(lambda: set(zk.leaders().values()) == {old.id}, what="the other is better now")
    assert zk.leader_changes() == changes + 2 * len(TASKS), "each was deleted and made once"


def test_a_task_that_is_no_longer_configured_is_given_up(pair, zk):
    new = pair["new"]
    ask_to_restart(new)
    new.write_tasks(*TASKS[1:])
    new.start()
    wait_until(lambda: zk.leaders() == {TASKS[0]: pair["old"].id, TASKS[1]: new.id, TASKS[2]: new.id},
               what="the other leads that one")


@pytest.mark.parametrize("drop", [True, False], ids=["request", "reply"])
@pytest.mark.parametrize("what", ["read", "release"])
def test_a_former_task_is_given_up_though_the_connection_goes(fleet, zk, proxy, what, drop):
    new = fleet.sidecar("new", version="2", tasks=TASKS, session_timeout="6s", zookeeper=proxy.address)
    zk.wait_for_leader(TASKS[0], new)
    old = fleet.sidecar("old", version="1", tasks=TASKS, session_timeout="6s")
    ask_to_restart(new)
    new.write_tasks(*TASKS[1:])
    path = f"/leaders/{TASKS[0]}".encode()
    lost = proxy.lose(lambda kind, payload: path in payload and kind == (GET if what == "read" else MULTI),
                      drop=drop, then="close")
    new.start()
    zk.wait_for_leader(TASKS[0], old)
    assert lost.applied.wait(10)
    wait_until(lambda: new.leads(TASKS[1]), what="it leads the others as before")


def test_a_task_that_it_led_without_being_the_best_is_known_to_be_its_own(fleet, zk):
    task = 'task "stay" { yield = "never" }\n'
    first = fleet.sidecar("first", version="1", tasks=[task], session_timeout="6s")
    zk.wait_for_leader("stay", first)
    for name in ("better", "best", "more"):
        fleet.sidecar(name, version="9", tasks=[task])
    token = zk.leader("stay")[1]
    ask_to_restart(first)
    first.start()
    wait_until(lambda: first.leads("stay"), what="it knows that it leads")
    assert zk.leader("stay")[1] == token
    holds_for(lambda: zk.leader("stay")[1] == token, 1, "and keeps it")


def test_a_session_that_has_expired_meanwhile_is_not_taken_over(pair, zk):
    new, old = pair["new"], pair["old"]
    tokens = zk.tokens()
    new.kill()
    wait_until(lambda: set(zk.leaders().values()) == {old.id}, what="the other leads")
    new.start()
    wait_until(lambda: all(new.leads(t) for t in TASKS), what="it comes to lead anew")
    assert all(zk.tokens()[t] > tokens[t] for t in TASKS)


def test_a_copied_session_makes_no_second_leader(fleet, zk):
    """Beside the socket of another sidecar of this host, which was told of as its own."""
    one = fleet.sidecar("one", tasks=TASKS, session_timeout="6s")
    token = zk.wait_for_leader(TASKS[0], one)
    file = f"{one.socket}.session"
    wait_until(lambda: os.path.exists(file), what="the session is kept")
    two = fleet.sidecar("two", start=False, tasks=TASKS, session_timeout="6s")
    with Oracle(TASKS[0], one, two) as oracle:
        oracle.led(by=one)
        shutil.copy(file, f"{two.socket}.session")
        two.start()
        assert "it is a copy" in two.log()
        assert two.status()["session"]["id"] != one.status()["session"]["id"]
        holds_for(lambda: not two.leads(TASKS[0]), 0.5, "it does not lead")
    assert zk.leader(TASKS[0])[1] == token


@pytest.mark.skipif(subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0,
                    reason="mounts a /proc of its own: for root, and where / is a mount")
def test_where_the_boot_is_not_to_be_seen_no_session_is_kept(fleet, zk):
    """As with systemd's ProcSubset=pid."""
    sidecar = fleet.sidecar("one", start=False, tasks=TASKS)
    sidecar.command = ["unshare", "--mount", "sh", "-c",
                       'mount -t proc -o subset=pid proc /proc && exec "$@"', "sh"]
    sidecar.start()
    sidecar.wait_log("the session is not kept")
    assert not os.path.exists(f"{sidecar.socket}.session")


def test_the_shipped_units_let_the_boot_be_seen():
    for unit in UNITS.glob("zkleaderd*.service"):
        assert not [line for line in unit.read_text(encoding="utf-8").splitlines() if line.startswith("ProcSubset")]


@pytest.mark.parametrize("how", ["other-root", "damaged", "readable", "other-timeout"])
def test_a_session_that_is_not_its_own_is_not_taken_over(fleet, zk, how):
    sidecar = fleet.sidecar("one", tasks=TASKS, session_timeout="6s")
    zk.wait_for_leader(TASKS[0], sidecar)
    file = f"{sidecar.socket}.session"
    wait_until(lambda: os.path.exists(file), what="the session is kept")
    sidecar.kill()
    if how == "other-root":
        sidecar.write_config(root=f"{zk.root}/elsewhere")
    elif how == "other-timeout":
        sidecar.write_config(session_timeout="7s")
    elif how == "readable":
        os.chmod(file, 0o644)
    else:
        with open(file, "r+b") as f:
            f.truncate(100)
    sidecar.start()
    assert "the session kept is not taken over" in sidecar.log()
    wait_until(lambda: sidecar.leads(TASKS[0]), what="it leads in a session of its own")


def test_a_record_left_over_between_two_steps_is_removed(pair, zk):
    """Killed after a registration that its file does not know of yet."""
    new = pair["new"]
    file = f"{new.socket}.session"
    with open(file, "rb") as f:
        before = f.read()
    new.write_config(version="2.1")
    new.signal(signal.SIGHUP)
    wait_until(lambda: any(w["version"] == "2.1" for w in zk.workers().values()), what="it has registered anew")
    new.kill()
    draft = f"{file}.test"
    with open(os.open(draft, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as f:
        f.write(before)
    os.rename(draft, file)
    new.start()
    wait_until(lambda: len(zk.workers()) == 2, what="one record for each")
    wait_until(lambda: zk.leaders() == {t: new.id for t in TASKS}, what="it leads")
    holds_for(lambda: all(new.leads(t) for t in TASKS), 1)


def test_two_sidecars_never_share_a_session(pair, zk):
    new = pair["new"]
    second = spawn([build() / "zkleaderd", "-c", new.config_file])
    try:
        assert second.wait(60) == 1, "the socket's lock is held"
    finally:
        end(second)
    assert all(new.leads(t) for t in TASKS)


def test_a_predecessor_that_is_paused_holds_its_session_alone(pair, zk):
    new, tokens = pair["new"], zk.tokens()
    new.pause()
    second = spawn([build() / "zkleaderd", "-c", new.config_file])
    try:
        assert second.wait(60) == 1
    finally:
        end(second)
        new.resume()
    wait_until(lambda: all(new.leads(t) or zk.tokens()[t] > tokens[t] for t in TASKS), what="one of both leads")


def test_a_job_goes_on_over_restarts(pair, zk, folder):
    new, old = pair["new"], pair["old"]
    changes = zk.leader_changes()
    go = folder / "go"
    os.mkfifo(go)
    job = spawn([build() / "zkleader", "-s", new.socket, "run", "--tick", "none", TASKS[0], "--",
                 "sh", "-c", f"touch {folder}/begun; exec cat {go}"])
    try:
        wait_until((folder / "begun").exists, what="the job runs")
        for n in range(1, 4):
            if n == 2:
                new.kill()
            else:
                ask_to_restart(new)
            new.start()
            wait_until(lambda: new.log().count("the supervisor of a run is back") == n, what="it is known again")
            went_on(new, zk, changes)
        # Longer than any lease that it had: it is renewed as before.
        holds_for(lambda: job.poll() is None, 7, "the job goes on")
        with open(go, "w", encoding="ascii"):
            pass
        assert job.wait(60) == 0
        assert zk.leader_changes() == changes
        assert not old.leads(TASKS[0])
    finally:
        end(job)


class Relay:
    """A sidecar's socket, on which the first request of that method waits until the connection is to end."""

    def __init__(self, sidecar, folder, method):
        self.sidecar = sidecar
        self.method = bytes([0xa0 + len(method)]) + method.encode()
        self.path = folder / "relay"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.asked, self.gone = threading.Event(), threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self.sidecar.socket))
            except OSError:  # it is being started
                client.close()
                continue
            threading.Thread(target=self.pass_on, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, False), daemon=True).start()

    def pass_on(self, source, to, asks):
        try:
            while data := source.recv(65536):
                if asks and self.method in data and not self.asked.is_set():
                    self.asked.set()
                    self.gone.wait(60)
                    break
                to.sendall(data)
        except OSError:
            pass
        for end_of in (source, to):
            try:
                end_of.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.mark.parametrize("how", [ask_to_restart, lambda sidecar: sidecar.kill()], ids=["restarted", "killed"])
@pytest.mark.parametrize("words", [("run", "--tick", "1m", TASKS[0]), ("lock", "l"), ("join", "g", "--count", "1")],
                         ids=["run", "lock", "join"])
def test_a_restart_between_the_answer_and_the_first_renewal(pair, zk, folder, words, how):
    """A run, lock or place that was just got goes on at the next sidecar, and CMD runs, once."""
    new = pair["new"]
    changes = zk.leader_changes()
    renew = {"run": "renew"}.get(words[0], f"{words[0]}_renew")
    relay = Relay(new, folder, renew)
    try:
        process = spawn([build() / "zkleader", "-s", relay.path, *words, "--", "sh", "-c", f"echo x >> {folder}/ran"],
                        stderr=subprocess.PIPE, text=True)
        assert relay.asked.wait(60)
        how(new)
        relay.gone.set()
        new.start()
        err = process.communicate(timeout=60)[1]
        assert (process.returncode, err) == (0, "")
        assert (folder / "ran").read_text(encoding="ascii") == "x\n"
        went_on(new, zk, changes)
    finally:
        relay.close()
