"""A crontab on each server of a fleet whose clocks differ, for as long as wanted, while things go wrong.

What counts is what the jobs themselves have written, not what the ledger says.
"""
import collections
import heapq
import itertools
import math
import random
import shutil
import subprocess
import time

import msgpack

from harness.jobs import Jobs
from harness.process import spawn
from harness.proxy import Proxy
from harness.rpc import RpcError
from harness.sidecar import Sidecar, build, sanitizer_env, task_text
from harness.skew import forget, skewed

TICK = 2
SKEWS = (-0.7, -0.2, 0.3, 0.9)  # seconds by which the servers' clocks are wrong
WAIT = "20s"
TASKS = {"skip": task_text("skip", tick=f"{TICK}s", wait=WAIT, history=10000),
         "rerun": task_text("rerun", tick=f"{TICK}s", wait=WAIT, on_crash="rerun", history=10000)}
# Runs of a task never go on side by side: each job holds the lock of its server, and finds that of every other
# free. The one that looks holds it for a moment as well.
BODY = """unset LD_PRELOAD
exec 8>> {folder}/$NODE.$ZKLEADER_TASK.lock
flock -w 0.5 -x 8 || say overlap
for other in {nodes}; do
	[ $other = $NODE ] || flock -w 0.5 -x {folder}/$other.$ZKLEADER_TASK.lock true || say overlap
done
sleep $SECONDS_TO_RUN
"""


class Node:
    def __init__(self, number, folder, tree, server, skew, programs=None):
        self.name = f"n{number}"
        self.programs = programs or build()  # the folder of those that it has
        self.skew = skew
        self.proxy = Proxy(server.port)
        self.version_file = folder / f"{self.name}.version"
        self.version_file.write_text("1.0\n", encoding="ascii")
        self.sidecar = Sidecar(folder / self.name, self.name, tree, version=None, version_file=self.version_file,
                               tasks=list(TASKS.values()), zookeeper=self.proxy.address, session_timeout="4s",
                               env=skewed(skew), log_level="info", program=self.programs / "zkleaderd")
        self.errors = open(folder / f"{self.name}.err", "wb")
        self.wrong = False  # something is being done to it

    def start(self, ready=False):
        self.sidecar.start(ready)

    def next_tick(self, now):
        """The time, by the right clock, at which its crontab fires next."""
        return math.ceil((now + self.skew) / TICK + 1e-6) * TICK - self.skew

    def close(self):
        self.proxy.flow()
        wrong = self.sidecar.close()
        if self.sidecar.process:
            forget(self.sidecar.process.pid)
        self.proxy.close()
        self.errors.close()
        return wrong


class Ticks:
    """A story: run() it, heal() and then judge()."""

    def __init__(self, folder, tree, server, seed, programs=None):
        self.folder, self.tree = folder, tree
        self.random = random.Random(seed)
        self.nodes = [Node(i, folder, tree, server, s, programs) for i, s in enumerate(SKEWS)]
        self.faults = [self.kill, self.leave, self.pause, self.stall, self.cut, self.newer, self.resign]
        self.jobs = {t: Jobs(folder, t) for t in TASKS}
        names = " ".join(n.name for n in self.nodes)
        self.scripts = {t: j.script(BODY.format(folder=folder, nodes=names), alone=False) for t, j in self.jobs.items()}
        self.agenda, self.order = [], itertools.count()
        self.running = []  # (process, node, (tick, task))
        self.ends = collections.defaultdict(list)  # how they ended, by tick and task
        self.log = []  # what was done, and when
        self.codes = collections.Counter()
        self.done = collections.Counter()  # what was done to them
        self.fired = collections.Counter()  # crontab lines by tick
        self.versions = itertools.count(1)
        self.mending = [self.restart, self.resume, self.flow]  # what is still done once all is to be well

    def at(self, when, what, *args):
        heapq.heappush(self.agenda, (when, next(self.order), what, args))

    # --- the crontab

    def fire(self, node, when):
        name = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(round(when + node.skew)))
        for task, script in self.scripts.items():
            self.fired[name, task] += 1
            # Its clock says so although we may be late: that is one more reason for clocks to differ.
            skew = when + node.skew + 0.1 - time.time()
            env = {**sanitizer_env(self.folder), **skewed(skew), "NODE": node.name,
                   "SECONDS_TO_RUN": f"{self.random.uniform(0.1, 0.8):.2f}", **dict([self.jobs[task].mark.split("=")])}
            args = [node.programs / "zkleader", "-s", node.sidecar.socket, "run", task, "--", script]
            process = spawn(args, env=env, stdout=subprocess.DEVNULL, stderr=node.errors)
            self.running.append((process, node, (name, task)))
        self.at(node.next_tick(when + TICK / 2), self.fire, node, node.next_tick(when + TICK / 2))

    def reap(self):
        left = []
        for process, node, tick in self.running:
            if process.poll() is None:
                left.append((process, node, tick))
            else:
                self.codes[process.returncode] += 1
                self.ends[tick].append(f"{node.name} {process.returncode} at {time.time():.3f}")
                forget(process.pid)
        self.running = left

    # --- what goes wrong

    def disturb(self):
        well = [n for n in self.nodes if not n.wrong]
        if len(well) > 2:  # two are left alone at any time
            node = self.random.choice(well)
            # Mostly the one that leads.
            leaders = self.tree.leaders().values()
            leading = [n for n in well if self.id_of(n) in leaders]
            if leading and self.random.random() < 0.7:
                node = self.random.choice(leading)
            self.random.choice(self.faults)(node)
        self.at(time.time() + self.random.uniform(3, 8), self.disturb)

    @staticmethod
    def id_of(node):
        try:
            return node.sidecar.call("status", timeout=1)["id"]
        except (OSError, EOFError, RpcError):
            return None

    def kill(self, node):
        self.begin(node, "killed")
        node.sidecar.kill()
        forget(node.sidecar.process.pid)
        self.at(time.time() + self.random.uniform(0.2, 6), self.restart, node)

    def leave(self, node):
        self.begin(node, "told to go")
        node.sidecar.stop(90)
        forget(node.sidecar.process.pid)
        self.at(time.time() + self.random.uniform(0.2, 4), self.restart, node)

    def restart(self, node):
        node.start()
        self.end(node)

    def pause(self, node):
        self.begin(node, "paused")
        node.sidecar.pause()
        self.at(time.time() + self.random.uniform(0.2, 7), self.resume, node)

    def resume(self, node):
        node.sidecar.resume()
        self.end(node)

    def stall(self, node):
        up, down = self.random.choice([(True, True), (True, False), (False, True)])
        self.begin(node, "stalled")
        node.proxy.stall(up, down)
        self.at(time.time() + self.random.uniform(0.2, 7), self.flow, node)

    def cut(self, node):
        self.begin(node, "cut off")
        node.proxy.cut()
        self.at(time.time() + self.random.uniform(0.1, 7), self.flow, node)

    def flow(self, node):
        node.proxy.flow()
        self.end(node)

    def newer(self, node):
        self.note(node, "newer version")
        node.version_file.write_text(f"1.{next(self.versions)}\n", encoding="ascii")

    def resign(self, node):
        for task in TASKS:
            try:
                if node.sidecar.call("tasks", task, timeout=2)[0]["self"]:
                    node.sidecar.call("resign", task, timeout=2)
                    self.note(node, "resigned")
            except (RpcError, OSError, EOFError):
                self.note(node, "could not resign")  # alone, or cut off

    def begin(self, node, what):
        node.wrong = True
        self.note(node, what)

    def end(self, node):
        node.wrong = False
        self.log.append(f"{time.time():.3f} {node.name} is well again")

    def note(self, node, what):
        self.done[what] += 1
        self.log.append(f"{time.time():.3f} {node.name} {what}")

    # --- the story

    def start(self):
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.sidecar.wait_connected()
        deadline = time.time() + 30
        while len(self.tree.leaders()) < len(TASKS) and time.time() < deadline:
            time.sleep(0.05)

    def work(self, until):
        while time.time() < until:
            while self.agenda and self.agenda[0][0] <= time.time():
                _, _, what, args = heapq.heappop(self.agenda)
                what(*args)
            self.reap()
            time.sleep(0.02)

    def run(self, n_ticks):
        """Crontabs for that many ticks, and disturbances from the second tick on to some seconds before the end."""
        began = time.time()
        for node in self.nodes:
            self.at(node.next_tick(began), self.fire, node, node.next_tick(began))
        self.at(began + TICK, self.disturb)
        self.work(began + n_ticks * TICK)

    def heal(self):
        """No new ticks; all is well again, and what waits or runs comes to its end."""
        rest = [(what, args) for _, _, what, args in self.agenda if what in self.mending]
        self.agenda = []
        for what, args in rest:
            what(*args)
        limit = time.time() + 120
        while self.running and time.time() < limit:
            self.reap()
            time.sleep(0.05)
        assert not self.running, f"{len(self.running)} runs have not ended"

    # --- the judgement

    def record(self, task, tick):
        data, _ = self.tree.get("runs", task, tick)
        return msgpack.unpackb(data) if data else None

    def judge(self):
        """Whether each tick that all servers had in their crontabs was run as often as promised; the figures."""
        figures = {"done": dict(self.done), "exit codes": dict(self.codes)}
        for task, jobs in self.jobs.items():
            lines = jobs.lines()
            overlaps = [line for line in lines if line.what == "overlap"]
            assert not overlaps, overlaps
            starts = [line for line in lines if line.what == "start"]
            tokens = [line.token for line in starts]
            assert all(a <= b for a, b in zip(tokens, tokens[1:])), f"{task}: an older leader's job after a newer one's"
            each = collections.Counter((line.tick, line.attempt) for line in starts)
            assert max(each.values()) == 1, [k for k, n in each.items() if n > 1]
            whole = sorted(t for (t, name), n in self.fired.items() if name == task and n == len(self.nodes))
            figures[task] = self.judge_task(task, whole, lines)
        return figures

    def judge_task(self, task, ticks, lines):
        by_tick = collections.defaultdict(list)
        for line in lines:
            by_tick[line.tick].append(line)
        spent, reruns, ended = [], 0, 0
        for tick in ticks:
            starts = [line.attempt for line in by_tick[tick] if line.what == "start"]
            ends = sum(line.what == "end" for line in by_tick[tick])
            record = self.record(task, tick)
            assert record, f"{task} {tick} was claimed by nobody: missed; {self.ends[tick, task]}"
            if not starts:
                # Its node was lost in the moment between the claim and the job: no other may begin then.
                assert record["state"] in ("lost", "running") and task == "skip", (tick, record)
                spent.append(tick)
            elif task == "skip":
                assert starts == [1], (tick, starts)
            else:
                assert starts == sorted(starts) and record["attempt"] == max(starts), (tick, starts, record)
                assert ends >= 1, f"{tick}: nobody has brought it to its end: {by_tick[tick]}, {record}"
                reruns += len(starts) > 1
            if record["state"] == "ok":
                assert ends >= 1, (tick, record)
            ended += ends >= 1
        return {"ticks": len(ticks), "run to the end": ended, "taken over": reruns, "spent": len(spent)}

    def keep(self, folder):
        """Copies what tells the story."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "story").write_text("\n".join(self.log) + "\n", encoding="utf-8")
        ends = (f"{tick} {task}: {', '.join(how)}\n" for (tick, task), how in sorted(self.ends.items()))
        (folder / "ends").write_text("".join(ends), encoding="utf-8")
        for jobs in self.jobs.values():
            shutil.copy(jobs.out, folder)
        for node in self.nodes:
            shutil.copy(node.sidecar.log_file, folder / f"{node.name}.log")
            shutil.copy(self.folder / f"{node.name}.err", folder)

    def close(self):
        for process, _, _ in self.running:
            process.kill()
            process.wait()
            forget(process.pid)
        for jobs in self.jobs.values():
            jobs.close()
            for line in jobs.lines("start"):
                forget(line.pid)
        wrong = [w for node in self.nodes for w in node.close()]
        return wrong
