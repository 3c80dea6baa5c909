"""Common to the tests under faults."""
from harness.oracle import now
from harness.waiting import wait_until

TASK = "nightly-report"
# Session timeout 3 s: expiry, its bucket, and another's turn to claim. The rest is for slow machines.
LED_AGAIN = 60
QUEUED = 20


def leads(sidecar):
    wait_until(lambda: sidecar.leads(TASK), what=f"{sidecar.name} leads")
    return sidecar


def pair(fleet, behind=None, env=None, **config):
    """A leader (behind a proxy, in an environment of its own), and a standby with an older version."""
    leader = leads(fleet.sidecar("leader", version="2", tasks=[TASK], env=env,
                                 zookeeper=behind.address if behind else None, **config))
    return leader, fleet.sidecar("standby", version="1", tasks=[TASK], **config)


def ask_in_advance(client):
    """Questions that nobody answers yet: [(when sent, msgid)]."""
    return [(now(), client.send("check", TASK)) for _ in range(QUEUED)]


def take_answers(oracle, sidecar, client, asked):
    for sent, msgid in asked:
        oracle.note(sidecar.name, sent, client.result(msgid))
