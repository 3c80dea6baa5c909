#!/usr/bin/python3
"""How an application asks its server's zkleaderd whether it may work, and goes on asking while it works.

Needs Debian's python3-msgpack and nothing else. As a program it does an imaginary job in steps:

    ask.py [--socket PATH] [--steps N] TASK

Exit code: 0 all steps done, 1 another server leads the task, 2 cannot tell, or leadership was lost on the
way, 3 misuse such as an unknown task.
"""
import argparse
import collections
import itertools
import os
import socket
import sys
import time

import msgpack

SOCKET = os.environ.get("ZKLEADER_SOCKET", "/run/zkleader/zkleader.sock")


def now():
    """A clock that goes on while the machine is suspended, as a lease does."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Refused(Exception):
    """The sidecar does not do what it was asked; code is as an exit code of zkleader-check."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Zkleader:
    """A connection to the sidecar, to be kept for as long as one likes."""

    def __init__(self, path=SOCKET, timeout=5.0):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.unpacker = msgpack.Unpacker()
        self.msgids = itertools.count(1)
        self.notifications = collections.deque()

    def close(self):
        self.socket.close()

    def call(self, method, *params):
        msgid = next(self.msgids)
        self.socket.sendall(msgpack.packb([0, msgid, method, params]))
        while True:
            kind, *rest = self._receive()
            if kind == 2:  # of `subscribe`: [2, method, params], without a msgid
                self.notifications.append(rest)
            elif rest[0] == msgid:
                _, error, result = rest
                if error:
                    raise Refused(error["code"], error["message"])
                return result

    def notification(self):
        """The next [method, params] after call("subscribe", TASK...); waits for it, up to the timeout."""
        while not self.notifications:
            kind, *rest = self._receive()
            if kind == 2:
                self.notifications.append(rest)
        return self.notifications.popleft()

    def _receive(self):
        """The next whole message."""
        while True:
            for message in self.unpacker:
                return message
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("the sidecar has closed the connection")
            self.unpacker.feed(data)

    def lead(self, task, wait_ms=1000):
        """The Lease if this server leads the task, or else the answer that says who does."""
        sent = now()  # before asking: only so is a late answer never taken for a fresh one
        answer = self.call("check", task, wait_ms)
        return Lease(answer, sent) if answer["leader"] else answer


class Lease:
    """What an answer is good for: the fencing token, and the time until which no other server can lead."""

    def __init__(self, answer, sent):
        self.token = answer["token"]
        self.until = sent + answer["lease_ms"] / 1000

    def left(self):
        """Seconds that are left."""
        return max(self.until - now(), 0)


def work(zkleader, task, steps):
    for step in range(1, steps + 1):
        lease = zkleader.lead(task)
        if not isinstance(lease, Lease):
            cannot_tell = lease["state"] == "disconnected" or not lease["led_by"]
            print(lease["why"], file=sys.stderr)
            return 2 if cannot_tell or step > 1 else 1
        # Whatever the step writes goes along with the token; the store refuses a smaller one than it
        # has seen. So even a step that takes longer than the lease does no harm.
        print(f"{task}: step {step} of {steps} with token {lease.token}, {lease.left():.1f} s left", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description="Work on a task in steps, while this server leads it.")
    parser.add_argument("--socket", default=SOCKET, help="the sidecar's socket (%(default)s)")
    parser.add_argument("--steps", type=int, default=3, help="how many steps the work has (%(default)s)")
    parser.add_argument("task")
    options = parser.parse_args()
    try:
        zkleader = Zkleader(options.socket)
        return work(zkleader, options.task, options.steps)
    except Refused as e:
        print(e, file=sys.stderr)
        return e.code
    except OSError as e:
        print(f"cannot tell: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
