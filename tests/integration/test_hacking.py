"""The steps in docs/HACKING.md for a new command, method and key are enough: a copy of the tree gets one of each, is
built, and answers."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from harness.sidecar import build

ROOT = pathlib.Path(__file__).resolve().parents[2]

COMMAND = """#include "api/json.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"

static int run(struct context *c)
{
	json_auto_t *result = NULL;
	int code = ask(c, "hello", JSON_OBJECT, &result);

	if (code != 0)
		return code;
	if (c->output.json)
		output_json(&c->output, result);
	else
		output_line(&c->output, COLOR_NONE, "hello from %s", json_text(result, "node", "-"));
	return ZKLEADER_OK;
}

const struct command command_hello = {.name = "hello", .args = "", .help = "say hello", .run = run};
"""
METHOD = """
void method_hello(struct call *call)
{
	struct pack *p = call_result(call);

	pack_map(p, 1);
	pack_kv_str(p, "node", call->m->node->settings->name);
	call_end(call);
}
"""
KEY = """	{"greeting", SETTING_TEXT, "hello", "what is said", 0, 0, NULL},
"""


def insert(file, before, text):
    content = file.read_text(encoding="utf-8")
    assert content.count(before) == 1, f"{file}: {before}"
    file.write_text(content.replace(before, text + before), encoding="utf-8")


@pytest.fixture
def tree(folder, monkeypatch):
    """A copy of the tree and of what is built, so that only what changes is compiled."""
    there, made = folder / "tree", build()
    for name in ("src", "include", "debian"):
        shutil.copytree(ROOT / name, there / name)
    for file in (ROOT / "Makefile", *(ROOT / "tests").rglob("*.mk"), *(ROOT / "clients").rglob("*.mk")):
        (there / file.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, there / file.relative_to(ROOT))
    shutil.copytree(made, there / "build" / made.name, ignore=shutil.ignore_patterns("unit", "plain", "tests"))
    monkeypatch.setenv("ZKLEADER_BUILD", str(there / "build" / made.name))
    return there


@pytest.mark.slow
def test_a_command_a_method_and_a_key_are_added_in_a_step_each(tree, fleet, program):
    (tree / "src/cli/look/hello.c").write_text(COMMAND, encoding="utf-8")
    insert(tree / "src/cli/ui/command.h", "X(help)", "X(hello) ")
    with open(tree / "src/control/checks.c", "a", encoding="utf-8") as file:
        file.write(METHOD)
    insert(tree / "src/control/checks.h", "void method_tasks(", "void method_hello(struct call *call);\n")
    insert(tree / "src/control/dispatch.c", '\t{"tasks", method_tasks,', '\t{"hello", method_hello, ANYBODY, 0, 0, NULL},\n')
    insert(tree / "src/config/config.c", '\t{"session-timeout", SETTING_DURATION', KEY)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    made = subprocess.run(["make", "-s", "-j2", f"VARIANT={build().name}", "all"], cwd=tree, env=env, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert made.returncode == 0, made.stdout
    one = fleet.sidecar("one", greeting="good day")
    said = program("zkleader", "-s", one.socket, "hello")
    assert said.code == 0 and said.out.startswith("hello from "), said
    assert json.loads(program("zkleader", "-s", one.socket, "--json", "hello").out)["node"]
    assert "say hello" in program("zkleader", "help").out
