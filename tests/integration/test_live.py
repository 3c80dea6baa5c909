"""tasks --watch and list --watch: one table, kept as things are, on a terminal and off it."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pytest

from harness.process import end, spawn
from harness.sidecar import build, sanitizer_env, sanitizer_reports
from harness.waiting import wait_until

TASK = "nightly-report"


class Screen:
    """A terminal with as much of one in it as zkleader may use: anything else fails the test."""

    ACTION = re.compile(r"\x1b\[(\?(?:7|25|1049)[hl]|\d*[HKJm])|([\r\n])|([^\x1b\r\n]+)")

    def __init__(self, rows, columns):
        self.ours, self.theirs = pty.openpty()
        self.rows, self.columns = rows, columns
        self.resize(rows, columns)
        self.lines, self.row, self.column = [""], 0, 0  # lines that were scrolled off are kept: they must not change
        self.normal = None  # lines, row and column of the normal screen while the alternate one is shown
        self.text = ""

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def act(self, escape, end_of_line, text):
        if escape == "?1049h":
            self.normal = self.lines, self.row, self.column
            self.lines, self.row, self.column = [""], 0, 0
        elif escape == "?1049l":
            self.lines, self.row, self.column = self.normal
            self.normal = None
        elif escape == "H":
            self.row = self.column = 0
        elif escape in ("K", "J"):  # after a line that fills its row the cursor is on its last character
            if escape == "J":
                del self.lines[self.row + 1:]
            self.lines[self.row] = self.lines[self.row][:min(self.column, self.columns - 1)]
        elif end_of_line == "\r":
            self.column = 0
        elif end_of_line:  # the terminal has added the \r
            self.row += 1
            assert self.row < self.rows or not self.normal, "it would scroll"
            if self.row == len(self.lines):
                self.lines.append("")
        elif text:
            line = self.lines[self.row].ljust(self.column)
            room = max(1, self.columns - self.column)
            if len(text) > room:  # each of the characters too many is written over the one before, in the last cell
                text, self.column = text[:room - 1] + text[-1], min(self.column, self.columns - 1)
            self.lines[self.row] = (line[:self.column] + text + line[self.column + len(text):])[:self.columns]
            self.column = min(self.columns, self.column + len(text))

    def read(self):
        """The screen as it is now."""
        while select.select([self.ours], [], [], 0)[0]:
            self.text += os.read(self.ours, 65536).decode()
        at = 0
        while at < len(self.text):
            action = self.ACTION.match(self.text, at)
            if not action:
                assert len(self.text) - at < 10, f"not to be understood: {self.text[at:at + 40]!r}"
                break
            self.act(*[g or "" for g in action.groups()])
            at = action.end()
        self.text = self.text[at:]
        return "\n".join(self.lines)

    def close(self):
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def pair(fleet, zk):
    made = [fleet.sidecar(n, version=v, node=n, tasks=[TASK, "cleanup"]) for n, v in (("old", "1.9"), ("new", "2.1"))]
    wait_until(lambda: zk.leaders() == {TASK: made[1].id, "cleanup": made[1].id}, what="the newest leads")
    wait_until(lambda: all(len(s.call("workers")) == 2 for s in made), what="both see both")
    return made


@pytest.fixture
def start(folder):
    """Starts zkleader, on a screen or with its output in a file."""
    started, screens = [], []

    def begin(sidecar, *words, rows=24, columns=80, out=None, keys=False):
        screen = None if out else Screen(rows, columns)
        stdout = open(out, "wb") if out else screen.theirs
        stdin = screen.theirs if keys else subprocess.DEVNULL
        process = spawn([build() / "zkleader", "-s", sidecar.socket, *words], stdin=stdin, stdout=stdout,
                        stderr=subprocess.STDOUT, env={**sanitizer_env(folder), "TERM": "xterm"})
        started.append(process)
        if out:
            stdout.close()
        else:
            screens.append(screen)
        return process, screen
    yield begin
    for process in started:
        end(process)
    for screen in screens:
        screen.close()
    assert not sanitizer_reports(folder)


def order(sidecar, *words):
    outcome = subprocess.run([build() / "zkleader", "-s", sidecar.socket, *words], capture_output=True, text=True,
                             timeout=30, check=False)
    assert outcome.returncode == 0, outcome


def test_tasks_is_redrawn_in_place_as_things_change(pair, start, zk):
    old, new = pair
    process, screen = start(old, "tasks", "--watch")
    wait_until(lambda: re.search(rf"^{TASK} .* following +-$", screen.read(), re.M), what="the table")
    assert screen.read().startswith("2 tasks: 2 led, 0 of them here\n"
                                    "2.1: 1 of 2 workers, leads 2 of 2 tasks; 1.9: 1 worker, leads 0\n\nTASK ")
    order(new, "pause", TASK, "--reason", "incident 17")
    wait_until(lambda: re.search(rf"^{TASK} .* paused +-$", screen.read(), re.M), what="the pause")
    wait_until(lambda: f"\n{TASK}: paused by root at " in screen.read() and ": incident 17" in screen.read(),
               what="who paused it")
    order(old, "resume", TASK)
    new.stop()
    wait_until(lambda: len(re.findall(r"^\S+ .* leading +-$", screen.read(), re.M)) == 2, what="this node leads both")
    wait_until(lambda: "paused" not in screen.read() and "2.1" not in screen.read(), what="nothing is left of it")
    assert screen.read().count("TASK ") == 1, screen.lines
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    screen.read()
    assert screen.column == 0 and screen.row == len(screen.lines) - 1 and screen.lines[-1] == "", screen.lines


def test_what_this_node_is_shows_without_news_from_the_fleet(pair, start):
    old, _ = pair
    process, screen = start(old, "tasks", "--watch", TASK)
    wait_until(lambda: "following" in screen.read(), what="the table")
    old.stop()
    wait_until(lambda: "closed the connection" in screen.read() or "no sidecar" in screen.read(), what="it is missed")
    assert TASK in screen.read(), "what was known stays"
    old.start()
    wait_until(lambda: "following" in screen.read() and "no sidecar" not in screen.read(), what="it is back")
    assert screen.read().count("TASK ") == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


@pytest.fixture
def many(fleet):
    one = fleet.sidecar("one", tasks=[f"task-{i}" for i in range(30)])
    wait_until(lambda: one.status()["leads"] == 30, what="it leads all")
    return one


def test_a_table_that_is_too_long_is_cut_and_follows_the_size(many, start):
    process, screen = start(many, "tasks", "--watch", rows=12)
    wait_until(lambda: screen.read().endswith("\n1-8 of 30"), what="the first of them")
    assert len(screen.lines) == 12 and "\ntask-7 " in screen.read() and "\ntask-8 " not in screen.read()
    for rows, columns in ((40, 100), (7, 30), (2, 20), (3, 300), (5, 80)):
        screen.resize(rows, columns)
        process.send_signal(signal.SIGWINCH)
        size = 30 if rows == 40 else max(1, rows - 4) if rows > 4 else rows - 2 if rows > 2 else 1

        def fits(rows=rows, size=size):  # what is read may be drawn in part
            shown = screen.read()
            return len(re.findall(r"^task-\d+ ", shown, re.M)) == size and shown.count("TASK ") == 1 \
                and len(screen.lines) <= rows
        wait_until(fits, what=f"as fits {rows} rows")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_lines_that_fill_their_rows_are_whole(fleet, start):
    name = "a-task-with-a-name-that-is-longer-than-a-row-of-the-terminal-" + "x" * 30
    one = fleet.sidecar("one", tasks=[name])
    wait_until(lambda: one.status()["leads"] == 1, what="it leads")
    _, screen = start(one, "tasks", "--watch", rows=12)
    wait_until(lambda: re.search(r"leading +-$", screen.read(), re.M), what="the table")
    [head] = [line for line in screen.read().splitlines() if line.startswith("TASK ")]
    assert len(head) == 80 and head.endswith(" LAST"), head


def test_the_rest_of_a_line_that_is_too_long_is_not_written_over_its_last_cell(many, start):
    _, screen = start(many, "tasks", "--watch", "task-1", rows=12)
    reason = "0123456789" * 12 + "X"
    order(many, "pause", "task-1", "--reason", reason)
    wait_until(lambda: "task-1: paused by" in screen.read(), what="the pause")
    wait_until(lambda: [line for line in screen.read().splitlines() if len(line) == 80 and line.startswith("task-1: ")],
               what="the line in full")
    [line] = [line for line in screen.lines if line.startswith("task-1: ")]
    assert re.search(r": 0123456789[0-9]*[~…]$", line) and line[-2] == str((int(line[-3]) + 1) % 10), line
    screen.resize(12, 30)
    wait_until(lambda: [line for line in screen.read().splitlines() if re.fullmatch(r"task-1: paused.*[~…]", line)
                        and len(line) == 30], what="the same on a narrow terminal")


def test_keys_scroll_and_filter(many, start):
    process, screen = start(many, "tasks", "--watch", rows=12, keys=True)
    first = lambda: (re.findall(r"^(task-\d+) ", screen.read(), re.M) or [None])[0]  # noqa: E731

    def press(keys, then):
        os.write(screen.ours, keys)
        wait_until(lambda: first() == then, what=f"{keys} shows {then}")
    before = termios.tcgetattr(screen.theirs)[3]
    wait_until(lambda: screen.read().endswith("\n1-8 of 30  arrows and page keys scroll, / filters, q ends"), what="help")
    for keys, then in ((b"\x1b[B", "task-1"), (b"\x1b[B\x1b[B", "task-3"), (b"\x1b[A", "task-2"),
                       (b"\x1b[6~", "task-9"), (b"\x1b[F", "task-22"), (b"\x1b[6~j ", "task-22"),
                       (b"\x1b[5~", "task-15"), (b"\x1b[99~\x1b[H", "task-0"), (b"/k-2", "task-2")):
        press(keys, then)
    assert screen.read().startswith("30 tasks: 30 led, 30 of them here; 11 shown\n") and "/k-2_" in screen.read()
    press(b"\x7f\x7f-17\r", "task-17")
    wait_until(lambda: screen.read().endswith("\n1 of 30  /k-17"), what="one is left")
    press(b"/x", None)
    assert "no task matches" in screen.read()
    press(b"\x1b", "task-0")
    os.write(screen.ours, b"q")
    assert process.wait(60) == 0
    assert "\ntask-0 " in screen.read() and screen.normal is None, "what was shown stays"
    assert termios.tcgetattr(screen.theirs)[3] & (termios.ICANON | termios.ECHO), before


def test_it_ends_when_nobody_reads_on(pair, start, folder):
    old, _ = pair
    for words in (["tasks", "--watch"], ["list", "--watch"], ["--json", "tasks", "--watch"], ["watch"], ["--json", "watch"]):
        process = spawn([build() / "zkleader", "-s", old.socket, *words], stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=sanitizer_env(folder))
        if "--watch" in words:
            assert process.stdout.readline()
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (0, b""), words
        process.stderr.close()


def test_list_shows_who_is_drained(pair, start):
    old, new = pair
    process, screen = start(old, "list", "--watch")
    wait_until(lambda: screen.read().count(" active ") == 2, what="the table")
    order(new, "drain", "--reason", "new kernel", "--for", "1h")
    wait_until(lambda: " drained " in screen.read() and ": new kernel" in screen.read(), what="the drain")
    wait_until(lambda: screen.read().startswith("2.1: 1 of 2 workers (1 drained), leads 0 of 2 tasks; "
                                                "1.9: 1 worker, leads 2\n\n"), what="how far the rollout is")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_off_a_terminal_there_is_a_table_for_each_change(pair, start, folder):
    old, new = pair
    table, lines = folder / "table", folder / "lines"
    first, _ = start(old, "tasks", "--watch", out=table)
    second, _ = start(old, "--json", "tasks", "--watch", "cleanup", out=lines)
    wait_until(lambda: table.read_text().count("TASK ") == 1 and lines.read_text().count("\n") == 1, what="a table each")
    order(new, "pause", "cleanup")
    wait_until(lambda: "cleanup: paused by root" in table.read_text(), what="a table with the pause")
    assert "\x1b" not in table.read_text() and "\n\nTASK " in table.read_text()
    wait_until(lambda: json.loads(lines.read_text().splitlines()[-1])[0]["state"] == "paused", what="and as JSON")
    for process in (first, second):
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    for line in lines.read_text().splitlines():
        assert [t["task"] for t in json.loads(line)] == ["cleanup"]


def test_ages_grow_without_news(pair, start):
    old, new = pair
    process, screen = start(old, "tasks", "--watch")
    wait_until(lambda: "following" in screen.read(), what="the table")
    order(new, "pin", "cleanup", "2.1")
    wait_until(lambda: "pinned to version 2.1 by root" in screen.read(), what="a pin")
    ages = []

    def age_of_the_pin():
        age = re.search(r"pinned to version 2.1 by root at \S+ (\S+) ago", screen.read())[1]
        ages.append(age) if age not in ages else None
        return len(ages) >= 4
    wait_until(age_of_the_pin, what="the age is shown as it grows")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_misuse_and_no_sidecar_end_it(pair, program, folder):
    old, _ = pair
    refused = program("zkleader", "-s", old.socket, "tasks", "--watch", "unknown")
    assert refused.code == 3 and refused.out == "" and "unknown task" in refused.err
    absent = program("zkleader", "-s", folder / "none", "list", "--watch")
    assert absent.code == 2 and absent.out == "" and "no sidecar" in absent.err
