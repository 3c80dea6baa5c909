"""zkleader-check, the crontab word: exit codes, silence, and how long it takes at most."""
import os
import socket
import time

import pytest

from harness.process import end, spawn
from harness.sidecar import build
from harness.waiting import wait_until

TASK = "nightly-report"


@pytest.fixture
def pair(fleet, zk):
    """(leader, follower) of TASK."""
    leader = fleet.sidecar("leader", version="2", tasks=[TASK])
    follower = fleet.sidecar("follower", version="1", tasks=[TASK])
    zk.wait_for_leader(TASK, leader)
    wait_until(lambda: leader.leads(TASK), what="it leads")
    return leader, follower


@pytest.fixture
def check(program):
    def run(sidecar, *args, **kwargs):
        path = getattr(sidecar, "socket", sidecar)
        return program("zkleader-check", "-s", path, *args, **kwargs)
    return run


def is_silent(outcome):
    return outcome.out == "" and outcome.err == ""


def says_one_line(outcome):
    return outcome.out == "" and outcome.err.count("\n") == 1 and outcome.err.startswith("zkleader-check: ")


def test_0_where_this_node_leads_in_silence(check, pair):
    outcome = check(pair[0], TASK)
    assert outcome.code == 0 and is_silent(outcome)


def test_1_where_another_leads_in_silence(check, pair):
    outcome = check(pair[1], TASK)
    assert outcome.code == 1 and is_silent(outcome)


def test_2_without_a_sidecar_in_one_line_or_none(check, folder):
    outcome = check(folder / "none", TASK)
    assert outcome.code == 2 and says_one_line(outcome)
    assert str(folder / "none") in outcome.err
    quiet = check(folder / "none", "-q", TASK)
    assert quiet.code == 2 and is_silent(quiet)


def test_2_where_the_sidecar_does_not_answer_within_timeout(check, pair):
    pair[0].pause()
    began = time.monotonic()
    outcome = check(pair[0], "-t", "1s", "-w", "0s", TASK)
    took = time.monotonic() - began
    assert outcome.code == 2 and says_one_line(outcome)
    assert 0.9 < took < 20, "and not for as long as nobody answers"
    assert is_silent(check(pair[0], "-q", "-t", "200ms", TASK))
    pair[0].resume()


def test_2_where_nobody_accepts_the_connection(check, folder):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "deaf"))
        listener.listen(0)
        filler = socket.socket(socket.AF_UNIX)
        filler.connect(str(folder / "deaf"))
        outcome = check(folder / "deaf", "-t", "500ms", TASK)
        assert outcome.code == 2 and says_one_line(outcome)
        filler.close()


def test_2_where_what_answers_is_no_sidecar(check, folder):
    for i, answer in enumerate([b"", b"HTTP/1.1 200 OK\r\n\r\n", b"\xc1" * 100, b"\x94\x01\x01\xc0\xc0",
                                b"\x94\x01\x01\xc0\x80", b"\x94\x01\x63\xc0\x80", bytes(100_000),
                                b"\x91" * 5000, b"\xdd\xff\xff\xff\xff", b"\x94\x01\x01\xc3\xc0"]):
        path = folder / f"odd-{i}"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen(5)
            process = spawn([build() / "zkleader-check", "-s", path, "-t", "2s", TASK], stderr=-1, stdout=-1, text=True)
            connection, _ = listener.accept()
            connection.recv(4096)
            try:
                connection.sendall(answer)
            except BrokenPipeError:
                pass
            if not answer:
                connection.close()
            out, err = process.communicate(timeout=30)
            connection.close()
            assert process.returncode == 2 and out == "" and err.count("\n") == 1, (answer, process.returncode, err)


def test_2_without_a_confirmed_session(check, fleet, zk):
    lost = fleet.sidecar("lost", tasks=[TASK], zookeeper="127.0.0.1:1", ready=False)
    wait_until(lost.status, what="the socket is there")
    outcome = check(lost, "-w", "0s", TASK)
    assert outcome.code == 2 and says_one_line(outcome)
    assert is_silent(check(lost, "-w", "0s", "-q", TASK))


def test_2_where_no_candidate_may_lead(check, fleet, zk):
    old = fleet.sidecar("old", version="1", tasks=[f'task "{TASK}" {{ min-version = "2" }}\n'])
    outcome = check(old, "-w", "100ms", TASK)
    assert outcome.code == 2 and says_one_line(outcome) and "min-version" in outcome.err


def test_3_for_a_task_that_is_not_known(check, pair):
    outcome = check(pair[0], "unknown")
    assert outcome.code == 3 and says_one_line(outcome) and "unknown" in outcome.err
    assert not is_silent(check(pair[0], "-q", "unknown"))


def test_3_for_a_task_whose_file_is_refused_names_file_and_line(check, pair):
    pair[0].write_file('task "fresh" {\n  yield = "maybe"\n}\n', "bad.conf")
    wait_until(pair[0].problems, what="the file is refused")
    outcome = check(pair[0], "fresh")
    assert outcome.code == 3 and says_one_line(outcome) and "bad.conf:2" in outcome.err
    assert check(pair[0], TASK).code == 0


@pytest.mark.parametrize("args", [[], ["--bogus", TASK], [TASK, "another"], ["-t", "soon", TASK], ["-w", "-1s", TASK],
                                  ["-t"], ["a/b"], [""], ["x" * 101], ["-t", "5", TASK], ["-s", "", TASK],
                                  ["-s", "/" + "x" * 200, TASK]])
def test_3_for_misuse(program, args):
    outcome = program("zkleader-check", *args, env={"ZKLEADER_SOCKET": "/nonexistent"})
    assert outcome.code == 3 and says_one_line(outcome), outcome


def test_v_says_who_leads_in_one_line_of_standard_output(check, pair, zk):
    token = zk.leader(TASK)[1]
    mine = check(pair[0], "-v", TASK)
    assert mine.code == 0 and mine.err == "" and mine.out.count("\n") == 1
    assert TASK in mine.out and str(token) in mine.out and "lease" in mine.out
    other = check(pair[1], "-v", TASK)
    assert other.code == 1 and other.err == "" and other.out.count("\n") == 1
    assert socket.gethostname() in other.out and str(token) in other.out


def test_the_socket_may_come_from_the_environment(program, pair):
    outcome = program("zkleader-check", TASK, env={"ZKLEADER_SOCKET": str(pair[0].socket)})
    assert outcome.code == 0 and is_silent(outcome)


def test_help_and_version_exit_0(program):
    for option in ("-h", "--help", "-V", "--version"):
        outcome = program("zkleader-check", option)
        assert outcome.code == 0 and outcome.err == "" and "zkleader-check" in outcome.out


def test_output_that_nobody_reads_does_not_change_the_exit_code(pair):
    reader, writer = os.pipe()
    os.close(reader)
    process = spawn([build() / "zkleader-check", "-s", pair[0].socket, "-v", TASK], stdout=writer, stderr=writer)
    os.close(writer)
    assert process.wait(30) == 0


def test_a_check_within_a_handover_waits_for_the_new_leader(check, fleet, zk):
    standby = fleet.sidecar("standby", version="1", tasks=[TASK])
    leader = fleet.sidecar("leader", version="2", tasks=[TASK], session_timeout="6s")
    zk.wait_for_leader(TASK, leader)
    leader.pause()
    zk.client.delete(zk.path("leaders", TASK))  # nobody may lead now, until the lease must be over
    wait_until(lambda: standby.check(TASK)["state"] == "contending", what="nobody leads")
    outcome = check(standby, "-w", "0s", TASK)
    assert outcome.code == 2 and says_one_line(outcome)
    assert check(standby, "-w", "60s", TASK).code == 0
    assert zk.leaders()[TASK] == standby.id
    leader.resume()


@pytest.mark.costly
def test_a_check_that_waits_hears_of_a_session_that_comes_up(fleet, own_server, zk):
    own_server.start()
    own_server.kill()
    early = fleet.sidecar("early", tasks=[TASK], ready=False)
    wait_until(early.status, what="the socket is there")
    waiting = spawn([build() / "zkleader-check", "-s", early.socket, "-w", "60s", TASK])
    try:
        own_server.start()
        assert waiting.wait(70) == 0
    finally:
        end(waiting)


def test_the_exit_code_follows_a_graceful_and_a_crash_handover(check, pair):
    leader, follower = pair
    assert leader.stop() == 0
    wait_until(lambda: check(follower, TASK).code == 0, what="the follower leads")
    assert check(leader, TASK).code == 2
    leader.start()
    wait_until(lambda: check(leader, TASK).code == 0 and check(follower, TASK).code == 1, what="back as it was")
    leader.kill()
    assert check(leader, TASK).code == 2
    wait_until(lambda: check(follower, TASK).code == 0, what="the follower leads")
