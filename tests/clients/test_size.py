"""That the clients are small: whoever takes one into a program has to be able to read it."""
import ast
import pathlib

import pytest

CLIENTS = pathlib.Path(__file__).resolve().parents[2] / "clients"
LINES_MAX = 1200
SHIPPED = {"go": ["go/*.go"], "java": ["java/src/**/*.java"], "node": ["node/*.js", "node/*.ts", "node/lib/*.js"],
           "python": ["python/zkleader/*.py"]}


def docstrings(text):
    """The numbers of their lines, from 0 on."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            yield from range(node.body[0].lineno - 1, node.body[0].end_lineno)


def lines(path):
    """Those that are neither empty nor a comment."""
    text = path.read_text(encoding="utf-8")
    left_out = set(docstrings(text)) if path.suffix == ".py" else set()
    stripped = [line.strip() for n, line in enumerate(text.splitlines()) if n not in left_out]
    return sum(bool(line) and not line.startswith(("*", "/*", "//", "#")) for line in stripped)


@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_small(name):
    found = {p for pattern in SHIPPED[name] for p in CLIENTS.glob(pattern) if not p.name.endswith("_test.go")}
    assert found and sum(map(lines, found)) < LINES_MAX
