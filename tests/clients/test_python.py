"""The Python client by itself: its codec, its checkers, its wheel, its examples, each Python that is there."""
import asyncio
import datetime
import functools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import zipfile

import msgpack
import pytest

import driving
from harness.process import end, spawn
from harness.sidecar import task_text
from harness.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = ROOT / "clients/python"
TASK = "nightly-report"
sys.path.insert(0, str(HOME))

import zkleader.aio  # noqa: E402  # found by what is above
from zkleader import _base, _msgpack  # noqa: E402

ENV = {**os.environ, "PYTHONPATH": str(HOME), "PYTHONDONTWRITEBYTECODE": "1"}


# --- the codec --------------------------------------------------------------------------------------

def some_object(r, depth=0):
    kind = r.randrange(8 if depth < 4 else 6)
    size = r.choice((0, 1, 15, 16, 31, 32, 255, 256, 300)) if depth < 2 else r.randrange(4)
    if kind < 2:
        return r.choice((0, 1, 127, 128, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, 2 ** 64 - 1, -1, -32, -33, -128, -129,
                         -2 ** 15, -2 ** 31, -2 ** 63, r.getrandbits(40)))
    if kind == 2:
        return r.choice((None, True, False))
    if kind < 5:
        return "".join(r.choice("aé€😀 ") for _ in range(size))
    if kind == 5:
        return r.randbytes(size)
    if kind == 6:
        return [some_object(r, depth + 1) for _ in range(size % 40)]
    return {f"{i}": some_object(r, depth + 1) for i in range(size % 40)}


def test_the_codec_agrees_with_another(seed=1):
    r = random.Random(seed)
    for _ in range(500):
        value = some_object(r)
        ours, theirs = _msgpack.pack(value), msgpack.packb(value)
        assert msgpack.unpackb(ours) == value
        assert _msgpack.unpack(theirs) == (value, len(theirs)) and _msgpack.unpack(ours) == (value, len(ours))
        cut = r.randrange(len(theirs))
        with pytest.raises(_msgpack.Incomplete):
            _msgpack.unpack(theirs[:cut])


def test_the_codec_refuses_what_it_does_not_know(seed=2):
    """Whatever comes it ends with an object, ValueError or Incomplete."""
    r = random.Random(seed)
    good = msgpack.packb([1, 5, None, {"task": "t", "led_by": {"id": "x", "n": [1, 2.5, b"x"]}}])
    for _ in range(20000):
        data = bytearray(good if r.random() < 0.7 else r.randbytes(r.randrange(1, 40)))
        for _ in range(r.randrange(4)):
            data[r.randrange(len(data))] = r.randrange(256)
        try:
            _msgpack.unpack(bytes(data))
        except (ValueError, _msgpack.Incomplete):
            pass
    for data in (b"\xc1", b"\xd4\x01\x00", b"\x91" * 17 + b"\x00", b"\x81\x01\x02", b"\xa2\xff\xfe"):
        with pytest.raises(ValueError):
            _msgpack.unpack(data)


def test_messages_come_in_any_pieces():
    messages = [[1, n, None, {"n": n, "text": "x" * n * 50}] for n in range(1, 60)]
    stream = b"".join(msgpack.packb(m) for m in messages)
    for size in (1, 7, 4096, len(stream)):
        session, found = _base.Session(), []
        for at in range(0, len(stream), size):
            found += session.feed(stream[at:at + size])
        assert [[1, m.msgid, m.error, m.result] for m in found] == messages


# --- checkers and the wheel -----------------------------------------------------------------------

def check(*command):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("command", [
    ["/usr/bin/mypy", "--strict", "--cache-dir", "/dev/null", "zkleader"], ["pyflakes3", "zkleader", "examples"],
    ["pycodestyle", "--max-line-length=130", "zkleader", "examples"]], ids=lambda c: pathlib.Path(c[0]).name)
def test_checkers_find_nothing(command):
    check(*command)


def test_ruff_finds_nothing():
    """Its build for node, as Debian has none."""
    if not (HERE / "node_modules").is_dir():
        pytest.skip("ruff is not installed: npm ci --prefix tests/clients")
    settings = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]
    check("node", HERE / "ruff.js", json.dumps(settings), *sorted(HOME.glob("*/*.py")))


def test_the_wheel_is_built_offline_and_typed(folder):
    """As `make wheel` builds it."""
    if subprocess.run(["/usr/bin/python3", "-c", "import setuptools, wheel"], check=False, capture_output=True).returncode:
        pytest.skip("python3-setuptools and python3-wheel are not installed")
    wheels = []
    for n in (1, 2):
        subprocess.run([HERE / "wheel", folder / f"wheel{n}"], check=True, timeout=200, stdout=subprocess.DEVNULL,
                       env={**os.environ, "http_proxy": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1"})
        wheels += (folder / f"wheel{n}").glob("*.whl")
    version = re.search(r"\((.+)\)", (ROOT / "debian/changelog").read_text(encoding="utf-8"))[1]
    assert [w.name for w in wheels] == [f"zkleader-{version}-py3-none-any.whl"] * 2 and zkleader.__version__ == version
    assert wheels[0].read_bytes() == wheels[1].read_bytes(), "the same, bit for bit"
    with zipfile.ZipFile(wheels[0]) as z:
        names = z.namelist()
        assert "zkleader/py.typed" in names and {f"zkleader/{p.name}" for p in (HOME / "zkleader").glob("*.py")} <= set(names)
        assert "Requires-Dist" not in z.read(f"zkleader-{version}.dist-info/METADATA").decode()
        z.extractall(folder / "there")
    code = "import zkleader, zkleader.aio; print(zkleader.connect('/x').path)"
    done = subprocess.run(["/usr/bin/python3", "-c", code], env={**os.environ, "PYTHONPATH": str(folder / "there")}, check=True,
                          stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.stdout == "/x\n"


HERE = pathlib.Path(__file__).resolve().parent


# --- each Python that is there --------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def pythons():
    found = {}
    for minor in range(9, 15):
        places = [shutil.which(f"python3.{minor}"), *sorted(pathlib.Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))]
        for place in filter(None, places):
            there = subprocess.run([place, "-c", "import sys; print(sys.version_info[1])"], check=False, capture_output=True, text=True)
            if there.stdout.strip() == str(minor):
                found.setdefault(f"3.{minor}", str(place))
    return found


@pytest.mark.parametrize("client", ["python", "python-aio"])
@pytest.mark.parametrize("version", sorted(pythons(), key=lambda v: int(v[2:])))
def test_each_python(version, client, fleet, zk, folder, monkeypatch):
    monkeypatch.setenv("ZKLEADER_PYTHON", pythons()[version])
    only = fleet.sidecar("only", node="only", tasks=[task_text(TASK, tick="24h")], session_timeout="10s")
    token = zk.wait_for_leader(TASK, only)
    wait_until(lambda: only.leads(TASK), what="it leads")
    d = driving.Driver(client, only.socket, folder / "driver.err")
    try:
        assert d.call("leads", task=TASK) == {"leads": True, "token": token, "state": "leading", "leader": "only", "version": "1.0"}
        watch, scope = d.send("watch", tasks=[TASK]), d.send("leading", task=TASK, wait=5)
        assert d.event(watch)["leads"] and d.event(scope)["entered"]
        assert d.call("run", task=TASK, tick=None, outcome="ok", hold_ms=100) == {"ran": True, "reason": "ok"}
        assert d.call("many", task=TASK, n=50)["answers"] == 50
        assert d.error("leads", task="unknown").code == 3
        only.write_tasks(task_text(TASK, min_version="9"))
        lost = d.event(scope)
        assert lost["lost"] and lost["left_ms"] > 0
    finally:
        wrong = d.close()
    assert not wrong


# --- by itself --------------------------------------------------------------------------------------

def test_no_thread_while_nobody_waits(fleet, zk):
    only = fleet.sidecar("only", tasks=[TASK], session_timeout="10s")
    zk.wait_for_leader(TASK, only)
    before = threading.active_count()
    with zkleader.connect(only.socket) as client:
        wait_until(lambda: client.leads(TASK), what="it leads")
        assert threading.active_count() == before
        with client.leading(TASK, wait=5):
            assert threading.active_count() == before + 1
        wait_until(lambda: threading.active_count() == before, what="it has ended with the scope")
        watch = client.watch(TASK)
        assert watch.get(timeout=30).leads and watch.get(timeout=0.1) is None
        assert threading.active_count() == before
        watch.close()
        assert list(watch) == []


def test_after_a_fork_each_has_a_connection_of_its_own(fleet, zk):
    only = fleet.sidecar("only", tasks=[TASK], session_timeout="20s")
    zk.wait_for_leader(TASK, only)
    client = zkleader.connect(only.socket)
    wait_until(lambda: client.leads(TASK), what="it leads")
    child = os.fork()
    if child == 0:
        os._exit(0 if all(client.leads(TASK) for _ in range(50)) else 1)
    good = all(client.leads(TASK) for _ in range(50))
    assert os.waitpid(child, 0)[1] == 0 and good
    assert client.leads(TASK)
    client.close()
    with pytest.raises(zkleader.Error) as closed:
        client.leads(TASK)
    assert closed.value.code == 2


def test_a_claim_that_is_given_up_while_it_waits_claims_nothing(fleet, zk):
    a = fleet.sidecar("a", version="1", tasks=[task_text(TASK, tick="24h", wait="50s")], session_timeout="10s")
    b = fleet.sidecar("b", version="2", tasks=[task_text(TASK, tick="24h", wait="50s")], session_timeout="10s")
    zk.wait_for_leader(TASK, b)

    async def give_up():
        async with zkleader.aio.connect(a.socket) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.run(TASK, lambda: None), 1)
            b.stop()
            zk.wait_for_leader(TASK, a)
            assert zk.names("runs", TASK) == []
            return await client.run(TASK, lambda: "mine")

    ran = asyncio.run(give_up())
    assert ran.value == "mine" and ran.recorded


def test_what_a_function_returns_and_raises(fleet, zk):
    only = fleet.sidecar("only", tasks=[task_text(TASK)], session_timeout="10s")
    zk.wait_for_leader(TASK, only)
    with zkleader.connect(only.socket) as client:
        wait_until(lambda: client.leads(TASK), what="it leads")
        ran = client.run(TASK, lambda: "without the run", tick="none")
        assert ran and (ran.value, ran.tick) == ("without the run", None)
        ran = client.run(TASK, lambda run: run.token, tick=3600)
        assert ran and ran.value == zk.leader(TASK)[1] and ran.recorded and ran.tick.endswith(":00:00Z")
        again = client.run(TASK, lambda: 1 / 0, tick="1h")
        assert not again and (again.reason, again.tick) == ("taken", ran.tick)
        with pytest.raises(ZeroDivisionError):
            client.run(TASK, lambda: 1 / 0, tick="2s")
        for tick in ("soon", "²s", "0s", "500ms", "3d", 0, -1, 0.5, float("nan"), datetime.timedelta()):
            with pytest.raises(zkleader.Error) as misuse:
                client.run(TASK, print, tick=tick)
            assert misuse.value.code == 3, tick


# --- examples ---------------------------------------------------------------------------------------

def steps(*args):
    process = spawn([sys.executable, HOME / "examples/steps.py", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True, env=ENV)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_the_example_works_in_steps_with_the_token_while_this_node_leads(fleet, zk, folder):
    leader = fleet.sidecar("leader", version="2", tasks=[TASK], session_timeout="10s")
    follower = fleet.sidecar("follower", version="1", tasks=[TASK])
    token = zk.wait_for_leader(TASK, leader)
    wait_until(lambda: leader.leads(TASK), what="it leads")
    code, out, err = steps("--socket", leader.socket, "--steps", "4", TASK)
    assert (code, err) == (0, "")
    assert re.findall(r"step (\d) of 4 with token (\d+), \d\.\d s left", out) == [(str(i), str(token)) for i in (1, 2, 3, 4)]
    code, out, err = steps("--socket", follower.socket, TASK)
    assert (code, out) == (1, "") and "led by" in err
    code, out, err = steps("--socket", leader.socket, "unknown")
    assert (code, out) == (3, "") and "unknown" in err
    code, out, err = steps("--socket", folder / "none", TASK)
    assert (code, out) == (2, "") and "cannot ask the sidecar" in err


def test_the_example_follows_the_leadership(fleet, zk, folder):
    a = fleet.sidecar("a", node="a", version="1", tasks=[TASK], session_timeout="10s")
    first = zk.wait_for_leader(TASK, a)
    with open(folder / "out", "wb") as out:
        process = spawn([sys.executable, HOME / "examples/follow.py", "--socket", a.socket, TASK], stdout=out, stderr=out, env=ENV)

    def told():
        return (folder / "out").read_text()
    wait_until(lambda: f"at work with token {first}" in told() and "leading, led by a (1)" in told(), what="it works")
    b = fleet.sidecar("b", node="b", version="2", tasks=[TASK], session_timeout="10s")
    wait_until(lambda: "not led here any more" in told() and "following, led by b (2)" in told(), what="it stops")
    b.stop()
    wait_until(lambda: f"at work with token {zk.leader(TASK)[1]}" in told(), what="it works again")
    end(process)
    assert "Traceback" not in told()


def test_what_the_page_shows_works(fleet, zk, monkeypatch):
    tasks = [task_text("nightly-report", tick="24h"), "feed"]
    only = fleet.sidecar("only", tasks=tasks, session_timeout="20s")
    for task in ("nightly-report", "feed"):
        zk.wait_for_leader(task, only)
        wait_until(lambda task=task: only.leads(task), what="it leads")
    token = zk.leader("feed")[1]
    monkeypatch.setenv("ZKLEADER_SOCKET", str(only.socket))
    shown, done = dict(driving.shown("python")), []
    names = {"parts": "ab", "send": lambda part, token: done.append(part), "entries": lambda: "cd",
             "store": lambda entry, token: done.append((entry, token)), "report": lambda tick, token: done.append(tick)}
    for heading in ("Connect", "Ask", "Lead", "Run"):
        exec(shown[heading], names)  # pylint: disable=exec-used
    assert done[:4] == ["a", "b", ("c", token), ("d", token)] and names["ran"].recorded and done[4] == names["ran"].tick
    client = names["client"]
    watch, told = client.watch("nightly-report", "feed"), []

    def tell(*words):
        told.append(words)
        if len(told) == 2:
            watch.close()
    monkeypatch.setattr(client, "watch", lambda *tasks: watch)
    exec(shown["Watch"], {**names, "print": tell})  # pylint: disable=exec-used
    assert sorted(t[:2] for t in told) == [("feed", "leading"), ("nightly-report", "leading")]
    monkeypatch.setattr(client, "submit", lambda queue, payload, delay, id=None: f"{queue}.{delay}.{id}")
    monkeypatch.setattr(client, "wait", lambda job: zkleader.Job(job, "mails", "ok", 1, None, 0, None, {}))
    exec(shown["Submit"], {**names, "payload": b"x", "print": told.append})  # pylint: disable=exec-used
    assert told[-1] == "ok" and names["client"] is client
    client.close()
