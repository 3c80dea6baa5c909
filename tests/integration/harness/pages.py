"""Documents whose commands are run as they stand there: the blocks of a page that begin with "$ ".

A line that begins with "$ " is a command, and lines behind it that begin with "> " go on with it. What follows, up to
the next command, is what it prints, both streams as they come. Every command has to end with 0. What may differ:

- times, lengths of time, ids, the tokens in a column TOKEN or behind the word, who has given an order and where, and
  how many spaces there are between words;
- the ports that the page says: the test has others;
- "…": any text in a line, and as a line of its own any number of lines.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import threading

from harness.process import spawn
from harness.sidecar import build

SECONDS = 100  # for one command
END = "the command has ended with "
ALIKE = [(re.compile(pattern), word) for pattern, word in (
    (r"\b[0-9a-z]{5}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "JOB"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)", "TIME"),
    (r"\b[0-9a-f]{8}\b", "ID"),  # before lengths: 6484584d is none
    (r"(?<![\w.])((\d+(\.\d+)?(ms|[smhd]))+|\d+ ms)\b", "LENGTH"),
    (r"\bby \S+ at [^\s:;,]+|\b[\w-]+@[\w-]+", "SOMEBODY"),
    (r"\btoken \d+", "token"),
)]


def commands(text):
    """[(line of the page, title of the section, command, what it prints)] of its blocks, in their order."""
    found, inside, ours, title = [], False, False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## ") and not inside:
            title = line[3:]
        elif line.startswith("```"):
            inside, ours = not inside, False
        elif inside and line.startswith("$ "):
            found.append([number, title, line[2:], []])
            ours = True
        elif ours and not found[-1][3] and (line.startswith("> ") or line == ">"):
            found[-1][2] += "\n" + line[2:]
        elif ours:
            found[-1][3].append(line)
    return [tuple(one) for one in found]


def plain(lines):
    """Those lines without what may differ."""
    found, column = [], None
    for line in lines:
        words = line.split()
        if "TOKEN" in words:
            column = words.index("TOKEN") - ("*" in words)
        elif column is not None and len(words) > column and words[column].isdigit():
            words[column] = "TOKEN"
        else:
            column = None
        line = " ".join(words)
        for pattern, word in ALIKE:
            line = pattern.sub(word, line)
        found.append(line)
    while found and not found[-1]:
        found.pop()
    return found


def fits(printed, shown):
    """Whether a page may show that for what was printed."""
    pattern = "".join("(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in plain(shown))
    return re.fullmatch(pattern, "".join(line + "\n" for line in plain(printed))) is not None


class Shell:
    """A bash that runs one command of a page after the other, in a folder."""

    def __init__(self, folder, ports=None, env=None, user=None):
        self.folder, self.ports = folder, ports or {}
        programs, command = build(), ["bash", "--norc", "--noprofile"]
        if user:  # who may not look into a clone below /root
            programs = pathlib.Path(folder, "programs")
            programs.mkdir()
            for one in build().glob("zkleader*"):
                if one.is_file() and os.access(one, os.X_OK):
                    shutil.copy(one, programs)
            command = ["setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups", *command]
        clean = {k: v for k, v in os.environ.items() if not k.startswith("ZKLEADER_")}
        path = f"{programs}:{os.environ['PATH']}"
        self.process = spawn(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env={**clean, "PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC", **(env or {})},
                             text=True, start_new_session=True)

    def run(self, command):
        """What it prints, as lines, and its status."""
        for said, ours in self.ports.items():
            command = command.replace(said, ours)
        self.process.stdin.write(f"eval {shlex.quote(command)} </dev/null; printf '\\n%s%d\\n' {shlex.quote(END)} $?\n")
        self.process.stdin.flush()
        line, lines, alarm = "", [], threading.Timer(SECONDS, self.kill)
        alarm.start()
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line.startswith(END):
                if lines and not lines[-1]:
                    lines.pop()
                break
            for said, ours in self.ports.items():
                line = line.replace(ours, said)
            lines.append(line)
        alarm.cancel()
        if not line.startswith(END):
            raise AssertionError(f"the shell has ended, or took {SECONDS} s, in {command!r}: {lines}")
        return lines, int(line[len(END):])

    def follow(self, page, wanted=lambda title: True):
        """Runs the commands of the sections that are wanted, and compares what they print."""
        for number, title, command, shown in commands(page.read_text(encoding="utf-8")):
            if not wanted(title):
                continue
            printed, status = self.run(command)
            assert status == 0 and fits(printed, shown), \
                f"{page.name}:{number}: $ {command}\nended with {status} and printed\n" + "\n".join(printed) + \
                "\nwhere the page has\n" + "\n".join(shown)

    def kill(self):
        """With all that the page has started in the background."""
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass

    def close(self):
        self.kill()
        self.process.wait(30)
