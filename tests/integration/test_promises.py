"""Whatever answer says for how long it is good is good for so long, though its leader is told to give up."""
import datetime
import time

import msgpack
import pytest

from harness.faults import LED_AGAIN, TASK
from harness.oracle import now
from harness.waiting import wait_until


def asked(leader, method, *params):
    """(from when on it counts, the answer)"""
    at = now()
    return at, leader.call(method, TASK, *params)


def promised_by_check(leader):
    at, answer = asked(leader, "check")
    return at, answer["lease_ms"]


def promised_by_tasks(leader):
    at, answer = asked(leader, "tasks")
    return at, answer[0]["lease_ms"]


def promised_by_a_claim(leader):
    at, answer = asked(leader, "claim", {"kind": "once", "now_ms": int(time.time() * 1000), "tick_ms": 1000})
    assert answer["outcome"] == "yours", answer
    return at, answer["lease_ms"]


def since(text):
    """An RFC 3339 time of this machine by CLOCK_BOOTTIME."""
    return now() - (time.time() - datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def promised_by_a_notification(leader):
    """The task is given up and led again under the eyes of a subscriber, which is told so."""
    with leader.client() as client:
        client.call("subscribe", TASK)
        wait_until(lambda: leader.call("pause", TASK, {}), what="it is paused")
        leader.call("resume", TASK)

        def told():
            client.pump()
            event, it = client.notifications[-1]
            return event == "leadership" and it["state"] == "leading" and (since(it["time"]), it["lease_ms"])
        return wait_until(told, what="the subscriber hears that it leads")


@pytest.mark.parametrize("promised", [promised_by_check, promised_by_tasks, promised_by_a_claim, promised_by_a_notification])
def test_what_was_promised_is_over_before_another_leads(fleet, zk, promised):
    leader = fleet.sidecar("leader", version="2", tasks=[TASK], session_timeout="10s", yield_delay="2s")
    standby = fleet.sidecar("standby", version="1", tasks=[TASK], session_timeout="10s", yield_delay="2s")
    # Not by asking who leads, which would be answered with a promise.
    zk.wait_for_leader(TASK, leader)
    wait_until(lambda: len(leader.explain(TASK)["ranking"]) == 2 and leader.status()["lease_ms"] > 4000,
               what="it knows the other, and has a lease")
    at, lease_ms = promised(leader)
    assert lease_ms > 1500
    wait_until(lambda: leader.call("resign", TASK, {}), what="it is told to give up")
    wait_until(lambda: standby.leads(TASK), LED_AGAIN, "the other leads")
    led = now()
    early = at + lease_ms / 1000 - led
    assert early < 0.02, f"another leads {early:.2f} s before the end of the promise"
    print(f"measured: {lease_ms / 1000:.2f} s were promised, another led {led - at:.2f} s after the question")


def kept(leader):
    """The file that the sidecar leaves for the next one."""
    return f"{leader.socket}.session"


def as_an_older_release_has_it(leader):
    with open(kept(leader), "rb") as file:
        left = msgpack.unpackb(file.read())
    del left["promise_ms"], left["promised_ms"]
    with open(kept(leader), "wb") as file:
        file.write(msgpack.packb(left))
    leader.write_config(yield_delay="0s")


CHANGES = {
    "a shorter yield-delay": lambda leader: leader.write_config(yield_delay="0s"),
    "without the task": lambda leader: leader.write_tasks("other"),
    "the task's file refused": lambda leader: leader.write_tasks(f'task "{TASK}" {{ no-such-key = 1 }}\n'),
    "from an older release": as_an_older_release_has_it,
}


def beside_a_better_one(fleet, zk):
    """A leader that waits a minute before it gives the task up to a newer one, which is there."""
    settings = {"tasks": [TASK], "session_timeout": "10s", "tick_guard": "0s", "yield_delay": "60s"}
    leader = fleet.sidecar("leader", version="1", **settings)
    zk.wait_for_leader(TASK, leader)
    better = fleet.sidecar("better", version="2", **settings)
    wait_until(lambda: len(leader.explain(TASK)["ranking"]) == 2 and leader.status()["lease_ms"] > 5500,
               what="it knows the better one, and has a lease")
    return leader, better


def made_at(zk):
    """When the present leader claimed the task, by CLOCK_BOOTTIME."""
    return now() - (time.time() - zk.client.get(zk.path("leaders", TASK))[1].ctime / 1000)


@pytest.mark.parametrize("what", CHANGES)
def test_a_promise_outlives_a_restart_with_other_settings(fleet, zk, what):
    leader, better = beside_a_better_one(fleet, zk)
    at, lease_ms = promised_by_check(leader)
    assert lease_ms > 5000, "more than a quarter of the session's timeout"
    leader.kill()
    CHANGES[what](leader)
    leader.start(ready=False)
    zk.wait_for_leader(TASK, better)
    assert made_at(zk) > at + lease_ms / 1000


def test_a_promise_outlives_a_reload_and_a_restart(fleet, zk):
    leader, better = beside_a_better_one(fleet, zk)
    at, lease_ms = promised_by_check(leader)
    leader.write_config(yield_delay="0s")
    leader.call("reload")
    leader.kill()
    leader.start(ready=False)
    zk.wait_for_leader(TASK, better)
    assert made_at(zk) > at + lease_ms / 1000
