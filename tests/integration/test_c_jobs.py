"""The C API's jobs, from programs that are linked with libzkleader.a and libzkleader.so as they are installed."""
import errno
import os
import pathlib
import re
import subprocess

import pytest

from harness.process import spawn
from harness.sidecar import build, queue_text, sanitizer_env
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = pathlib.Path(__file__).parent / "harness/job_client.c"
MISUSE, NOBODY = 3, 4


def compiled(source, program, library="libzkleader.a"):
    """Nothing but the C library, unless the variant has a net of its own."""
    net = {"asan": ["-fsanitize=address,undefined"], "tsan": ["-fsanitize=thread"], "cov": ["--coverage"]}
    file, = build().glob(f"{library}*")
    if library != "libzkleader.a":
        (program.parent / "libzkleader.so.0").symlink_to(file.resolve())
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *net.get(build().name, []),
                    f"-I{ROOT / 'include'}", f"-Wl,-rpath,{program.parent}", "-o", program, source, file], check=True)
    return program


@pytest.fixture
def ask(folder, request):
    """Runs the program before a sidecar: its exit code and what it printed."""
    program = compiled(SOURCE, folder / "job_client", getattr(request, "param", "libzkleader.a"))

    def run(sidecar, *args, payload=b""):
        process = spawn([program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        env={**sanitizer_env(folder), "ZKLEADER_SOCKET": str(sidecar.socket)})
        out, err = process.communicate(payload, timeout=90)
        assert "ERROR:" not in err.decode()
        return process.returncode, out.decode(), err.decode()
    return run


@pytest.mark.parametrize("ask", ["libzkleader.a", "libzkleader.so"], indirect=True)
def test_a_job_is_submitted_and_read(queues, folder, ask):
    a = queues.site("a", queue_text("q", attempts=1, command=["/bin/sh", "-c", f"cat >{folder}/got; echo out; exit 7"]))
    queues.wait_open()
    every = bytes(range(256)) * 64
    code, out, err = ask(a, "submit", "60000", "", "q", payload=every)
    assert (code, err) == (0, "\n")
    job = out.strip()
    assert re.fullmatch(r"q\.[0-9a-z]+\.[0-9a-f-]{36}", job)
    node = a.call("workers")[0]["node"]
    assert ask(a, "read", job, "50000") == (0, f"dead 1 0 1 7 {node}\nout\n", "\n"), "it has waited for the end"
    assert (folder / "got").read_bytes() == every
    assert ask(a, "cancel", job) == (0, "has ended\n", "\n")
    assert ask(a, "submit", "60000", job, "q", payload=every)[:2] == (0, out), "the same once more"
    code, out, err = ask(a, "submit", "60000", "", "q", payload=every + b"x")
    assert (code, out) == (MISUSE, "\n") and "16384 bytes" in err
    assert ask(a, "submit", "60000", "", "other")[0] == MISUSE
    assert ask(a, "read", "q.abc.0a1b2c3d-0000-4000-8000-000000000000", "0")[0] == MISUSE


def test_one_that_waits_is_cancelled(queues, ask):
    a = queues.site("a", queue_text("q", slots=1, command=["/bin/sleep", "600"]))
    queues.wait_open()
    running, queued = (ask(a, "submit", "60000", "", "q")[1].strip() for _ in range(2))
    queues.wait_state(a, running, "running")
    node = a.call("workers")[0]["node"]
    assert ask(a, "read", running, "0") == (0, f"running 0 0 1 -1 {node}\n", "\n")
    assert ask(a, "read", queued, "300") == (0, "queued 0 0 0 -1 \n", "\n")
    for job in (queued, running):
        assert ask(a, "cancel", job) == (0, "cancelled\n", "\n")
        assert ask(a, "read", job, "30000")[1].startswith("cancelled 1 0 ")
    a.call("pause", "q")
    code, out, err = ask(a, "submit", "60000", "", "q")
    assert code == NOBODY and out.startswith("q.") and "paused" in err


def test_an_unknown_outcome_is_made_good_by_the_same_id(queues, folder, ask):
    a = queues.site("a", queue_text("q", command=["/bin/sh", "-c", f'echo "$ZKLEADER_JOB" >>{folder}/ran']))
    queues.wait_open()
    a.pause()
    code, out, _ = ask(a, "submit", "300", "", "q", payload=b"x")
    assert code == 100 + errno.ETIMEDOUT, "it was sent, and nobody knows what came of it"
    job = out.strip()
    a.resume()
    for _ in range(2):
        assert ask(a, "submit", "60000", job, "q", payload=b"x")[:2] == (0, out)
    assert queues.wait_state(a, job)["state"] == "ok"
    wait_until(lambda: a.call("queue", "q")["queued"] == 0, what="all is done")
    assert (folder / "ran").read_text() == f"{job}\n"


def test_the_example_of_the_manual_compiles(folder):
    page = (ROOT / "docs/man/libzkleader.3").read_text()
    example = page.split(".Bd -literal -offset indent\n")[1].split(".Ed")[0].replace(r"\e", "\\")
    source = folder / "example.c"
    source.write_text("#include <errno.h>\n#include <stdio.h>\n#include <zkleader.h>\n"
                      "void work(struct zkleader *z, const void *data, size_t len);\n"
                      "void work(struct zkleader *z, const void *data, size_t len)\n{\n" + example + "}\n"
                      "int main(void)\n{\n\treturn 0;\n}\n")
    compiled(source, folder / "example")
