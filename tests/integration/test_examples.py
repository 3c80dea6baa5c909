"""The programs that the documentation shows work as they stand there."""
import contextlib
import importlib.util
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import time

import pytest

from harness.jobs import next_tick
from harness.process import spawn
from harness.sidecar import task_text
from harness.waiting import wait_until

HERE = pathlib.Path(__file__).resolve()
DOCS = HERE.parents[2] / "docs"
TASK = "nightly-report"


def ask(*args):
    process = spawn([sys.executable, DOCS / "examples" / "ask.py", *args], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_the_python_example_works_with_the_token_while_this_node_leads(fleet, zk):
    leader = fleet.sidecar("leader", version="2", tasks=[TASK], session_timeout="10s")
    follower = fleet.sidecar("follower", version="1", tasks=[TASK])
    token = zk.wait_for_leader(TASK, leader)
    wait_until(lambda: leader.leads(TASK), what="it leads")
    code, out, err = ask("--socket", leader.socket, "--steps", "4", TASK)
    assert (code, err) == (0, "")
    assert re.findall(r"step (\d) of 4 with token (\d+), \d\.\d s left", out) == \
        [(str(i), str(token)) for i in (1, 2, 3, 4)]
    code, out, err = ask("--socket", follower.socket, TASK)
    assert (code, out) == (1, "") and "led by" in err


def test_the_python_example_tells_misuse_and_no_sidecar(fleet, zk, folder):
    only = fleet.sidecar("only", tasks=[TASK])
    code, out, err = ask("--socket", only.socket, "unknown")
    assert (code, out) == (3, "") and "unknown" in err
    code, out, err = ask("--socket", folder / "none", TASK)
    assert (code, out) == (2, "") and "cannot tell" in err


def load_ask():
    spec = importlib.util.spec_from_file_location("ask", DOCS / "examples" / "ask.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_connection_of_the_python_example_goes_on_after_a_subscription(fleet, zk):
    only = fleet.sidecar("only", tasks=[TASK])
    token = zk.wait_for_leader(TASK, only)
    zkleader = load_ask().Zkleader(str(only.socket))
    zkleader.call("subscribe", TASK)
    wait_until(lambda: zkleader.call("check", TASK)["leader"], what="it leads")
    only.write_tasks(task_text(TASK, min_version="9"))

    def told():
        method, [params] = zkleader.notification()
        return method == "leadership" and params["task"] == TASK and not params["leader"]
    wait_until(told, what="it is told that it leads no more")
    assert zkleader.call("check", TASK)["leader"] is False and token > 0
    zkleader.close()


@pytest.mark.parametrize("name", sorted(p.name for p in (DOCS / "examples").glob("*.py")))
def test_every_example_has_help(name):
    for args, code in ((["-h"], 0), (["--no-such-option"], 2)):
        process = spawn([DOCS / "examples" / name, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code and "usage: " in (err if code else out) and "Traceback" not in err


def test_the_database_example_says_by_what_it_is_started(folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ZKLEADER_")}
    process = spawn([DOCS / "examples" / "fenced.py", folder / "x.db"], env=env, stderr=subprocess.PIPE, text=True)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2 and "zkleader run" in err and not (folder / "x.db").exists()


def test_the_function_in_the_protocol_page_works(fleet, zk):
    block = re.search(r"```python\n(import msgpack.*?)```", (DOCS / "PROTOCOL.md").read_text(encoding="utf-8"), re.S)
    shown = {}
    exec(block[1], shown)  # pylint: disable=exec-used
    leader = fleet.sidecar("leader", version="2", tasks=[TASK], session_timeout="20s")
    follower = fleet.sidecar("follower", version="1", tasks=[TASK])
    token = zk.wait_for_leader(TASK, leader)
    wait_until(lambda: leader.leads(TASK), what="it leads")
    until, got = shown["leads"](TASK, str(leader.socket))
    assert got == token and 0 < until - time.clock_gettime(time.CLOCK_BOOTTIME) <= 5, "a quarter of the session's timeout"
    assert shown["leads"](TASK, str(follower.socket)) is None


def test_the_formula_in_the_election_page_is_that_of_explain(fleet, zk):
    block = re.search(r"```python\n\s*(import struct.*?)```", (DOCS / "ELECTION.md").read_text(encoding="utf-8"), re.S)
    code = "\n".join(line.strip() for line in block[1].splitlines())
    only = fleet.sidecar("only", tasks=[TASK])
    [worker] = only.call("workers")
    names = {"random_ints": worker["random_ints"], "task": TASK}
    exec(code, names)  # pylint: disable=exec-used
    assert names["score"] == only.explain(TASK)["ranking"][0]["rank"]


def test_the_database_of_the_example_refuses_an_older_token(fleet, zk, folder, jobs):
    database, example = folder / "invoices.db", DOCS / "examples" / "fenced.py"
    job = jobs(TASK)

    def rows(table):
        with contextlib.closing(sqlite3.connect(database)) as db:
            return db.execute(f"SELECT * FROM {table}").fetchall()

    old = fleet.sidecar("old", version="1", tasks=[TASK], session_timeout="10s")
    first = zk.wait_for_leader(TASK, old)
    assert job.run(old, "--tick", "1s", command=[example, database]).wait() == (0, "", "")
    assert rows("fence") == [(TASK, first)]
    new = fleet.sidecar("new", version="2", tasks=[TASK], session_timeout="10s")
    second = zk.wait_for_leader(TASK, new)
    next_tick(1)
    assert job.run(new, "--tick", "1s", command=[example, database]).wait() == (0, "", "")
    before = rows("invoices")
    assert [row[1] for row in before] == [first, second] and rows("fence") == [(TASK, second)]
    # The first one's, as it were held up until now.
    env = {**os.environ, "ZKLEADER_TASK": TASK, "ZKLEADER_TICK": before[0][0], "ZKLEADER_ATTEMPT": "1"}
    for token, code in ((first, 75), (second, 0)):
        process = spawn([example, database], env={**env, "ZKLEADER_TOKEN": str(token)}, stderr=subprocess.PIPE, text=True)
        _, err = process.communicate(timeout=60)
        assert process.returncode == code and ("an older leader" in err) == (code == 75)
        if code == 75:
            assert rows("invoices") == before, "nothing of it is there"
    # The same with another tool, from the page: PostgreSQL's statement is the one that SQLite takes as well.
    statement = re.search(r"```sql\n(INSERT INTO fence.*?);\n```", (DOCS / "TICKS.md").read_text(encoding="utf-8"), re.S)[1]
    for token, changed in ((first, 0), (second, 1), (second + 1, 1)):
        with contextlib.closing(sqlite3.connect(database)) as db:
            done = db.execute(statement.replace("$1", "?1").replace("$2", "?2"), (TASK, token)).rowcount
            db.rollback()
            assert done == changed, token
