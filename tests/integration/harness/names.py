"""A name server of our own, and what a program is started with to ask it: the real resolver does."""
import os
import random
import socket
import struct
import subprocess
import threading
import time

import pytest

SERVFAIL, NXDOMAIN = 2, 3
TYPE_A = 1


class NameServer:
    """Answers every question for an A record with `points_to`, after `delay` seconds, with the error
    `rcode`, or not at all (`silent`). On port 53 of an address of its own, as resolv.conf knows no other."""

    def __init__(self):
        self.delay, self.rcode, self.silent = 0.0, 0, False
        self.points_to = "127.0.0.1"
        self.asked = 0
        self.ended = False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.address = "127.{}.{}.{}".format(*(random.SystemRandom().randrange(2, 250) for _ in range(3)))
        self.socket.bind((self.address, 53))
        self.socket.settimeout(0.1)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join(10)
        self.socket.close()

    def _answer(self, question):
        end = question.index(b"\0", 12) + 5  # of the first question: its name, type and class
        wanted = struct.unpack_from(">H", question, end - 4)[0]
        record = b"" if self.rcode or wanted != TYPE_A else \
            b"\xc0\x0c" + struct.pack(">HHIH", TYPE_A, 1, 0, 4) + socket.inet_aton(self.points_to)
        return question[:2] + struct.pack(">HHHHH", 0x8180 | self.rcode, 1, int(bool(record)), 0, 0) + \
            question[12:end] + record

    def _run(self):
        due = []  # (when, answer, to whom)
        while not self.ended:
            try:
                question, client = self.socket.recvfrom(512)
                self.asked += 1
                if not self.silent:
                    due.append((time.monotonic() + self.delay, self._answer(question), client))
            except TimeoutError:
                pass
            for one in [d for d in due if d[0] <= time.monotonic()]:
                due.remove(one)
                self.socket.sendto(*one[1:])


def need_mounts():
    if os.geteuid() != 0:
        pytest.skip("files of its own in /etc take mount namespaces, and a name server port 53: root")
    r = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    if r.returncode:
        pytest.skip(f"mount namespaces are not allowed here: {r.stderr.strip()}")


def with_etc(folder, **files):
    """The words before a program's that give it files of its own in /etc: hosts="...", ..."""
    script = ""
    for name, text in files.items():
        file = folder / name.replace("_", ".")
        file.write_text(text, encoding="ascii")
        script += f"mount --bind '{file}' /etc/{file.name} && "
    return ["unshare", "--mount", "sh", "-c", script + 'exec "$@"', "sh"]


def asking(server, folder):
    """The same, for a program that is to ask that name server."""
    return with_etc(folder, resolv_conf=f"nameserver {server.address}\n", nsswitch_conf="hosts: files dns\n")
