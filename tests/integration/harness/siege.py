"""A crowd of connections of one local user who asks the dearest things as fast as the sidecar takes them.

usage: siege.py HARNESS SOCKET UID CONNECTIONS TASK, until standard input ends; says "ready" once all are connected,
and at the end how often a connection was closed by the sidecar.
"""
import json
import os
import pathlib
import resource
import selectors
import socket
import subprocess
import sys

import msgpack

PART = 65536
HALF = b"\x91" + msgpack.packb("x" * 60_000)[:-1]  # of a request, and no more ever


def request(method, *params):
    return msgpack.packb([0, 1, method, list(params)])


def kinds(task):
    """(what is said again and again, whether the answers are read)"""
    some = [
        request("tasks", *[task] * 5000),  # one name, again and again
        request("tasks") * 100,
        request("workers") * 100,
        request("explain", task) * 100,
        request("history", task) * 100,
        request("status") * 100,
        request("check", task, 1000) * 100,
        request("check", task) * 100,
        request("subscribe") * 10,
        request("renew", 7) * 100 + request("finish", 7, {"exit_status": 0}) * 100,
    ]
    return [(data, reads) for reads in (True, False) for data in some] + [(HALF, False)]


class Besieger:
    def __init__(self, path, said, reads):
        self.path, self.said, self.reads = path, said, reads
        self.left = b""
        self.sock = None

    def connect(self, selector):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)
        self.sock.setblocking(False)
        self.left = self.said
        selector.register(self.sock, selectors.EVENT_WRITE | (selectors.EVENT_READ if self.reads else 0), self)

    def act(self, events):
        """False once the sidecar has closed it."""
        try:
            if events & selectors.EVENT_READ and not self.sock.recv(PART):
                return False
            if events & selectors.EVENT_WRITE and self.left:
                self.left = self.left[self.sock.send(self.left[:PART]):] or (self.said if self.said is not HALF else b"")
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True


def main(path, uid, connections, task):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * connections)), hard))
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    selector = selectors.DefaultSelector()
    listed = kinds(task)
    for i in range(connections):
        Besieger(path, *listed[i % len(listed)]).connect(selector)
    print("ready", flush=True)
    selector.register(sys.stdin, selectors.EVENT_READ)
    closed = 0
    while True:
        for key, events in selector.select():
            if key.fileobj is sys.stdin:
                print(closed)
                return
            open_still = key.data.act(events)
            if open_still and not key.data.left:
                selector.unregister(key.fileobj)  # it says nothing more, and stays
            elif not open_still:
                selector.unregister(key.fileobj)
                key.fileobj.close()
                closed += 1
                key.data.connect(selector)


class Siege:
    """Begins with `with`, and is at its height then."""

    def __init__(self, sidecar, task, uid=65534, connections=1000):
        self.args = [str(pathlib.Path(__file__).resolve().parents[1]), str(sidecar.socket), str(uid), str(connections), task]
        self.closed = None

    def __enter__(self):
        # This file is read as root, as the checkout may be in a folder that others cannot enter.
        script = ("import json, sys; sys.path.insert(0, sys.argv[1]); from harness import siege; "
                  "siege.main(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])")
        self.process = subprocess.Popen([sys.executable, "-c", script, *self.args], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        out, _ = self.process.communicate("\n", timeout=60)
        self.closed = json.loads(out)
