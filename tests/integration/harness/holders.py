"""Commands for `zkleader lock` that tell in one file what they did, and prove how many there are at a time."""
import os
import signal
import subprocess

from harness.jobs import Run, processes_with
from harness.process import end, spawn
from harness.sidecar import build, sanitizer_env
from harness.waiting import wait_until

# Each slot is a lock of the kernel's that every process of the command has open: who finds none free is one too many.
SCRIPT = """#!/bin/sh
k=0
while [ $k -lt {slots} ]; do
	eval "exec 9>> {folder}/slot.$k"
	flock -n 9 && break
	k=$((k + 1))
done
[ $k -lt {slots} ] || echo "overlap $1 $ZKLEADER_TOKEN" >> {out}
echo "start $1 $ZKLEADER_TOKEN" >> {out}
{body}
echo "end $1 $ZKLEADER_TOKEN" >> {out}
"""
# Until the test says so, or for ever, whoever asks it to end.
UNTIL_TOLD = "trap '' TERM; while [ ! -e {folder}/release.$1 ]; do sleep 0.05; done"


class Holders:
    """Those of one lock."""

    def __init__(self, folder, name, slots=1):
        self.folder = folder / f"lock-{name}"
        self.folder.mkdir()
        self.name, self.slots = name, slots
        self.out = self.folder / "out"
        self.out.touch()
        self.mark = f"HOLDERS_OF={self.folder}"
        self.runs = {}

    def run(self, sidecar, who, *options, body=UNTIL_TOLD):
        script = self.folder / f"script.{who}"
        script.write_text(SCRIPT.format(slots=self.slots, folder=self.folder, out=self.out,
                                        body=body.format(folder=self.folder)))
        script.chmod(0o755)
        name, value = self.mark.split("=", 1)
        env = {**sanitizer_env(sidecar.folder), name: value}
        options = (*(("--slots", str(self.slots)) if self.slots > 1 else ()), *options)
        process = spawn([build() / "zkleader", "-s", sidecar.socket, "lock", *options, self.name, "--", script, who],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
        self.runs[who] = Run(process)
        return self.runs[who]

    def lines(self, what=None):
        lines = [line.split() for line in self.out.read_text(encoding="ascii").splitlines()]
        return [line for line in lines if what in (None, line[0])]

    def who(self, what):
        return [line[1] for line in self.lines(what)]

    def wait_started(self, *names):
        wait_until(lambda: self.who("start") == list(names), what=f"{names} have begun")

    def release(self, who):
        (self.folder / f"release.{who}").touch()

    def alive(self):
        return processes_with(self.mark)

    def check(self):
        """Never more than so many, and where that is one the tokens grow."""
        assert not self.lines("overlap")
        tokens = [int(line[2]) for line in self.lines("start")]
        if self.slots == 1:
            assert tokens == sorted(set(tokens))

    def close(self):
        for run in self.runs.values():
            if run.process.poll() is None:
                run.process.send_signal(signal.SIGCONT)
            end(run.process)
        for pid in self.alive():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
