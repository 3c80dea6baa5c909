"""The role of docs/ansible, by Debian's Ansible, on two machines of their own: one after the other, and a second run
changes nothing. The tests build on one another, in this order."""
import json
import os
import re
import shutil
import subprocess

import pytest
import yaml

from debs import NEXT, ROOT, VERSION, renumbered
from harness.server import Tree
from harness.waiting import wait_until
from machine import ENV, Machine

FOLDER = ROOT / "docs/ansible"
pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="debootstrap needs root"),
              pytest.mark.skipif(not shutil.which("ansible-playbook"), reason="ansible-core is not here"),
              pytest.mark.seconds(1800)]
TASK = 'task "nightly-report" {\n}\n'


@pytest.fixture(scope="module")
def zk(shared_server):
    return Tree(shared_server)


class Fleet:
    """Two machines, and what Ansible is told about them."""

    def __init__(self, folder, zk, debs):
        release = os.environ.get("RELEASE", "bookworm")
        self.folder = folder
        self.log = folder / "ansible.log"
        one = Machine(folder, release, ",python3")
        self.machines = {"one": one, "two": Machine(folder, release, like=one)}
        self.booted = all([machine.boot() for machine in self.machines.values()])
        self.vars = {
            "zkleader_debs": str(debs[0].parent), "zkleader_release": VERSION,
            "zkleader_packages": ["zkleader", "zkleader-runner"], "zkleader_services": ["zkleader-runner@daemon"],
            "zkleader_config": {"zookeeper": zk.server.address, "root": zk.root, "version": "1.0", "session-timeout": "30s",
                                "recipe-users": ["root", "daemon"], "tls": False, "health-fall": 2,
                                "node": "{{ inventory_hostname }}"},
            "zkleader_tasks": {"nightly-report": TASK}, "zkleader_tasks_only": True, "zkleader_healthy_within": 120}

    def play(self, **more):
        """(what Ansible did of each machine, its exit code, what it said)"""
        hosts = {name: {"ansible_connection": "machine", "machine_leader": machine.leader,
                        "ansible_python_interpreter": "/usr/bin/python3"} for name, machine in self.machines.items()}
        inventory = self.folder / "inventory.json"
        inventory.write_text(json.dumps({"zkleader": {"hosts": hosts, "vars": {**self.vars, **more}}}), encoding="utf-8")
        env = {**ENV, "ANSIBLE_CONNECTION_PLUGINS": str(ROOT / "tests/deb/connection"), "ANSIBLE_NOCOLOR": "1",
               "ANSIBLE_LOCAL_TEMP": str(self.folder / "tmp"), "ANSIBLE_PIPELINING": "1", "ANSIBLE_RETRY_FILES_ENABLED": "0"}
        done = subprocess.run(["ansible-playbook", "-i", inventory, FOLDER / "site.yml"], env=env, cwd=self.folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1500, check=False)
        recap = {m[1]: dict((k, int(v)) for k, v in re.findall(r"(\w+)=(\d+)", m[2]))
                 for m in re.finditer(r"^(one|two) +: (.*)$", done.stdout, re.M)}
        return recap, done.returncode, done.stdout

    def changed(self, **more):
        """How much was changed on each machine, in a play that has to succeed; told in their order."""
        recap, code, said = self.play(**more)
        assert code == 0 and all(r["failed"] == r["unreachable"] == 0 for r in recap.values()), said
        hosts = re.findall(r"^(?:ok|changed): \[(one|two)\]", said, re.M)
        assert hosts == sorted(hosts), "one host after the other"
        return [recap[name]["changed"] for name in ("one", "two")]

    def programs(self):
        """The pid of each sidecar."""
        return [machine.pid("zkleaderd") for machine in self.machines.values()]

    def close(self):
        for machine in self.machines.values():
            machine.close()


@pytest.fixture(scope="module")
def hosts(base_folder, zk, debs):
    made = Fleet(base_folder, zk, debs)
    if made.booted:
        yield made
        made.close()
    else:
        made.close()
        pytest.skip("systemd-nspawn cannot boot a machine here")


def test_the_example_is_one_of_the_role():
    """Its variables are the role's."""
    known = yaml.safe_load((FOLDER / "roles/zkleader/defaults/main.yml").read_text(encoding="utf-8"))
    example = yaml.safe_load((FOLDER / "inventory.example.yml").read_text(encoding="utf-8"))
    assert set(example["zkleader"]["vars"]) <= set(known)
    assert known["zkleader_release"] == VERSION
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in known if f"`{name}`" not in readme] == []
    play, = yaml.safe_load((FOLDER / "site.yml").read_text(encoding="utf-8"))
    assert play["serial"] == 1 and play["max_fail_percentage"] == 0


def test_a_new_fleet_and_again(hosts, zk):
    assert min(hosts.changed()) > 0
    for machine in hosts.machines.values():
        assert machine.run("systemctl is-enabled zkleaderd").strip() == "enabled"
        assert machine.run("systemctl is-active zkleader-runner@daemon").strip() == "active"
        assert "one" in machine.run("zkleader list") and "two" in machine.run("zkleader list")
    wait_until(lambda: "nightly-report" in zk.tokens(), what="the task is led")
    programs = hosts.programs()
    assert hosts.changed() == [0, 0], "the second run changes nothing"
    assert hosts.programs() == programs


def test_task_files(hosts):
    """They come and go without a restart."""
    programs = hosts.programs()
    tasks = {"zkleader_tasks": {"send-mails": 'task "send-mails" {\n}\n'}}
    assert min(hosts.changed(**tasks)) > 0
    for machine in hosts.machines.values():
        wait_until(lambda m=machine: "nightly-report" not in m.run("zkleader tasks"), what="it has gone")
        assert "send-mails" in machine.run("zkleader tasks")
    assert hosts.changed(**tasks) == [0, 0]
    assert min(hosts.changed()) > 0 and hosts.programs() == programs


def test_an_upgrade_moves_nothing(hosts, zk, debs):
    wait_until(lambda: "nightly-report" in zk.tokens(), what="the task is led")
    programs, tokens = hosts.programs(), zk.tokens()
    renumbered(debs, hosts.folder / "next")
    hosts.vars.update(zkleader_debs=str(hosts.folder / "next"), zkleader_release=NEXT)
    assert min(hosts.changed()) > 0
    assert zk.tokens() == tokens
    for machine, before in zip(hosts.machines.values(), programs):
        assert machine.run("dpkg-query -W -f '${Version}' zkleader") == NEXT
        assert machine.pid("zkleaderd") != before, "the new one runs"
        for unit in ("zkleaderd", "zkleader-runner@daemon"):
            assert "deleted" not in machine.run(f"readlink /proc/{machine.pid(unit)}/exe")
    assert hosts.changed() == [0, 0]


def test_another_configuration_moves_nothing(hosts, zk):
    tokens, programs = zk.tokens(), hosts.programs()
    hosts.vars["zkleader_config"]["stop-wait"] = "1s"
    assert min(hosts.changed()) > 0
    assert zk.tokens() == tokens and not set(hosts.programs()) & set(programs)
    assert hosts.changed() == [0, 0]


def test_a_mistake_stops_at_the_first_host(hosts, zk):
    """What is there stays and goes on."""
    tokens, programs = zk.tokens(), hosts.programs()
    before = [machine.run("cat /etc/zkleader/zkleader.conf") for machine in hosts.machines.values()]
    recap, code, said = hosts.play(zkleader_config={**hosts.vars["zkleader_config"], "yield-dealy": "1s"})
    assert code != 0 and recap["one"]["failed"] == 1 and "two" not in recap, said
    assert "yield-dealy" in said and "yield-delay" in said, "the sidecar's own words"
    assert [machine.run("cat /etc/zkleader/zkleader.conf") for machine in hosts.machines.values()] == before
    assert zk.tokens() == tokens and hosts.programs() == programs


def test_nobody_follows_a_host_that_is_not_healthy(hosts):
    before = hosts.machines["two"].run("cat /etc/zkleader/zkleader.conf")
    config = {**hosts.vars["zkleader_config"], "zookeeper": "127.0.0.1:1"}
    recap, code, said = hosts.play(zkleader_config=config, zkleader_healthy_within=4)
    assert code != 0 and recap["one"]["failed"] == 1 and "two" not in recap, said
    assert hosts.machines["two"].run("cat /etc/zkleader/zkleader.conf") == before
    assert "Healthy    yes" in hosts.machines["two"].run("zkleader status")
    assert min(hosts.changed()) >= 0, "and all is well again"
