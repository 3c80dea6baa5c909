"""All that a fleet is used for, at the same time, for as long as wanted: each use writes down what it does, and is
judged by that. step() is called again and again, stop() begins nothing more, rest() waits for what goes on."""
import collections
import itertools
import time

from harness import schedules
from harness.holders import Holders
from harness.jobs import Jobs, Run
from harness.oracle import now
from harness.process import end, spawn
from harness.queues import ENDED
from harness.rpc import RpcError
from harness.sidecar import build, queue_text, sanitizer_env, task_text
from harness.waiting import wait_until

REST = 300  # seconds until all that was begun has ended
# Exit codes: done; not here, or not in time; cannot tell, or lost; its file is away or bad; ended by a signal.
KNOWN = {0, 1, 2, 3, 143, 137}


class Use:
    """A use of the fleet, which begins processes; those that have ended are reaped."""
    file, text = None, ""  # of the task files

    def __init__(self, random, sidecars):
        self.random, self.sidecars = random, sidecars
        self.running = []  # Run
        self.codes = collections.Counter()
        self.wrong = []  # commands that ended as they may not
        self.stopped = False
        self.due = 0.0

    def spawn(self, folder, *args, **kwargs):
        """A `zkleader`, beside any sidecar if it is not said which."""
        sidecar = kwargs.pop("sidecar", None) or self.random.choice(self.sidecars)
        run = Run(spawn([build() / "zkleader", "-s", sidecar.socket, *args], text=True, env=sanitizer_env(folder), **kwargs))
        self.running.append(run)
        return run

    def step(self):
        over = [run for run in self.running if run.process.poll() is not None]
        self.running = [run for run in self.running if run not in over]
        for run in over:
            code, out, err = run.wait()
            self.codes[code] += 1
            self.has_ended(run, code, out, err)
        if not self.stopped and time.time() >= self.due:
            self.begin()

    def begin(self):
        raise NotImplementedError

    def has_ended(self, run, code, out, err):  # pylint: disable=unused-argument
        if code not in KNOWN:
            self.wrong.append((run.process.args, code, out, err))

    def stop(self):
        self.stopped = True

    def rest(self):
        def ended():
            self.step()
            return not self.running
        wait_until(ended, REST, f"what {type(self).__name__} has begun has ended")

    def close(self):
        for run in self.running:
            end(run.process)


class Crontabs(Use):
    """The same line on each server, at every tick: `zkleader run` begins it once."""
    TICK = 20
    file = "crontabs.conf"

    def __init__(self, random, sidecars, folder, n):
        super().__init__(random, sidecars)
        self.jobs = [Jobs(folder, f"cron-{i:02}") for i in range(n)]
        self.scripts = [j.script("sleep 0.3") for j in self.jobs]
        self.fired = 0
        self.text = "".join(task_text(j.task, tick=f"{self.TICK}s", wait="15s", history=10000,
                                      on_crash="rerun" if i % 2 else "skip") for i, j in enumerate(self.jobs))

    def begin(self):
        self.due = (time.time() // self.TICK + 1) * self.TICK
        self.fired += 1
        for jobs, script in zip(self.jobs, self.scripts):
            for sidecar in self.sidecars:
                self.running.append(jobs.run(sidecar, command=[script]))
            jobs.runs.clear()  # they are reaped here

    def judge(self):
        starts = 0
        for i, jobs in enumerate(self.jobs):
            jobs.check()
            each = collections.Counter((line.tick, line.attempt) for line in jobs.lines("start"))
            twice = [k for k, n in each.items() if n > 1 or (k[1] > 1 and i % 2 == 0)]
            assert not twice, f"{jobs.task}: begun twice {twice}"
            starts += len({tick for tick, _ in each})
        return f"crontab lines: {self.fired} ticks of {len(self.jobs)}, {starts} run, codes {dict(self.codes)}"

    def close(self):
        super().close()
        for jobs in self.jobs:
            jobs.close()


JOB = """read up rest </proc/uptime
exec 9>>{folder}/job.$ZKLEADER_JOB
flock -n 9 || echo beside $ZKLEADER_JOB $ZKLEADER_ATTEMPT $up >>{out}
echo begun $ZKLEADER_JOB $ZKLEADER_ATTEMPT $up >>{out}
sleep 0.5
echo ended $ZKLEADER_JOB $ZKLEADER_ATTEMPT $up >>{out}
"""


class Submits(Use):
    """Jobs are submitted at any server, to a queue that tries them again and one that begins them once at most. Some
    are not to begin before a while is over, some are cancelled, some submitted once more by their id; the dead letters of
    the second one are purged. As many have no record in the end as purges have told of, where each has told that."""
    QUEUES = {"again": {"on_crash": "rerun", "attempts": 20, "backoff": "1s", "backoff_max": "2s"},
              "once": {"on_crash": "skip", "attempts": 1}}
    REPEATED = 500  # seconds for which a submit may be repeated
    LATER = 5  # seconds before which some may not begin
    file = "queues.conf"

    def __init__(self, random, sidecars, folder):
        super().__init__(random, sidecars)
        self.folder = folder
        self.out = folder / "jobs.out"
        self.committed = {}  # id: queue
        self.begins = {}  # id: not before that time
        self.unknown = set()  # ids that may have been committed, and were repeated for as long as they may be
        self.cancelled = set()  # ids
        self.purges = {}  # Run: how many letters it has told of, None: it has not
        self.submits = {}  # Run: (queue, seconds, id or "", since when it is repeated)
        self.again = []  # (when, queue, seconds, id, since)
        script = JOB.format(folder=folder, out=self.out).replace("\n", "; ").rstrip("; ")
        self.text = "".join(queue_text(f"jobs-{name}", slots=2, command=["/bin/sh", "-c", script], **values)
                            for name, values in self.QUEUES.items())

    def command(self, *args):
        return self.spawn(self.folder, *args, stdout=-1, stderr=-1)

    def submit(self, queue, seconds, job="", since=None):
        since = since or now()
        run = self.command("submit", *(["--id", job] if job else []), "--in", f"{seconds}s", f"jobs-{queue}")
        self.submits[run] = (queue, seconds, job, since)

    def begin(self):
        self.due = time.time() + self.random.uniform(0.2, 1.5)
        self.submit(self.random.choice(list(self.QUEUES)), self.random.choice([0, 0, self.LATER]))
        if self.committed and self.random.random() < 0.05:
            job = self.random.choice(list(self.committed)[-5:])
            self.cancelled.add(job)
            self.command("cancel", job)
        if self.committed and self.random.random() < 0.05:
            job = self.random.choice(list(self.committed)[-20:])
            self.command("submit", "--id", job, f"jobs-{self.committed[job]}")
        if self.random.random() < 0.01:
            self.purges[self.command("purge", "jobs-once")] = None

    def step(self):
        super().step()
        for one in [one for one in self.again if one[0] <= now()]:
            self.again.remove(one)
            self.submit(*one[1:])

    def has_ended(self, run, code, out, err):
        super().has_ended(run, 0 if code == 4 else code, out, err)
        if run in self.purges and code == 0:
            self.purges[run] = int(out.split()[1])
        if run not in self.submits:
            return
        queue, seconds, job, since = self.submits.pop(run)
        job = out.strip() or job
        if code == 0:
            self.committed[job] = queue
            self.begins[job] = since + seconds
        elif job and code != 4 and now() - since < self.REPEATED:
            self.again.append((now() + 1, queue, seconds, job, since))
        elif job and code != 4:
            self.unknown.add(job)

    def rest(self):
        def known():
            self.step()
            return not self.running and not self.again
        wait_until(known, self.REPEATED + REST, "all submits are told whether they were committed")
        # However long the line is: one that does not get shorter is stuck.
        left = self.open()
        while left:
            try:
                wait_until(lambda: len(self.open()) < len(left), REST, "one more job has ended")
            except AssertionError as e:
                raise AssertionError(f"{e}: {self.open()}") from e
            left = self.open()

    def open(self):
        """The records of those that have not ended."""
        open_jobs = [job for job, state in self.states().items() if state not in (*ENDED, None)]
        with self.sidecars[0].client() as client:
            return [client.call("job", job) for job in open_jobs]

    def states(self):
        """The states of all jobs that were committed: None for one without a record."""
        found = {}
        with self.sidecars[0].client() as client:
            for job in self.committed:
                try:
                    found[job] = client.call("job", job)["state"]
                except RpcError as e:
                    assert e.code == 3, e
                    found[job] = None
        return found

    def judge(self):
        lines = [line.split() for line in self.out.read_text(encoding="ascii").splitlines()] if self.out.exists() else []
        assert not [line for line in lines if line[0] == "beside"], "a job twice at a time"
        begun = collections.defaultdict(list)
        for what, job, attempt, up in lines:
            if what == "begun":
                begun[job].append(int(attempt))
                assert float(up) > self.begins.get(job, 0) - 0.1, f"{job} was begun at {up}, before {self.begins[job]}"
        ended = {job for what, job, _, _ in lines if what == "ended"}
        states = self.states()
        for job, state in states.items():
            queue, attempts = self.committed[job], begun[job]
            good = {"ok"} if queue == "again" else {"ok", "lost", "dead"} | ({None} if self.purges else set())
            assert state in good | ({"cancelled"} if job in self.cancelled else set()), f"{job} of {queue} is {state}"
            assert len(set(attempts)) == len(attempts), f"{job}: an attempt begun twice: {attempts}"
            assert len(attempts) <= 1 or queue == "again", f"{job} was begun twice: {attempts}"
            assert state != "ok" or job in ended, f"{job} is ok, and did not end"
        told = list(self.purges.values())
        assert None in told or list(states.values()).count(None) <= sum(told), f"more are gone than were purged: {told}"
        assert set(begun) <= set(self.committed) | self.unknown, "a job that nobody was told of"
        return f"jobs: {len(self.committed)} committed, {dict(collections.Counter(states.values()))}, " \
               f"{len(self.unknown)} not known, codes {dict(self.codes)}"


class Locks(Use):
    """On each server somebody wants each lock, again and again."""
    SLOTS = {"one": 1, "other": 1, "two": 2}

    def __init__(self, random, sidecars, folder):
        super().__init__(random, sidecars)
        self.holders = {name: Holders(folder, name, slots) for name, slots in self.SLOTS.items()}
        self.number = itertools.count()

    def begin(self):
        self.due = time.time() + self.random.uniform(0.5, 2)
        if len(self.running) < 3 * len(self.holders):
            holders = self.random.choice(list(self.holders.values()))
            who = f"h{next(self.number)}"
            body = f"sleep {self.random.choice([0.1, 0.5, 3])}"
            self.running.append(holders.run(self.random.choice(self.sidecars), who, "--wait", "60s", body=body))
            del holders.runs[who]  # it is reaped here

    def judge(self):
        for holders in self.holders.values():
            holders.check()
        held = sum(len(h.who("start")) for h in self.holders.values())
        return f"locks: held {held} times, codes {dict(self.codes)}"

    def close(self):
        super().close()
        for holders in self.holders.values():
            holders.close()


class Renames(Use):
    """Tasks with schedules, each of which gets another name while the storm lasts: on one server after the other, in any
    order. Some of them go back to the former name on a server, for a while."""
    PERIOD, SPLAY = 60, 45  # seconds: no job begins in the last of them
    file = "renames.conf"

    def __init__(self, random, sidecars, folder, n, seconds):
        super().__init__(random, sidecars)
        self.folder, self.n = folder, n
        self.now = {sidecar: [0] * n for sidecar in sidecars}  # which name each task has there
        self.text = self.texts([0] * n)
        self.moves = []  # (when, sidecar, task, name)
        for i in range(n):
            at = now() + seconds * (i + 0.5) / (n + 1)
            for sidecar in random.sample(sidecars, len(sidecars)):
                at += random.uniform(1, seconds / (n + 1) / len(sidecars))
                self.moves.append((at, sidecar, i, 1))
                if random.random() < 0.3:
                    self.moves += [(at + 5, sidecar, i, 0), (at + random.uniform(10, 40), sidecar, i, 1)]
        self.moves.sort(key=lambda move: move[0])
        self.done = 0

    @staticmethod
    def name(task, which):
        return f"renamed-{task}-{'ba'[which]}"

    def names(self, which):
        return [self.name(i, which) for i in range(self.n)]

    def texts(self, which):
        return "".join(schedules.task(self.folder, self.name(i, w), self.PERIOD, 0.2, writes=f"renamed-{i}",
                                      splay=f"{self.SPLAY}s", on_crash="rerun" if i % 2 else "skip",
                                      **({"renamed_from": self.name(i, 0)} if w else {})) for i, w in enumerate(which))

    def begin(self):
        while self.moves and (self.moves[0][0] <= now()):
            _, sidecar, task, which = self.moves.pop(0)
            self.now[sidecar][task] = which
            self.write(sidecar)
            self.done += 1

    def write(self, sidecar):
        """At once, unless the file is away or broken just now: then it comes back as that."""
        path, text = sidecar.task_dir / self.file, self.texts(self.now[sidecar])
        there = path.exists() and path.read_text(encoding="utf-8") == sidecar.wanted.get(self.file, self.text)
        sidecar.wanted[self.file] = text
        if there:
            sidecar.write_file(text, self.file)

    def finish(self):
        """Renames at once what is left to rename."""
        for sidecar in self.sidecars:
            self.now[sidecar] = [1] * self.n
            self.write(sidecar)
        self.moves.clear()

    def judge_ticks(self, zk, until, least):
        total, again = collections.Counter(), 0
        for i, name in enumerate(self.names(1)):
            assert zk.names("runs", self.name(i, 0)) == [], f"{name}: all records have moved"
            states, n = schedules.judge(self.folder, zk, name, until, self.PERIOD, least, bool(i % 2), f"renamed-{i}")
            total.update(states)
            again += n
        return f"renamed: {self.n} tasks in {self.done} steps, {dict(total)}, {again} begun again"

    def judge(self):
        return f"renames: {self.done} steps"


MEMBER = """exec 9>>{folder}/gang.$ZKLEADER_INDEX
flock -n 9 || echo beside $ZKLEADER_INDEX >>{out}
echo begun $ZKLEADER_INDEX >>{out}
sleep 1
echo ended $ZKLEADER_INDEX >>{out}
"""


class Gangs(Use):
    """A gang with a member on each server, one gang after the other."""

    def __init__(self, random, sidecars, folder):
        super().__init__(random, sidecars)
        self.folder, self.out = folder, folder / "gang.out"
        self.script = MEMBER.format(folder=folder, out=self.out)
        self.members = {}  # sidecar: Run

    def begin(self):
        self.due = time.time() + 0.5
        for sidecar in self.sidecars:
            if self.members.get(sidecar) not in self.running:
                self.members[sidecar] = self.spawn(
                    self.folder, "join", "gang", "--count", str(len(self.sidecars)), "--as", sidecar.name, "--timeout", "60s",
                    "--", "sh", "-c", self.script, sidecar=sidecar, stdout=-3, stderr=-3)

    def judge(self):
        lines = [line.split() for line in self.out.read_text(encoding="ascii").splitlines()] if self.out.exists() else []
        assert not [line for line in lines if line[0] == "beside"], "two gangs at a time"
        begun, ended = ([lines.count([what, str(i)]) for i in range(len(self.sidecars))] for what in ("begun", "ended"))
        return f"gangs: members begun {begun}, and ended by themselves {ended}, codes {dict(self.codes)}"
