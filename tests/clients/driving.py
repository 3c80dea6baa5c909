"""Programs that use a client, as README.md has it, and a sidecar that does what a test says."""
import collections
import fcntl
import functools
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

import msgpack

from harness.process import cpu_seconds, end, spawn
from harness.waiting import TIMEOUT, wait_until

HERE = pathlib.Path(__file__).resolve().parent / "drivers"
PAGE = HERE.parents[2] / "docs/CLIENTS.md"
BUILD_SECONDS = 600
NO_TOOLCHAIN = 77


def languages():
    """Those that have a driver; ZKLEADER_CLIENTS names a choice of them."""
    there = sorted(p.parent.name for p in HERE.glob("*/run"))
    chosen = os.environ.get("ZKLEADER_CLIENTS", "").split()
    return [one for one in there if not chosen or one in chosen]


@functools.lru_cache(maxsize=None)
def _why_missing(language):
    """None: its toolchain is there, and it is built."""
    with open(HERE / language / "run", encoding="utf-8") as lock:  # tests that run side by side build into one folder
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = subprocess.run([lock.name, "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               timeout=BUILD_SECONDS, check=False)
    assert built.returncode in (0, NO_TOOLCHAIN), built.stdout
    return built.stdout.strip() or "no toolchain" if built.returncode else None


def missing(*asked):
    """Why which of them are not tried."""
    whys = {one: _why_missing(one) for one in asked or languages()}
    return {one: why for one, why in whys.items() if why}


def shown(language, page=PAGE):
    """The (heading, code) of each block in that language on a page."""
    sections = re.split(r"^#+ ", page.read_text(encoding="utf-8"), flags=re.M)
    found = [(section.split("\n", 1)[0], code) for section in sections
             for code in re.findall(rf"^```{language}\n(.*?)^```", section, re.M | re.S)]
    assert found, f"{page} shows no {language}"
    return found


class ClientError(Exception):
    """What a client's error says."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.message, self.job = error["code"], error["message"], error.get("job")


class Driver:
    def __init__(self, language, path, errors):
        self.ids = itertools.count(1)
        self.errors = errors
        self.said = threading.Condition()
        self.answers, self.events = {}, collections.defaultdict(collections.deque)
        self.junk = []
        with open(errors, "wb") as err:
            self.process = spawn([HERE / language / "run", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            try:
                said = json.loads(line)
                n = said["id"]
            except (ValueError, KeyError, TypeError):
                self.junk.append(line)
                continue
            with self.said:
                if "event" in said:
                    self.events[n].append(said["event"])
                elif n in self.answers:
                    self.junk.append(line)
                else:
                    self.answers[n] = said
                self.said.notify_all()

    def send(self, do, **fields):
        """Returns the request's id without waiting."""
        n = next(self.ids)
        self.process.stdin.write(json.dumps({"id": n, "do": do, **fields}).encode() + b"\n")
        self.process.stdin.flush()
        return n

    def _wait(self, there, timeout, what):
        with self.said:
            if not self.said.wait_for(there, timeout):
                raise AssertionError(f"not within {timeout:g} s: {what}; standard error: {self.errors.read_text()!r}")
            return there()

    def answer(self, n, timeout=TIMEOUT):
        """What it is answered with; a ClientError is raised."""
        self._wait(lambda: n in self.answers, timeout, f"request {n} is answered")
        said = self.answers[n]
        if "error" in said:
            raise ClientError(said["error"])
        return said["ok"]

    def call(self, do, timeout=TIMEOUT, **fields):
        return self.answer(self.send(do, **fields), timeout)

    def error(self, do, **fields):
        """The ClientError that it ends with."""
        try:
            ok = self.call(do, **fields)
        except ClientError as e:
            return e
        raise AssertionError(f"{do} {fields} was answered: {ok}")

    def event(self, n, timeout=TIMEOUT):
        """The next event of that request."""
        self._wait(lambda: self.events[n], timeout, f"an event of request {n}")
        return self.events[n].popleft()

    def wait_event(self, n, matches, timeout=TIMEOUT):
        """The next event that does, and those before it."""
        found = []
        limit = time.monotonic() + timeout
        while not found or not matches(found[-1]):
            found.append(self.event(n, max(limit - time.monotonic(), 0.01)))
        return found[-1], found[:-1]

    def pause(self):
        """Stops it, as a debugger, a hypervisor or a collector of memory would."""
        self.process.send_signal(signal.SIGSTOP)

        def stopped():
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
                return f.read().rsplit(")", 1)[1].split()[0] in "Tt"
        wait_until(stopped, what="the driver is stopped")

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def sockets(self):
        """How many it has open."""
        return sum(os.readlink(f).startswith("socket:") for f in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir())

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def leave(self, timeout=30):
        """Its exit code, once its standard input has ended."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return self.process.wait(timeout)

    def close(self):
        """Ends it, and returns what went wrong in its life."""
        wrong = [f"no JSON, or a second answer: {line!r}" for line in self.junk]
        if self.process.poll() is None:
            self.resume()
        try:
            code = self.leave()
            if code != 0:
                wrong.append(f"ended with {code}: {self.errors.read_text()}")
        except subprocess.TimeoutExpired:
            wrong.append("does not end with its standard input")
        except BrokenPipeError:
            wrong.append(f"has ended: {self.errors.read_text()}")
        end(self.process)
        return wrong


class Connection:
    """The server's end."""

    def __init__(self, sock):
        self.sock = sock
        self.unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)

    def request(self):
        """The next: (msgid, method, params). EOFError after the last."""
        while True:
            for message in self.unpacker:
                assert message[0] == 0, message
                return tuple(message[1:])
            data = self.sock.recv(65536)
            if not data:
                raise EOFError
            self.unpacker.feed(data)

    def answer(self, msgid, result):
        self.send(msgpack.packb([1, msgid, None, result]))

    def refuse(self, msgid, code, message):
        self.send(msgpack.packb([1, msgid, {"code": code, "message": message}, None]))

    def send(self, data):
        self.sock.sendall(data)

    def close(self):
        self.sock.close()


class Scripted:
    """A sidecar that does as it is told: play(connection, number) for each connection, from 0 on."""

    def __init__(self, path, play):
        self.path, self.play = path, play
        self.number = 0
        self.wrong = []
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.server.bind(str(path))
        self.server.listen(100)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(Connection(sock), self.number), daemon=True).start()
            self.number += 1

    def _serve(self, connection, number):
        try:
            self.play(connection, number)
        except (EOFError, OSError):
            pass
        except BaseException as e:  # the test's to see
            self.wrong.append(repr(e))
        finally:
            connection.close()

    def close(self):
        self.server.close()
        assert not self.wrong, self.wrong
