"""Drives the Python client for threads; see tests/clients/README.md."""
import datetime
import json
import os
import statistics
import sys
import threading
import time

import zkleader

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
client = zkleader.connect(sys.argv[1])
kept, scopes, watches = {}, {}, {}
writing = threading.Lock()


def say(request, **what):
    with writing:
        sys.stdout.write(json.dumps({"id": request["id"], **what}) + "\n")
        sys.stdout.flush()


def fields(a):
    return {"leads": a.leads, "token": a.token, "state": a.state, "leader": a.leader, "version": a.version}


def leads(r):
    kept[r["id"]] = answer = client.leads(r["task"])
    return fields(answer)


def still(r):
    return {"leads": kept[r["of"]].leads}


def watch(r):
    watches[r["id"]] = made = client.watch(*r["tasks"])
    say(r, ok={})
    for change in made:
        say(r, event={"task": change.task, **fields(change)})


def unwatch(r):
    watches[r["of"]].close()
    return {}


def leading(r):
    left = threading.Event()

    def lost(lease):
        say(r, event={"lost": True, "left_ms": round(1000 * (lease.until - zkleader.now()))})
    try:
        with client.leading(r["task"], wait=r["wait"], on_lost=lost) as lease:
            scopes[r["id"]] = lease, left
            say(r, event={"entered": True, "token": lease.token})
            left.wait()
    except zkleader.Error as e:
        if e.code == 3:
            raise
        print(e, file=sys.stderr)
        say(r, event={"entered": False, "code": e.code})


def check(r):
    scopes[r["of"]][0].check()
    return {"leads": True}


def leave(r):
    scopes[r["of"]][1].set()
    return {}


class Failed(Exception):
    pass


def run(r):
    def work(mine):
        say(r, event={"began": True, "tick": mine.tick, "token": mine.token, "attempt": mine.attempt})
        end = time.monotonic() + r["hold_ms"] / 1000
        while time.monotonic() < end:
            mine.check()
            time.sleep(0.05)
        if r["outcome"] == "fail":
            raise Failed()
    try:
        ran = client.run(r["task"], work, tick=r["tick"])
    except Failed:
        return {"ran": True, "reason": "failed"}
    except zkleader.Lost:
        return {"ran": True, "reason": "lost"}
    return {"ran": ran.ran, "reason": ran.reason}


def submit(r):
    at = r.get("at_us") and EPOCH + datetime.timedelta(microseconds=r["at_us"])
    return {"job": client.submit(r["queue"], r["payload"], id=r["job"], delay=r["delay"], at=at)}


def job(r):
    found = client.job(r["job"], r["wait_ms"] / 1000)
    return {"job": found.id, "state": found.state}


def wait(r):
    found = client.wait(r["job"])
    return {"job": found.id, "state": found.state}


def cancel(r):
    return {"job": r["job"], "done": client.cancel(r["job"])}


def many(r):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(client.leads(r["task"]))) for _ in range(r["n"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"answers": len(answers), "leading": sum(a.leads for a in answers)}


def bench(r):
    took = []
    for _ in range(r["n"] + 200):
        begun = time.perf_counter()
        client.leads(r["task"])
        took.append(time.perf_counter() - begun)
    return {"median_us": round(1e6 * statistics.median(took[200:]), 1)}


def serve(request):
    try:
        done = globals()[request["do"]](request)
        if done is not None:
            say(request, ok=done)
    except zkleader.Error as e:
        say(request, error={"code": e.code, "message": e.message, **({"job": e.job} if e.job else {})})


threading.stack_size(256 * 1024)
for line in sys.stdin:
    threading.Thread(target=serve, args=(json.loads(line),), daemon=True).start()
client.close()
with writing:  # none of the threads is at it
    os._exit(0)
