"""Recipes where they may not, or cannot: one clear line, exit code 2 or 3, and nothing is changed."""
import os
import subprocess

import pytest
from kazoo.security import make_acl

from harness.process import spawn
from harness.sidecar import build

NAME = "x"
# A command of each recipe, and the folder that it would write to.
WRITING = {
    "lock": (["lock", NAME, "--wait", "60s", "--", "true"], "locks"),
    "counter": (["counter", NAME, "+1"], "counters"),
    "barrier": (["barrier", NAME, "--count", "1", "--timeout", "60s"], "barriers"),
    "join": (["join", NAME, "--count", "1", "--timeout", "60s", "--", "true"], "gangs"),
    "rolling": (["rolling", NAME, "--timeout", "60s", "--soak", "0s", "--", "true"], "rolling"),
}
OTHERS = [["index"], ["roster"], ["forget", "gone"], ["wait", "--workers", "1"], ["counter", NAME], ["locks"],
          ["rolling", NAME, "--status"], ["rolling", NAME, "--resume"], ["rolling", NAME, "--release", "gone"],
          ["rolling", NAME, "--finish"]]
FOLDERS = [folder for _, folder in WRITING.values()]


@pytest.fixture
def zkleader(program):
    def run(sidecar, *args, **kwargs):
        return program("zkleader", "-s", sidecar.socket, *args, **kwargs)
    return run


def tree(zk):
    """All below the recipes' folders, with their versions."""
    found = {}

    def look(path):
        if stat := zk.client.exists(path):
            found[path] = stat.version
            for name in zk.client.get_children(path):
                look(f"{path}/{name}")
    for folder in FOLDERS:
        look(f"{zk.root}/{folder}")
    return found


def one_line(err):
    """rolling says before that it waits."""
    lines = [line for line in err.splitlines() if "waiting for a slot" not in line]
    return len(lines) == 1 and lines[0].startswith("zkleader: ")


def test_no_rights(fleet, zk, folder, base_folder):
    for path in (base_folder, folder):
        path.chmod(0o755)
    one = fleet.sidecar("one")
    one.folder.chmod(0o755)
    before = tree(zk)
    for words in [*(words for words, _ in WRITING.values()), *OTHERS]:
        process = spawn(["setpriv", "--reuid=nobody", "--clear-groups", build() / "zkleader", "-s", one.socket, *words],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (3, ""), (words, process.returncode, err)
        assert one_line(err) and "not allowed" in err and "recipe-users" in err, (words, err)
    assert tree(zk) == before


@pytest.mark.parametrize("where", ["folder", "root"])
@pytest.mark.parametrize("recipe", WRITING)
def test_the_server_refuses(fleet, zk, zkleader, recipe, where):
    """As with an ACL of somebody else's on the folder, or where that is to be; once it is taken away all goes well."""
    words, name = WRITING[recipe]
    path = f"{zk.root}/{name}" if where == "folder" else zk.root
    one = fleet.sidecar("one")
    zk.client.ensure_path(path)
    zk.client.set_acls(path, [make_acl("world", "anyone", read=True, admin=True)])
    before = tree(zk)
    refused = zkleader(one, *words)
    assert refused.code in (2, 3) and one_line(refused.err) and ("refused" in refused.err or "cannot be made" in refused.err), refused
    assert tree(zk) == before
    zk.client.set_acls(path, [make_acl("world", "anyone", all=True)])
    assert zkleader(one, *words).code == 0


def test_what_is_another_connections(fleet):
    """A number of a lock or a member counts on its own connection alone."""
    one = fleet.sidecar("one")
    with one.client() as owner:
        lock = owner.call("lock", NAME, {"id": os.urandom(16).hex()})["number"]
        member = owner.call("join", NAME, {"id": os.urandom(8).hex(), "count": 1})["number"]
        with one.client() as other:
            for method, params in (("lock_renew", [lock]), ("lock_finish", [lock]), ("join_renew", [member]),
                                   ("join_finish", [member, {"interrupted": False}])):
                with pytest.raises(Exception) as refused:
                    other.call(method, *params)
                assert getattr(refused.value, "code", None) in (2, 3), (method, refused.value)
        assert owner.call("lock_renew", lock)["leads"] and owner.call("join_renew", member)["leads"]


@pytest.mark.parametrize("recipe", WRITING)
def test_something_else_is_in_the_folders_place(fleet, zk, zkleader, recipe):
    """The folder has data of somebody's, and in it a znode that is no recipe's: both stay, and it works beside them."""
    words, name = WRITING[recipe]
    path = f"{zk.root}/{name}"
    one = fleet.sidecar("one")
    zk.client.create(path, b"mine", makepath=True)
    zk.client.create(f"{path}/not a name", b"mine")
    assert zkleader(one, *words).code == 0
    assert zk.client.get(path)[0] == zk.client.get(f"{path}/not a name")[0] == b"mine"


@pytest.mark.parametrize("recipe", WRITING)
def test_names(fleet, zk, zkleader, recipe):
    words, _ = WRITING[recipe]
    one = fleet.sidecar("one")
    before = tree(zk)
    for name in ("", ".", "..", "a/b", "-a", "_a", "a b", "ä", "a\n", "x" * 101):
        wrong = zkleader(one, *(word if word != NAME else name for word in words))
        assert wrong.code == 3 and one_line(wrong.err), (name, wrong)
    assert tree(zk) == before
    longest = "x" * 100
    assert zkleader(one, *(word if word != NAME else longest for word in words)).code == 0
