"""Drives the Python client for asyncio; see tests/clients/README.md."""
import asyncio
import datetime
import json
import os
import statistics
import sys
import threading
import time

import zkleader.aio

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
client = zkleader.aio.connect(sys.argv[1])
kept, scopes, watches = {}, {}, {}


def say(request, **what):
    sys.stdout.write(json.dumps({"id": request["id"], **what}) + "\n")
    sys.stdout.flush()


def fields(a):
    return {"leads": a.leads, "token": a.token, "state": a.state, "leader": a.leader, "version": a.version}


async def leads(r):
    kept[r["id"]] = answer = await client.leads(r["task"])
    return fields(answer)


async def still(r):
    return {"leads": kept[r["of"]].leads}


async def watch(r):
    watches[r["id"]] = made = client.watch(*r["tasks"])
    say(r, ok={})
    async for change in made:
        say(r, event={"task": change.task, **fields(change)})


async def unwatch(r):
    watches[r["of"]].close()
    return {}


async def leading(r):
    left = asyncio.Event()
    entered = None
    try:
        async with client.leading(r["task"], wait=r["wait"]) as entered:
            scopes[r["id"]] = entered, left
            say(r, event={"entered": True, "token": entered.token})
            await left.wait()
    except zkleader.Error as e:
        if e.code == 3:
            raise
        if entered:
            say(r, event={"lost": True, "left_ms": round(1000 * (entered.until - zkleader.now()))})
        else:
            say(r, event={"entered": False, "code": e.code})


async def check(r):
    scopes[r["of"]][0].check()
    return {"leads": True}


async def leave(r):
    scopes[r["of"]][1].set()
    return {}


class Failed(Exception):
    pass


async def run(r):
    async def work(mine):
        say(r, event={"began": True, "tick": mine.tick, "token": mine.token, "attempt": mine.attempt})
        await asyncio.sleep(r["hold_ms"] / 1000)
        if r["outcome"] == "fail":
            raise Failed()
    try:
        ran = await client.run(r["task"], work, tick=r["tick"])
    except Failed:
        return {"ran": True, "reason": "failed"}
    except zkleader.Lost:
        return {"ran": True, "reason": "lost"}
    return {"ran": ran.ran, "reason": ran.reason}


async def submit(r):
    at = r.get("at_us") and EPOCH + datetime.timedelta(microseconds=r["at_us"])
    return {"job": await client.submit(r["queue"], r["payload"], id=r["job"], delay=r["delay"], at=at)}


async def job(r):
    found = await client.job(r["job"], r["wait_ms"] / 1000)
    return {"job": found.id, "state": found.state}


async def wait(r):
    found = await client.wait(r["job"])
    return {"job": found.id, "state": found.state}


async def cancel(r):
    return {"job": r["job"], "done": await client.cancel(r["job"])}


async def many(r):
    answers = await asyncio.gather(*(client.leads(r["task"]) for _ in range(r["n"])))
    return {"answers": len(answers), "leading": sum(a.leads for a in answers)}


async def bench(r):
    took = []
    for _ in range(r["n"] + 200):
        begun = time.perf_counter()
        await client.leads(r["task"])
        took.append(time.perf_counter() - begun)
    return {"median_us": round(1e6 * statistics.median(took[200:]), 1)}


async def serve(request):
    try:
        done = await globals()[request["do"]](request)
        if done is not None:
            say(request, ok=done)
    except zkleader.Error as e:
        say(request, error={"code": e.code, "message": e.message, **({"job": e.job} if e.job else {})})


async def main():
    loop, over, tasks = asyncio.get_running_loop(), asyncio.Event(), set()

    def begin(request):
        tasks.add(asyncio.ensure_future(serve(request)))

    def read():
        for line in sys.stdin:
            loop.call_soon_threadsafe(begin, json.loads(line))
        loop.call_soon_threadsafe(over.set)
    threading.Thread(target=read, daemon=True).start()
    await over.wait()
    await client.close()
    os._exit(0)


asyncio.run(main())
