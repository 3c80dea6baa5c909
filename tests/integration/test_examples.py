"""The programs that the documentation shows work as they stand there."""
import contextlib
import os
import pathlib
import re
import sqlite3
import subprocess
import time

import pytest

from harness.jobs import next_tick
from harness.process import spawn
from harness.waiting import wait_until

HERE = pathlib.Path(__file__).resolve()
DOCS = HERE.parents[2] / "docs"
TASK = "nightly-report"


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
