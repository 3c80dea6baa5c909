"""The packages on a machine of their own, from the first start by README's words to the purge. The tests of a release
build on one another, in this order."""
import os
import re
import resource
import shutil
import subprocess
import time

import pytest

from debs import NEXT, ROOT, VERSION, make, renumbered
from harness.release import FIRST, built
from harness.server import Tree
from harness.sidecar import Sidecar, settings, task_text
from harness.waiting import wait_until
from machine import Machine

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="debootstrap needs root"), pytest.mark.seconds(1800)]

SESSION = "30s"  # longer than all that is to be at once
INSTALL_S = 60   # of processor time for all packages on a fresh Debian, as others may be at work
UNITS = ("zkleaderd", "zkleader-web", "zkleader-notify", "zkleader-runner@app", "zkleaderd@other", "zkleader-rolling@group")
WORK = """#!/bin/sh
echo $$ >pid
until [ -e end ]; do sleep 0.1; done
"""


@pytest.fixture(scope="module")
def zk(shared_server):
    return Tree(shared_server)


@pytest.fixture(scope="module", params=[os.environ.get("RELEASE", "bookworm")])
def machine(request, debs, base_folder):
    made = Machine(base_folder, request.param)
    made.write("/etc/apt/apt.conf.d/90test", 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n')
    made.write("/usr/local/bin/work", WORK)
    (made.root / "usr/local/bin/work").chmod(0o755)
    shutil.copytree(debs[0].parent, made.root / "root/build/deb", ignore=shutil.ignore_patterns("log", "lock"))
    made.booted = made.boot()
    if made.booted:
        made.run("apt-get update -q")
    yield made
    made.close()


@pytest.fixture
def booted(machine):
    if not machine.booted:
        pytest.skip("systemd-nspawn cannot boot a machine here")
    return machine


def configuration(zk):
    return settings({"zookeeper": zk.server.address, "version": "2.0", "root": zk.root, "session_timeout": SESSION})


TASK = task_text("nightly-report")
SCHEDULED = task_text("work", schedule="0 0 1 1 *", user="app", command=["/usr/local/bin/work"])


def readme():
    """The commands of its first way to install, as a shell gets them."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Install\n")[1].split("\n## ")[0]
    block = re.search(r"(?:^    .*\n)+", section, re.M)[0]
    return [re.sub(r"\s+#.*", "", line.strip()) for line in block.splitlines()]


def healthy(machine):
    return "Healthy    yes" in machine.try_run("zkleader status").stdout


def test_first_start_by_the_words_of_the_readme(booted, zk):
    words = readme()
    assert words[0] == "make deb" and len(words) == 6
    out = booted.run(words[1])
    assert "nothing has been started" in out and "/etc/zkleader/zkleader.conf" in out and "enable --now zkleaderd" in out
    assert booted.try_run("systemctl is-enabled zkleaderd").stdout.strip() == "disabled"
    assert booted.try_run("systemctl is-active zkleaderd").stdout.strip() == "inactive"
    assert booted.run("getent passwd zkleader").split(":")[6].strip() == "/usr/sbin/nologin"
    assert words[2] == "sudo editor /etc/zkleader/zkleader.conf"
    assert booted.try_run("sudo -u zkleader zkleaderd -t").returncode == 78, "it is refused as it is shipped"
    booted.write("/etc/zkleader/zkleader.conf", configuration(zk))
    booted.write("/etc/zkleader/conf.d/nightly-report.conf", TASK)
    for line in words[3:5]:
        booted.run(line)
    wait_until(lambda: healthy(booted), what="the sidecar is healthy")
    booted.run(words[5])
    booted.run("zkleader-check --wait 30s nightly-report")


def test_all_packages(booted):
    """None starts anything, and the units find their programs."""
    out = booted.run("apt-get install ./build/deb/*.deb 2>&1")
    for package in ("zkleader-runner", "zkleader-web", "zkleader-notify"):
        assert f"{package}: nothing has been started" in out
    for unit in UNITS[1:]:
        assert booted.try_run(f"systemctl is-active {unit}").stdout.strip() == "inactive", unit
        assert booted.try_run(f"systemctl is-enabled {unit}").stdout.strip() == "disabled", unit
    booted.run("useradd -m app")
    booted.write("/etc/zkleader/conf.d/work.conf", SCHEDULED)
    booted.run("systemctl enable --now zkleader-runner@app zkleader-web zkleader-notify")
    for unit in ("zkleader-runner@app", "zkleader-web", "zkleader-notify"):
        assert booted.run(f"systemctl is-active {unit}").strip() == "active"
    assert booted.run("ldconfig -p | grep -c libzkleader.so.0").strip() == "1"
    for completion in ("bash-completion/completions/zkleader", "zsh/vendor-completions/_zkleader",
                       "fish/vendor_completions.d/zkleader.fish"):
        assert (booted.root / "usr/share" / completion).exists()


def test_units(booted):
    """ExecCondition, the watchdog, and a restart that moves nothing."""
    booted.run("cp /usr/share/doc/zkleader/examples/nightly-report.* /etc/systemd/system/ && systemctl daemon-reload")

    def journal():
        return booted.run("journalctl -u nightly-report -o cat")
    booted.run("systemctl start nightly-report")
    wait_until(lambda: "Finished" in journal(), what="it has run")
    assert "Skipped due to 'exec-condition'" not in journal()
    booted.run("zkleader pause nightly-report")
    wait_until(lambda: booted.try_run("zkleader-check nightly-report").returncode == 4, what="nobody may lead it")
    booted.try_run("systemctl start nightly-report")
    wait_until(lambda: "Skipped due to 'exec-condition'" in journal(), what="it was skipped")
    booted.run("zkleader resume nightly-report && rm /etc/systemd/system/nightly-report.*")
    pid = booted.pid("zkleaderd")
    booted.run(f"kill -STOP {pid}")
    wait_until(lambda: booted.pid("zkleaderd") not in (0, pid), 150, "systemd has started another one")
    assert booted.run("systemctl show -P NRestarts zkleaderd").strip() == "1"
    wait_until(lambda: healthy(booted), what="it is healthy again")


def test_an_upgrade_moves_nothing(booted, zk, debs):
    wait_until(lambda: {"nightly-report", "work"} <= set(zk.tokens()), what="all is led")
    wait_until(lambda: booted.try_run("zkleader trigger work").returncode == 0, what="it is accepted")
    home = booted.root / "home/app"
    job = int(wait_until(lambda: (home / "pid").read_text(encoding="ascii"), what="the job runs"))
    units = ("zkleaderd", "zkleader-runner@app", "zkleader-web", "zkleader-notify")
    before, tokens = [booted.pid(unit) for unit in units], zk.tokens()
    renumbered(debs, booted.root / "root/next")
    out = booted.run("apt-get install ./next/*.deb 2>&1")
    assert booted.run("dpkg-query -W -f '${Version}' zkleader") == NEXT
    assert "conffile" not in out.lower(), "the operator's file is kept without a question"
    assert booted.run("cat /etc/zkleader/zkleader.conf") == configuration(zk)
    assert [booted.pid(unit) for unit in units] == before and zk.tokens() == tokens
    assert "systemctl restart zkleaderd" in out and "systemctl restart zkleader-runner@USER" in out
    booted.run("systemctl restart " + " ".join(units))
    wait_until(lambda: healthy(booted), what="the new sidecar is healthy")
    for unit, pid in zip(units, before):
        assert booted.pid(unit) not in (0, pid), unit
        assert "deleted" not in booted.run(f"readlink /proc/{booted.pid(unit)}/exe"), "it is the new program"
    assert zk.tokens() == tokens
    assert "work" in booted.run(f"ps -o args= -p {job}")
    (home / "end").touch()
    wait_until(lambda: " ok " in booted.run("zkleader history work"), what="the run has ended well")


def test_remove_hands_over_at_once(booted, zk, base_folder):
    """What is left is the configuration; installed again, it starts by one command."""
    other = Sidecar(base_folder / "other", "other", zk, version="1.0", tasks=["nightly-report"], session_timeout=SESSION).start()
    try:
        assert not other.leads("nightly-report")
        pid = booted.pid("zkleaderd")
        booted.run("apt-get remove zkleader 2>&1")
        assert other.check("nightly-report", 5000)["leader"], "at once: by no timeout"
        assert booted.try_run(f"test -e /proc/{pid}").returncode != 0
    finally:
        assert other.stop() == 0
    assert booted.try_run("pgrep -f 'zkleader[d-]'").stdout == ""
    assert booted.run("cat /etc/zkleader/conf.d/work.conf") == SCHEDULED
    out = booted.run("apt-get install ./build/deb/zkleader_*.deb ./build/deb/zkleader-runner_*.deb 2>&1")
    assert "`systemctl enable --now zkleaderd` starts the sidecar" in out, "as it is configured"
    assert booted.try_run("systemctl is-active zkleaderd").stdout.strip() == "inactive"
    booted.run("systemctl enable --now zkleaderd")
    wait_until(lambda: healthy(booted), what="the sidecar is healthy")


def test_purge_leaves_the_user(machine):
    """And whatever was left, all can be installed anew, with what it needs: that is soon done."""
    if not machine.booted:
        machine.run("apt-get update -q && apt-get install ./build/deb/*.deb 2>&1")
    machine.run("apt-get purge 'zkleader*' 'libzkleader*' python3-zkleader 2>&1")
    assert machine.files() == []
    assert machine.run("getent passwd zkleader && getent group zkleader")
    assert machine.try_run("dpkg -l | grep zkleader").stdout == ""
    machine.run("apt-get autoremove --purge && apt-get clean")
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    out = machine.run("apt-get install ./build/deb/*.deb 2>&1")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"\nall packages: {time.monotonic() - started:.1f} s, {spent:.1f} s of processor time")
    assert spent < INSTALL_S
    assert "What to do" in out, "with the configuration that is shipped"
    assert machine.try_run("runuser -u zkleader -- zkleaderd -t").returncode == 78


def test_from_the_release_without_packages(booted, zk):
    """By OPERATIONS.md's words, from an installation of 0.1.0 at work. Who is not asked loses nothing, either."""
    booted.run("apt-get purge zkleader && apt-get install libzookeeper-mt2 libconfuse2 libuv1 2>&1")
    source = built(FIRST).parents[1]
    make("install", f"DESTDIR={booted.root}", cwd=source)
    booted.write("/etc/zkleader/zkleader.conf", configuration(zk))
    booted.write("/etc/zkleader/conf.d/nightly-report.conf", TASK)
    booted.run("systemctl daemon-reload && systemctl enable --now zkleaderd")
    wait_until(lambda: healthy(booted), what="0.1.0 is healthy")
    wait_until(lambda: "nightly-report" in zk.tokens(), what="it leads")
    pid, tokens = booted.pid("zkleaderd"), zk.tokens()
    make("uninstall", f"DESTDIR={booted.root}", cwd=source)
    done = booted.try_run("apt-get install ./build/deb/zkleader_*.deb 2>&1", stdin=subprocess.DEVNULL)
    assert done.returncode == 100 and "conffile prompt" in done.stdout, "there is nobody to answer"
    out = booted.run("apt-get -o Dpkg::Options::=--force-confold install ./build/deb/zkleader_*.deb 2>&1")
    assert booted.run("cat /etc/zkleader/zkleader.conf") == configuration(zk)
    assert booted.pid("zkleaderd") == pid and zk.tokens() == tokens
    assert "systemctl stop zkleaderd" in out, "0.1.0's session cannot be taken over"
    booted.run("systemctl stop zkleaderd && systemctl start zkleaderd")
    wait_until(lambda: healthy(booted), what="the new sidecar is healthy")
    assert booted.run("systemctl is-enabled zkleaderd").strip() == "enabled"
    assert booted.run("zkleader -V").strip() == f"zkleader {VERSION}"
    booted.run("zkleader-check --wait 30s nightly-report")
