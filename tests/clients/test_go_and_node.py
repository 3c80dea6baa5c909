"""What is special to clients/go and clients/node: their own tests, their examples, and what an idle one costs."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import driving
from harness.process import end, spawn
from harness.sidecar import queue_text
from harness.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
GO, NODE = ROOT / "clients/go", ROOT / "clients/node"
TASK = "nightly-report"
BUILD_SECONDS = 600


def need(language):
    why = driving.missing(language).get(language)
    if why:
        pytest.skip(why)


def passes(*command, cwd, **env):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "GOPROXY": "off", **env}, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.seconds(BUILD_SECONDS)
def test_the_own_tests_of_go():
    need("go")
    assert passes("gofmt", "-l", ".", cwd=GO) == ""
    passes("go", "vet", "./...", cwd=GO)
    race = ["-race"] if shutil.which("gcc") else []
    passes("go", "test", *race, ".", cwd=GO)


def test_go_needs_the_standard_library_alone():
    need("go")
    assert passes("go", "list", "-m", "all", cwd=GO).split() == ["zkleader"]


def test_the_own_tests_of_node():
    need("node")
    passes("node", "--test", "test/", cwd=NODE)


def test_the_types_of_node():
    need("node")
    if not shutil.which("tsc"):
        pytest.skip("there is no tsc: apt install node-typescript")
    passes("tsc", "--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "node16",
           "--moduleResolution", "node16", "test/types.ts", cwd=NODE)


def test_node_exports_what_its_types_say():
    need("node")
    said = passes("node", "--input-type=module", "-e",
                  f"import * as z from '{NODE}/index.js'; console.log(Object.keys(z).join(),"
                  "Object.getOwnPropertyNames(z.Client.prototype).join())", cwd=NODE)
    names, methods = said.split()
    assert sorted(names.split(",")) == ["Client", "ZkleaderError", "connect"]
    types = (NODE / "index.d.ts").read_text()
    for name in methods.split(","):
        assert name == "constructor" or f"\t{name}(" in types or f"\t{name}<" in types, name


@pytest.fixture(params=["go", "node"])
def example(request, tmp_path):
    """example(sidecar, name, args...): a program of the examples, begun."""
    need(request.param)
    begun = []

    def begin(sidecar, name, *args):
        command = ["node", NODE / f"examples/{name}.js"]
        if request.param == "go":
            passes("go", "build", "-o", tmp_path / name, f"./examples/{name}", cwd=GO)
            command = [tmp_path / name]
        begun.append(spawn([*command, *args], env={**os.environ, "ZKLEADER_SOCKET": str(sidecar)}, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return begun[-1]

    yield begin
    for one in begun:
        end(one)


def ended(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.seconds(BUILD_SECONDS)
def test_the_examples_that_lead_and_run(example, fleet, zk, folder):
    a = fleet.sidecar("a", node="a", version="2", tasks=[TASK], session_timeout="10s")
    b = fleet.sidecar("b", node="b", version="1", tasks=[TASK], session_timeout="10s")
    token = zk.wait_for_leader(TASK, a)
    wait_until(lambda: a.leads(TASK), what="it leads")
    code, out, err = ended(example(a.socket, "lead", TASK, "2"))
    assert (code, err) == (0, "") and f"step 2 of 2 with token {token}," in out
    code, out, err = ended(example(b.socket, "lead", TASK))
    assert (code, out) == (1, "") and "led by a" in err
    assert ended(example(b.socket, "lead", "unknown"))[0] == 3
    assert ended(example(folder / "none", "lead", TASK))[0] == 2
    codes = set()
    for _ in range(3):  # in two minutes at the most
        code, out, err = ended(example(a.socket, "run", TASK))
        assert err == "" and (code == 1 or f"with token {token}" in out)
        codes.add(code)
    assert codes == {0, 1}
    assert {run["state"] for run in a.call("history", TASK)} == {"ok"}


@pytest.mark.seconds(BUILD_SECONDS)
def test_the_example_that_watches(example, fleet, zk):
    a = fleet.sidecar("a", node="a", version="1", tasks=[TASK], session_timeout="10s")
    zk.wait_for_leader(TASK, a)
    watching = example(a.socket, "watch", TASK)
    assert watching.stdout.readline().startswith(f"{TASK}: a (1), token ")
    fleet.sidecar("b", node="b", version="2", tasks=[TASK], session_timeout="10s")
    while not watching.stdout.readline().startswith(f"{TASK}: b (2), token "):
        assert watching.poll() is None
    watching.send_signal(signal.SIGINT)
    assert ended(watching)[0] == 0


@pytest.mark.seconds(BUILD_SECONDS)
def test_the_example_that_submits(example, queues):
    a = queues.site("a", queue_text("q", command=["/bin/cat"]))
    queues.wait_open()
    code, out, err = ended(example(a.socket, "submit", "q", "a text"))
    assert (code, err) == (0, "") and out.endswith(": ok, exit status 0\na text")
    code, out, err = ended(example(a.socket, "submit", "nosuch", "a text"))
    assert (code, out) == (2, "") and "nosuch" in err


def test_an_idle_client_of_node_lets_the_process_end(fleet, folder):
    need("node")
    only = fleet.sidecar("only", tasks=[TASK])
    program = folder / "idle.mjs"
    program.write_text(f"""
        import {{ connect }} from '{NODE}/index.js';
        const z = connect('{only.socket}');
        await z.leads('{TASK}');
        for await (const change of z.watch('{TASK}'))
            break;
        await z.leading('{TASK}', () => 1);
        await Promise.all([z.leads('{TASK}'), z.leads('{TASK}')]);
    """)
    wait_until(lambda: only.leads(TASK), what="it leads")
    begun = time.monotonic()
    assert ended(spawn(["node", program], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)) == (0, "", "")
    assert time.monotonic() - begun < 30
