"""The log: one line for each change, with its fields; in the journal fields that can be looked for."""
import collections
import os
import re

import msgpack
import pytest

from harness.journal import Journal
from harness.waiting import wait_until

TASK = "nightly-report"


@pytest.fixture
def journal(folder):
    made = Journal(folder)
    yield made
    made.close()


def on_journal(fleet, journal, name, log_level="info", tasks=(TASK,), **config):
    """A sidecar whose standard error is, so it is told, the journal's stream."""
    made = fleet.sidecar(name, start=False, tasks=list(tasks), log_level=log_level, **config)
    made.command = journal.command()
    made.extra_env.update(journal.told(made.log_file))
    return made.start()


def test_the_journal_gets_fields(fleet, zk, journal):
    one = on_journal(fleet, journal, "one")
    wait_until(lambda: one.leads(TASK), what="it leads")
    wait_until(lambda: journal.of("leading"), what="the journal is told")
    [leading] = journal.of("leading")
    assert leading["MESSAGE"].startswith(f"leading task={TASK} from=") and leading["PRIORITY"] == "6"
    assert leading["SYSLOG_IDENTIFIER"] == "zkleaderd" and leading["ZKLEADER_TASK"] == TASK
    assert leading["ZKLEADER_TOKEN"] == str(zk.leader(TASK)[1])
    assert leading["ZKLEADER_TO"] == "leading" and leading["ZKLEADER_FROM"] and leading["ZKLEADER_REASON"]
    assert one.log() == ""
    # A text from the fleet cannot make another entry or field.
    reason = "x\nPRIORITY=0\nMESSAGE=gone\x1b"
    record = {"kind": "pause", "task": "another", "reason": reason, "by": "root", "host": "h", "since": 1}
    zk.put(msgpack.packb(record), "policy", "0-1", ephemeral=False)
    wait_until(lambda: journal.of("decided"), what="a decision is told")
    [decided] = journal.of("decided")
    assert decided["PRIORITY"] == "6" and decided["ZKLEADER_REASON"] == reason
    assert "x\\nPRIORITY=0\\nMESSAGE=gone\\x1b" in decided["MESSAGE"]


def test_many_tasks_at_once_are_one_line_that_is_found_by_each_of_them(fleet, zk, journal):
    names = [f"job-{i}" for i in range(1, 41)]
    one = fleet.sidecar("one", start=False, tasks=names, log_level="info", session_timeout="10s")
    one.start()
    wait_until(lambda: all(one.leads(t) for t in names), what="it leads all")

    def leading(log):
        return [line for line in log.splitlines() if " leading " in line and "no longer" not in line]
    assert sum(",".join(re.findall(r"\btask=(\S+)", line)).count("job-") for line in leading(one.log())) == 40
    assert len(leading(one.log())) <= 3 and " leading tasks=" in one.log()
    assert len([line for line in one.log().splitlines() if "task added" in line]) == 1
    assert one.stop() == 0
    lost = [line for line in one.log().splitlines() if "no longer leading" in line]
    assert len(lost) <= 3 and sum(line.count("job-") for line in lost) == 40
    two = on_journal(fleet, journal, "two", tasks=names)
    wait_until(lambda: all(two.leads(t) for t in names), what="it leads all")

    def told():
        # A task that was claimed by itself has one field, which is no list.
        told = [entry["ZKLEADER_TASK"] for entry in journal.of("leading")]
        return [task for tasks in told for task in ([tasks] if isinstance(tasks, str) else tasks)]
    wait_until(lambda: sorted(told()) == sorted(names), what="each is a field of its own")


def test_with_log_format_json_the_entry_has_the_object_and_the_fields(fleet, zk, journal):
    on_journal(fleet, journal, "one", log_format="json")
    wait_until(lambda: journal.of("starting"), what="it starts")
    [starting] = journal.of("starting")
    assert starting["MESSAGE"].startswith('{"time":"') and starting["ZKLEADER_APPLICATION"] == "1.0"


def test_a_journal_that_is_not_read_holds_nothing_up(fleet, zk, journal):
    one = on_journal(fleet, journal, "one", log_level="debug")
    # The socket takes some ten entries; what it does not take is on standard error, with its priority.
    wait_until(lambda: one.leads(TASK), what="it leads though nobody reads")
    wait_until(lambda: "<7>election task=" in one.log(), what="lines are on standard error")


def test_no_journal_is_no_reason_to_say_nothing(fleet, zk, journal):
    (journal.folder / "socket").unlink()
    one = on_journal(fleet, journal, "one")
    wait_until(lambda: f"<6>leading task={TASK} " in one.log(), what="the line is on standard error")
    assert all(line.startswith("<") for line in one.log().splitlines())


def test_the_variable_alone_is_no_journal(fleet, zk, journal):
    one = fleet.sidecar("one", start=False, tasks=[TASK])
    one.command = journal.command()
    one.extra_env["JOURNAL_STREAM"] = "1:1"
    one.start()
    wait_until(lambda: "<6>leading task=" in one.log(), what="it leads")
    assert journal.read() == []


def test_without_standard_descriptors_nothing_is_logged_into_files_of_its_own(fleet, zk, web):
    without = ["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-']
    one = fleet.sidecar("one", start=False, tasks=[TASK])
    one.command = without
    one.start()
    wait_until(lambda: one.leads(TASK), what="it leads")
    page = web(one, through=without)
    for program in (one, page):
        assert [os.readlink(f"/proc/{program.process.pid}/fd/{fd}") for fd in range(3)] == ["/dev/null"] * 3


def test_each_change_is_one_line_with_its_fields(fleet, zk, program):
    """Seen by another sidecar than the one it happens to: from, to, reason and token, and who decided."""
    one, two = (fleet.sidecar(n, version=v, tasks=[TASK], log_format="json", log_level="info", session_timeout="10s")
                for n, v in (("one", "2"), ("two", "1")))
    wait_until(lambda: one.leads(TASK) and len(two.call("workers")) == 2, what="all are there")

    def order(*words, to=two):
        assert program("zkleader", "-s", to.socket, *words).code == 0

    def told(sidecar, *messages, n=1, since=0):
        """The n lines of this kind."""
        def found():
            return [r for r in sidecar.log_records()[since:] if r["message"] in messages]
        wait_until(lambda: len(found()) >= n, what=f"{sidecar.name} tells {messages}")
        assert len(found()) == n
        return found()

    token, since = zk.leader(TASK)[1], len(one.log_records())
    order("pause", TASK, "--reason", "a")
    [lost] = told(one, "no longer leading", "leading", since=since)
    assert {k: lost[k] for k in ("level", "task", "from", "to", "reason", "token")} == {
        "level": "info", "task": TASK, "from": "leading", "to": "releasing", "reason": "no candidate", "token": token}
    order("resume", TASK)
    [ended] = told(two, "no longer decided")
    assert (ended["kind"], ended["task"], ended["by"], ended["reason"], ended["ended_by"]) == (
        "pause", TASK, "root", "a", "root")
    assert "ended_by" not in told(one, "no longer decided")[0]
    order("drain", "--for", "1h", to=one)
    decided = told(two, "decided", n=2)[1]
    assert decided["kind"] == "drain" and decided["node"].endswith(str(one.socket)) and decided["until"]
    wait_until(lambda: two.leads(TASK), what="the other leads")

    order("undrain", to=one)
    [given] = [r for r in told(two, "no longer leading") if r["reason"] == "a better candidate"]
    assert (given["better"], given["better_node"]) == (one.id, one.call("status")["node"])

    since = len(two.log_records())
    two.write_config(version="1.5")
    order("reload")
    [change] = told(two, "version changed", "reloaded", since=since)
    assert (change["from"], change["to"]) == ("1", "1.5")
    for sidecar in (one, two):
        told(sidecar, "worker left")
        told(sidecar, "worker joined", n=3)
    registered = told(two, "registered", n=2)
    assert registered[1]["was"] == registered[0]["id"]
    since = len(two.log_records())
    two.write_config(yield_delay="1s")
    order("reload")
    assert told(two, "reloaded", since=since)[0]["name"] == "yield-delay"
    states = [(r["from"], r["to"]) for r in told(two, "session", n=3)]
    assert all(a[1] == b[0] for a, b in zip(states, states[1:])) and states[-1][1] == "connected"


def test_a_registration_is_not_taken_for_gone_because_of_the_one_before(fleet, zk):
    """A sign of life that was sent while it was registered anew asks for the former one."""
    one = fleet.sidecar("one", tasks=[TASK], log_level="info")
    wait_until(lambda: one.leads(TASK), what="it leads")
    with one.client() as client:
        for i in range(200):
            one.write_config(version=f"1.{i}")
            client.call("reload")
    wait_until(lambda: one.call("workers")[0]["version"] == "1.199", what="the last version is registered")
    # If the connection is lost with a registration on its way, nobody knows which one is there.
    assert "registration gone" not in one.log() or "to=connecting" in one.log().split("registered", 1)[1]
