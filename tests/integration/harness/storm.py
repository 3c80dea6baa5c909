"""Faults drawn from a seed: of processes, of each sidecar's network, and of the server."""
import os
import random
import signal
import time

from harness.clocks import faketime
from harness.faults import LED_AGAIN
from harness.oracle import now
from harness.proxy import is_claim, is_confirmation, is_release
from harness.waiting import wait_until


class Storm:
    """longest: of a fault, in seconds. pauses: between two of them. patience: for what a sidecar is asked."""

    def __init__(self, seed, oracle, server, sidecars, proxies, longest=4.0, pauses=(0.02, 0.5), patience=LED_AGAIN):
        self.random = random.Random(seed)
        self.oracle, self.server = oracle, server
        self.sidecars, self.proxies = sidecars, proxies
        self.longest, self.pauses, self.patience = longest, pauses, patience
        self.busy = {}  # what suffers: (until when, what ends it)
        self.counts = {}

    def _for_a_while(self, victim, end, longest=None):
        self.busy[victim] = (time.monotonic() + self.random.uniform(0.05, longest or self.longest), end)

    def _end_what_is_over(self, at):
        for victim, (until, end) in list(self.busy.items()):
            if until <= at:
                del self.busy[victim]
                end()

    # --- faults

    def pause(self, sidecar, _):
        sidecar.pause()
        self._for_a_while(sidecar, sidecar.resume)

    def kill(self, sidecar, _):
        sidecar.kill()
        if self.random.random() < 0.3:
            sidecar.socket.with_name("s.session").unlink(missing_ok=True)
        self._for_a_while(sidecar, lambda: sidecar.start(ready=False))

    def term(self, sidecar, _):
        wait_until(sidecar.status, self.patience, f"{sidecar.name} answers")  # it may have been started just now
        told = now()
        assert sidecar.stop(timeout=self.patience) == 0
        self.oracle.told_to_go(sidecar, told)
        self._for_a_while(sidecar, lambda: sidecar.start(ready=False))

    def kill_and_start(self, sidecar, _):
        sidecar.kill()
        sidecar.start(ready=False)

    def stall(self, _, proxy):
        up, down = self.random.choice([(True, True), (True, False), (False, True)])
        proxy.stall(up, down)
        self._for_a_while(proxy, proxy.flow)

    def cut(self, _, proxy):
        proxy.cut()
        self._for_a_while(proxy, proxy.flow)

    def delay(self, _, proxy):
        proxy.delay(self.random.uniform(0, 1), self.random.uniform(0, 1))
        self._for_a_while(proxy, proxy.flow)

    def drop(self, _, proxy):
        proxy.drop()

    def lose(self, _, proxy):
        matches = self.random.choice([is_claim, is_release, is_confirmation])
        proxy.lose(matches, self.random.random() < 0.5, self.random.choice(["", "close"]))

    def version(self, sidecar, _):
        sidecar.write_config(version=str(self.random.randrange(1, 5)))
        if sidecar not in self.busy:  # but it may have been started just now
            wait_until(lambda: sidecar.call("reload"), self.patience, f"{sidecar.name} reloads")

    def pause_server(self, *_):
        self.server.pause()
        self._for_a_while(self.server, self.server.resume)

    def kill_server(self, *_):
        self.server.kill()
        self._for_a_while(self.server, self.server.start)

    # Faults, their weights, and their targets: nothing else is done to a target meanwhile.
    FAULTS = [(pause, 3, "sidecar"), (kill, 2, "sidecar"), (term, 2, "sidecar"), (kill_and_start, 2, "sidecar"),
              (stall, 4, "proxy"), (cut, 2, "proxy"), (delay, 2, "proxy"), (drop, 3, "sidecar"), (lose, 4, "sidecar"),
              (version, 2, "sidecar"), (pause_server, 1, "server"), (kill_server, 0.3, "server")]

    def blow(self, seconds, meanwhile=lambda: None):
        """meanwhile: is called again and again."""
        due = time.monotonic()
        end = due + seconds
        while time.monotonic() < end:
            self._end_what_is_over(time.monotonic())
            while due <= time.monotonic() < end:
                self._do_something()
                due += self.random.uniform(*self.pauses)  # as many as that, however slow this is
            meanwhile()
            time.sleep(0.1)
        self._end_what_is_over(float("inf"))
        for proxy in self.proxies:
            proxy.rules.clear()

    def _do_something(self):
        fault, _, whom = self.random.choices(self.FAULTS, [weight for _, weight, _ in self.FAULTS])[0]
        i = self.random.randrange(len(self.sidecars))
        sidecar, proxy = self.sidecars[i], self.proxies[i]
        victim = {"sidecar": sidecar, "proxy": proxy, "server": self.server, "files": sidecar.task_dir,
                  "runner": getattr(sidecar, "runner", None)}[whom]
        if victim not in self.busy:
            fault(self, sidecar, proxy)
            self.counts[fault.__name__] = self.counts.get(fault.__name__, 0) + 1


class StormOfAll(Storm):
    """The storm of sidecars that have a runner and several files each, and of a server with any clock: what people and
    disks do besides. A file of tasks comes back as sidecar.wanted has it, else as it was. A runner may hang for longer
    than the 30 s after which its node counts as one without it."""
    HANGS = 45.0
    CLOCKS = (-7200, -900, 900, 7200)  # seconds that the server's is ahead

    def hang_up(self, _, proxy):
        """The session lives, and is not confirmed: its owner has to end it."""
        proxy.hang_up()
        self._for_a_while(proxy, proxy.flow, self.HANGS)

    def swallow(self, _, proxy):
        proxy.swallow(is_confirmation)
        self._for_a_while(proxy, proxy.flow, self.HANGS)

    def kill_runner(self, sidecar, _):
        sidecar.runner.stop(self.random.choice([signal.SIGKILL, signal.SIGTERM]))
        self._for_a_while(sidecar.runner, sidecar.runner.start)

    def hang_runner(self, sidecar, _):
        process = sidecar.runner.process
        process.send_signal(signal.SIGSTOP)
        self._for_a_while(sidecar.runner, lambda: process.send_signal(signal.SIGCONT), self.HANGS)

    def rename(self, sidecar, _):
        """Its node, and restarts it, with the session that it had: what ran there has to be answered for."""
        names = [sidecar.name, f"{sidecar.name}-again"]
        sidecar.kill()
        sidecar.write_config(node=names[sidecar.config["node"] == names[0]])
        sidecar.start(ready=False)

    def files(self, sidecar, _):
        """A file of tasks or queues goes, or is no good, and comes back: it is read when it does."""
        path = self.random.choice(sorted(sidecar.task_dir.glob("*.conf")))
        text = path.read_text(encoding="utf-8")
        if self.random.random() < 0.7:
            path.unlink()
        else:
            sidecar.write_file('queue "no end" {\n', path.name)
        self._for_a_while(sidecar.task_dir, lambda: sidecar.write_file(sidecar.wanted.get(path.name, text), path.name))

    def server_clock(self, *_):
        self.server.kill()
        self.server.env = {**os.environ, **faketime(f"{self.random.choice(self.CLOCKS):+d}")}
        self.server.start()
        self._for_a_while(self.server, self._right_clock, self.HANGS)

    def _right_clock(self):
        self.server.kill()
        self.server.env = None
        self.server.start()

    FAULTS = Storm.FAULTS + [(hang_up, 1, "proxy"), (swallow, 1, "proxy"), (kill_runner, 2, "runner"), (hang_runner, 1, "runner"),
                             (rename, 1, "sidecar"), (files, 2, "files"), (server_clock, 0.3, "server")]
