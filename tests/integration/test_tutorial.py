"""The tutorial and the answers: every command is run as it stands, in order, and prints what the page says."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from harness.pages import Shell, commands, fits
from harness.server import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LONGEST = 15  # lines of an answer
# Programs that the machines of the answers have and this one has not: a command over ssh is one beside that host's socket.
STANDINS = {
    "ssh": 'while [ "${1#-}" != "$1" ]; do shift; done\nhost=$1\nshift\n'
           'ZKLEADER_SOCKET=$HOSTS/$host.sock exec sh -c "$*"\n',
    "sudo": 'exec "$@"\n', "scp": "", "apt-get": "", "systemctl": "",
}


@pytest.fixture
def shell(folder):
    """shell(**kwargs): of the user that the test says; the page's ports are free ones of ours."""
    made = []
    os.chmod(folder.parent, 0o711)

    def of(**kwargs):
        home = folder / f"{len(made)}"
        home.mkdir()
        home.chmod(0o1777)
        ports = {"22181": str(free_port()), "9467": str(free_port())}
        made.append(Shell(home, ports, {"TMPDIR": str(home)}, **kwargs))
        return made[-1]

    yield of
    for one in made:
        one.close()


def needs_root(title):
    return title.startswith(("6.", "7."))


def test_the_commands_of_a_page_are_found():
    page = "## 1. One\n```\n$ cat >x <<END\n> a\n>\n> END\n$ b\nsays\n> this\n```\n\n$ no block\n```\nno command\n```\n"
    assert commands(page) == [(3, "1. One", "cat >x <<END\na\n\nEND", []), (7, "1. One", "b", ["says", "> this"])]


@pytest.mark.parametrize("printed, shown, good", [
    (["a  b"], ["a b"], True), (["a", "b"], ["a"], False), ([], ["a"], False), (["a"], [], False), (["a", ""], ["a"], True),
    (["in 12ms, 2s ago"], ["in 3m4s, 1h ago"], True), (["2 tasks"], ["3 tasks"], False), (["host2"], ["host3"], False),
    (["2026-11-29T04:10:45Z"], ["2025-01-01T00:00:00+00:00"], True), (["id 0a1b2c3d"], ["id deadbee1"], True),
    (["A TOKEN C", "a 17 1", "b 3 2"], ["A TOKEN C", "a 2 1", "b 9 2"], True), (["A TOKEN", "a 1", "x 7"], ["A", "a 1", "x 8"], False),
    (["a", "x", "y", "b"], ["a", "…", "b"], True), (["a", "x", "c"], ["a", "…", "b"], False), (["axb"], ["a…b"], True),
    (["by me at home: why"], ["by root at laptop: why"], True), (["by me at home: why"], ["by root at laptop: how"], False),
])
def test_what_may_differ(printed, shown, good):
    assert fits(printed, shown) == good


def test_a_page_that_says_something_else_is_found(shell, folder):
    page = folder / "page.md"
    for text, good in (("$ echo a\na\n", True), ("$ echo a\nb\n", False), ("$ echo a; false\na\n", False), ("$ exit 0\n", False)):
        page.write_text(f"```\n{text}```\n")
        try:
            shell().follow(page)
            assert good, text
        except AssertionError:
            assert not good, text


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: runners trust no other's files")
def test_the_tutorial(shell):
    shell().follow(DOCS / "TUTORIAL.md")


def test_the_tutorial_without_root(shell):
    user = "nobody" if os.geteuid() == 0 else None
    shell(user=user).follow(DOCS / "TUTORIAL.md", lambda title: not needs_root(title))


def answers():
    """(title, lines) of each answer."""
    _, *sections = (DOCS / "ANSWERS.md").read_text(encoding="utf-8").split("\n## ")
    return [(section.splitlines()[0], [line for line in section.splitlines()[1:] if line]) for section in sections]


def test_an_answer_has_fifteen_lines_and_a_command():
    assert len(answers()) >= 11
    for title, lines in answers():
        told = [line for line in lines if not line.startswith("```")]
        assert len(told) <= LONGEST, title
        assert any(line.startswith("$ ") for line in told), title
        anchor = re.sub(r"[^a-z -]", "", title.lower()).replace(" ", "-")
        assert f"(#{anchor})" in (DOCS / "ANSWERS.md").read_text(encoding="utf-8"), f"{anchor} is not in the contents"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: runners trust no other's files")
def test_the_answers(shell):
    one = shell()
    bin_of, script = one.folder / "bin", "#!/bin/sh\n"
    bin_of.mkdir()
    for name, text in STANDINS.items():
        (bin_of / name).write_text(script + text)
        (bin_of / name).chmod(0o755)
    one.follow(DOCS / "TUTORIAL.md", lambda title: title.startswith(("1.", "2.")))
    for command in (f"export HOSTS=$PWD PATH={bin_of}:$PATH; seq -f host%g 3 >hosts; echo 1.5.0 >VERSION2",
                    "for n in 1 2 3; do zkleader-runner -s host$n.sock -c host$n.conf 2>runner$n.log & done",
                    "until zkleader-check -s host2.sock nightly-report; do sleep 0.1; done"):
        assert one.run(command) == ([], 0)
    java = shutil.which("javac") and shutil.which("jar")
    if java:
        subprocess.run(["make", "-s", "-C", ROOT, "java-jar"], check=True, stdout=subprocess.DEVNULL)
        assert one.run(f"cp {ROOT}/build/clients/java/zkleader.jar .") == ([], 0)
    one.follow(DOCS / "ANSWERS.md", lambda title: java or "Java" not in title)
