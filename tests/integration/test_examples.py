"""The programs that the documentation shows work as they stand there."""
import pathlib
import re
import subprocess
import sys
import time

from harness.process import spawn
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
    leader = fleet.sidecar("leader", version="2", tasks=[TASK])
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


def test_the_function_in_the_protocol_page_works(fleet, zk):
    block = re.search(r"```python\n(import msgpack.*?)```", (DOCS / "PROTOCOL.md").read_text(encoding="utf-8"), re.S)
    shown = {}
    exec(block[1], shown)  # pylint: disable=exec-used
    leader = fleet.sidecar("leader", version="2", tasks=[TASK])
    follower = fleet.sidecar("follower", version="1", tasks=[TASK])
    token = zk.wait_for_leader(TASK, leader)
    wait_until(lambda: leader.leads(TASK), what="it leads")
    until, got = shown["leads"](TASK, str(leader.socket))
    assert got == token and 0 < until - time.clock_gettime(time.CLOCK_BOOTTIME) < 2
    assert shown["leads"](TASK, str(follower.socket)) is None


def test_the_formula_in_the_election_page_is_that_of_explain(fleet, zk):
    block = re.search(r"```python\n\s*(import struct.*?)```", (DOCS / "ELECTION.md").read_text(encoding="utf-8"), re.S)
    code = "\n".join(line.strip() for line in block[1].splitlines())
    only = fleet.sidecar("only", tasks=[TASK])
    [worker] = only.call("workers")
    names = {"random_ints": worker["random_ints"], "task": TASK}
    exec(code, names)  # pylint: disable=exec-used
    assert names["score"] == only.explain(TASK)["ranking"][0]["rank"]
