"""A limit on threads: ZooKeeper's library would abort the sidecar that opens a session."""
import os
import subprocess

import pytest

from harness.process import spawn
from harness.sidecar import build, sanitizer_env
from harness.waiting import holds_for, wait_until

TASK = "nightly-report"
USER = "65124"  # nobody else's, as the kernel counts all threads of a user


@pytest.mark.skipif(os.geteuid() != 0, reason="root has no limit, and others cannot become somebody else")
@pytest.mark.parametrize("limit", [2, 3, 4])
def test_no_session_is_opened_without_threads_and_it_tries_again(fleet, zk, base_folder, limit):
    """The loop is one thread, and what watches it is another."""
    base_folder.chmod(0o755)
    a = fleet.sidecar("a", start=False, tasks=[TASK])
    for path in (a.folder, a.config_file, a.task_dir):
        os.chown(path, int(USER), -1)
    become = ["setpriv", "--reuid", USER, "--regid", "0", "--clear-groups"]
    command = ["prlimit", f"--nproc={limit}:1000", *become]
    with open(a.log_file, "ab") as log:
        a.process = spawn([*command, build() / "zkleaderd", "-c", a.config_file], stdout=log, stderr=log,
                          env=sanitizer_env(a.folder), cwd=a.folder)
    wait_until(lambda: a.listens(), what="its socket is there")
    wait_until(lambda: "no thread" in a.status()["why"] or "a lookup" in a.status()["why"], what="it says what is wrong")
    holds_for(a.is_running, 4, "it lives on")
    assert a.log().count("no client") <= 1  # not each second
    subprocess.run([*become, "prlimit", "--pid", str(a.process.pid), "--nproc=1000:1000"], check=True)
    wait_until(lambda: a.leads(TASK), 60, "it leads")
    assert a.stop() == 0
