"""What the Java client has beside the contract: its jar, its codec, its clocks and its examples."""
import functools
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import tarfile

import msgpack
import pytest

import driving
from harness.process import end, spawn
from harness.sidecar import task_text
from harness.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
JAVA = ROOT / "clients/java"
JAR = ROOT / "build/clients/java/zkleader.jar"
HERE = ROOT / "tests/clients/java"
DRIVER = ROOT / "tests/clients/drivers/java/run"
JVM = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
FUZZ_SECONDS = float(os.environ.get("ZKLEADER_JAVA_FUZZ_SECONDS", "3"))
DEPTH_MAX = 16

pytestmark = pytest.mark.skipif(not shutil.which("javac"), reason="there is no JDK")


@functools.lru_cache(maxsize=None)
def jar():
    subprocess.run([DRIVER, "--check"], check=True, timeout=600)
    return JAR


def run(*words, timeout=240, **kwargs):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                          check=False, **kwargs)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return done.stdout


def compiled(folder, *sources):
    classes = folder / "classes"
    run("javac", "--release", "17", "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-cp", jar(), "-d", classes, *sources)
    return f"{classes}:{jar()}"


def test_the_jar_needs_nothing_but_java_and_comes_out_the_same(folder):
    assert run("jdeps", "-s", jar()).decode().split() == ["org.zkleader", "->", "java.base"]
    shutil.copytree(JAVA, folder / "clients/java")
    for when in (978307200, 1893456000):
        for source in (folder / "clients").rglob("*"):
            os.utime(source, (when, when))
        run("make", "-s", "-B", "-f", "clients/java/java.mk", "jar", "VERSION=" + version(), cwd=folder,
            env={**os.environ, "TZ": "Asia/Tokyo"})
        assert (folder / "build/clients/java/zkleader.jar").read_bytes() == jar().read_bytes()


def version():
    return re.search(r"\((.+)\)", (ROOT / "debian/changelog").read_text())[1]


def test_its_documentation_is_whole(folder):
    run("javadoc", "-quiet", "-encoding", "UTF-8", "-Xdoclint:all", "-Werror", "-d", folder / "doc", *JAVA.rglob("src/**/*.java"))


def test_a_lease_ends_by_either_clock(folder):
    assert run(*JVM, "-cp", compiled(folder, HERE / "Clocks.java"), "org.zkleader.Clocks") == b"good\n"


def frames(data):
    at = 0
    while at < len(data):
        (n,) = struct.unpack_from(">I", data, at)
        yield data[at + 4:at + 4 + n]
        at += 4 + n


class Twice(Exception):
    pass


def pairs(items):
    """A map as the Java client reads it: keys that are no strings are passed over; one that is there twice is not."""
    kept = {}
    for key, value in items:
        if isinstance(key, str):
            if key in kept:
                raise Twice
            kept[key] = value
    return kept


def ext(code, data):
    return bytes([code % 256]) + data


def depth(value):
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 1 + max(map(depth, value.values()), default=0) if isinstance(value, dict) else 0


def same(a, b):
    if isinstance(b, msgpack.Timestamp):
        return isinstance(a, bytes) and a[0] == 0xff
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack(">d", a) == struct.pack(">d", b) or (a != a and b != b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, str) and isinstance(b, str):  # what is no UTF-8 is replaced by as many as one likes
        return a.replace("\ufffd", "") == b.replace("\ufffd", "")
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all(same(k, m) and same(a[k], b[m]) for k, m in zip(a, b))
    return type(a) is type(b) and a == b


def has_big(value):
    if isinstance(value, (list, dict)):
        return any(map(has_big, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and value >= 2 ** 63


def test_its_messagepack_under_fire_reads_what_another_reads(folder):
    """The committed inputs of the C reader, changes of them, and made ones; in as much as msgpack-c has an opinion."""
    with tarfile.open(ROOT / "tests/fuzz/corpus/frame.tar.gz") as corpus:
        corpus.extractall(folder / "corpus")
    [inputs] = {p.parent for p in (folder / "corpus").rglob("*") if p.is_file()}
    seed = random.SystemRandom().randrange(2 ** 32)
    classes = compiled(folder, ROOT / "tests/fuzz/java/FuzzMessagePack.java")
    said = list(frames(run(*JVM, "-Xmx64m", "-cp", classes, "org.zkleader.FuzzMessagePack", FUZZ_SECONDS, seed, inputs)))
    compared = 0
    for given, made in zip(said[0::2], said[1::2]):
        unpacker = msgpack.Unpacker(raw=False, unicode_errors="replace", strict_map_key=False, object_pairs_hook=pairs,
                                    ext_hook=ext, max_buffer_size=2 ** 20)
        unpacker.feed(given)
        try:
            expected = unpacker.unpack()
        except msgpack.OutOfData:
            assert made in (b"", b"\xc1"), (seed, given)  # what is missing would be too much
            continue
        except (Twice, ValueError, TypeError, msgpack.exceptions.UnpackException, RecursionError):
            continue
        if made == b"\xc1":
            continue  # nested too deeply or too large, also in a value that is passed over
        if not has_big(expected):
            assert depth(expected) <= DEPTH_MAX
            got = msgpack.unpackb(made, raw=False, unicode_errors="replace")
            assert same(got, expected), (seed, given)
            compared += 1
    assert compared > len(said) // 20, "most of what was tried made no sense"


def test_the_examples_compile_and_do_what_they_say(folder, fleet, zk):
    tasks = [task_text("nightly-report"), task_text("nightly-bill", tick="24h"), task_text("other", min_version="2")]
    here = fleet.sidecar("here", version="1", tasks=tasks, session_timeout="20s")
    there = fleet.sidecar("there", version="2", tasks=["other"], session_timeout="20s", node="elsewhere")
    wait_until(lambda: there.leads("other") and here.leads("nightly-report") and here.leads("nightly-bill"), what="they lead")
    wait_until(lambda: (here.check("other")["led_by"] or {}).get("node") == "elsewhere", what="it is known here")
    sources = [*HERE.rglob("stubs/**/*.java"), *JAVA.rglob("examples/*.java"), HERE / "Examples.java"]
    said = run(*JVM, "-cp", compiled(folder, *sources), "Examples", "nightly-report", "other",
               env={**os.environ, "ZKLEADER_SOCKET": str(here.socket)})
    assert said == b"good\n"
    [record] = [msgpack.unpackb(zk.get("runs", "nightly-bill", tick)[0]) for tick in zk.names("runs", "nightly-bill")]
    assert record["state"] == "ok"


def test_what_is_interrupted_or_closed_harms_nobody(folder, fleet, zk):
    """A claim that was given up is taken back: its tick is nobody's."""
    tasks = [task_text("mine", tick="24h"), task_text("other", tick="24h", wait="1h")]
    here = fleet.sidecar("here", version="1", tasks=tasks, session_timeout="10s")
    there = fleet.sidecar("there", version="2", tasks=["other"], session_timeout="10s")
    wait_until(lambda: there.leads("other") and here.leads("mine"), what="they lead")
    classes = compiled(folder, HERE / "Threads.java")
    process = spawn([*JVM, "-cp", classes, "Threads", here.socket, "mine", "other"], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        line = process.stdout.readline()
        assert line == b"interrupted\n", line + process.stdout.read()
        [record] = [msgpack.unpackb(zk.get("runs", "mine", tick)[0]) for tick in zk.names("runs", "mine")]
        assert record["state"] == "ok"
        there.stop()
        process.stdin.write(b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line == b"leads\n", line + process.stdout.read()
        process.stdin.close()
        assert process.stdout.read() == b"good\n" and process.wait(30) == 0
    finally:
        end(process)


SHOWN = """import java.time.Duration;
import java.util.List;
import org.springframework.context.annotation.Bean;
import org.zkleader.*;

abstract class Shown {
    record Part() { }
    record Entry() { }
    record Tenant() { }
    List<Part> parts;
    List<Tenant> tenants;
    byte[] payload;
    ZkLeader client;
    abstract List<Entry> entries();
    abstract void send(Part part, long token);
    abstract void store(Entry entry, long token);
    abstract void bill(Tenant tenant, long token);
    abstract void sendOne(long token);
    abstract void report(long token);
    abstract void report(String tick, long token);
    abstract void log(Object what);
"""


def test_what_the_documents_show_compiles(folder):
    shown = [SHOWN]
    for page in (JAVA / "README.md", driving.PAGE):
        for n, (_, block) in enumerate(driving.shown("java", page)):
            block = re.sub(r"^.*new LeaderLatch.*\n", "", block, flags=re.M)  # what was there before
            shown.append(block if block.startswith("@") else
                         f"void of{page.stem.title()}{n}() throws Exception {{\n{block}}}\n")
    assert len(shown) > 3
    (folder / "Shown.java").write_text("".join(shown) + "}\n", encoding="utf-8")
    compiled(folder, folder / "Shown.java", HERE / "stubs/org/springframework/context/annotation/Bean.java")
