"""The table of promises in docs/SAFETY.md, and what `make prove` makes of it."""
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
_loader = importlib.machinery.SourceFileLoader("prove", str(ROOT / "tests/prove"))
_spec = importlib.util.spec_from_loader("prove", _loader)
prove = importlib.util.module_from_spec(_spec)
_loader.exec_module(prove)


def test_each_row_is_read():
    text = (ROOT / "docs/SAFETY.md").read_text(encoding="utf-8")
    section = text.split("## Each promise is a command\n")[1].split("\n## ")[0]
    assert len(prove.promises()) == len(re.findall(r"^\| ", section, re.M)) - 2 > 20


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for _, c, s in prove.promises() if "pytest" in c and s <= prove.SECONDS_MAX])
def test_each_command_selects_tests(command):
    r = subprocess.run(["sh", "-c", f"PATH=/usr/bin:$PATH {command.replace(' -n 4', '')} --collect-only"], cwd=ROOT,
                       capture_output=True, text=True, timeout=60, check=False)
    assert r.returncode == 0, r.stdout[-1000:] + r.stderr[-1000:]


def test_what_does_not_hold_is_told(capsys):
    assert not prove.prove("no two leaders", "echo measured: two of them; exit 1")
    assert capsys.readouterr().out.startswith("FAIL no two leaders: echo measured: two of them; exit 1: measured: two of them (0 s)\n")
    assert prove.prove("no two leaders", "echo 3 seeds, 0 violations, ok")
    assert capsys.readouterr().out == "ok   no two leaders: echo 3 seeds, 0 violations, ok: 3 seeds, 0 violations, ok (0 s)\n"


def test_what_oracles_measured_is_summed():
    line = "measured: {} answers in 4.3 s, 642 yes, {} tokens, {} s led twice, at most {} s led by nobody\n"
    out = line.format(100, 3, 0, 0.86) + line.format(50, 2, 0.5, 0.2) + "2 passed, 4 deselected in 13.64s\n"
    assert prove.seen(out) == "2 passed, 4 deselected: 150 answers, 5 tokens, 0.5 s led twice, nobody for 0.86 s at most"
