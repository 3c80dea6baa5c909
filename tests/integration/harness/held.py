"""A lock, a gang and a job that hold something under a sidecar's lease, until the test lets them end."""
import subprocess

from harness.process import end, spawn
from harness.sidecar import build, queue_text
from harness.waiting import wait_until

# Says that it has begun, once for each time that it does, and ends when it may.
UNTIL_TOLD = "echo >>{folder}/begun.{who}; until [ -e {folder}/go ]; do sleep 0.05; done; echo >>{folder}/ended.{who}"
WHO = ("lock", "member", "job")


def skip_queue(folder):
    """A queue whose jobs are lost with whatever ends them."""
    command = ["/bin/sh", "-c", UNTIL_TOLD.format(folder=folder, who="job")]
    return queue_text("q", command=command, on_crash="skip", attempts=2)


class Held:
    """Begun at `site`, which has skip_queue(); the gang's other member is at `other`."""

    def __init__(self, folder, queues, site, other):
        self.folder, self.queues, self.site = folder, queues, site
        self.commands = {"lock": self._begin(site, "lock", "lock", "db"),
                         "member": self._begin(site, "member", "join", "g", "--count", "2", "--as", "a"),
                         "peer": self._begin(other, "peer", "join", "g", "--count", "2", "--as", "b")}
        queues.wait_open()
        self.job = queues.submit(site)
        wait_until(lambda: all(self.times("begun", who) == 1 for who in WHO), what="all have begun")

    def _begin(self, sidecar, who, *words):
        text = UNTIL_TOLD.format(folder=self.folder, who=who)
        return spawn([build() / "zkleader", "-s", sidecar.socket, *words, "--", "sh", "-c", text],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def times(self, what, who):
        file = self.folder / f"{what}.{who}"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def go_on(self):
        """Nothing was ended."""
        return [who for who, run in self.commands.items() if run.poll() is not None] == [] and \
            self.queues.job(self.site, self.job)["state"] == "running"

    def end_well(self):
        (self.folder / "go").touch()
        for who, run in self.commands.items():
            out, err = run.communicate(timeout=60)
            assert run.returncode == 0, (who, run.returncode, out, err)
        found = self.queues.wait_state(self.site, self.job)
        assert (found["state"], found["attempt"], found["exit_status"]) == ("ok", 1, 0)
        assert all(self.times("begun", who) == self.times("ended", who) == 1 for who in WHO)

    def close(self):
        for run in self.commands.values():
            end(run)
