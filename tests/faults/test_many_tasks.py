"""A session with as many tasks as a worker may have, through a restart of the server."""
import pytest

from harness.oracle import Oracle, now
from harness.waiting import wait_until

COUNT = 10_000
TASKS = [f"t{i}" for i in range(COUNT)]
pytestmark = [pytest.mark.slow, pytest.mark.seconds(300)]


def test_a_session_with_10000_tasks_survives_a_restart_of_the_server(fleet, zk, own_server):
    own_server.start()
    only = fleet.sidecar("only", tasks=TASKS, session_timeout="20s", log_level="info", ready=False)
    began = now()
    wait_until(lambda: only.status()["leads"] == COUNT, 120, "it leads all")
    print(f"measured: {COUNT} tasks led {now() - began:.2f} s after the start")
    with Oracle(TASKS[-1], only) as oracle:
        token = oracle.led(by=only).token
        tokens = {t["task"]: t["token"] for t in only.call("tasks", timeout=60)}
        own_server.kill()
        own_server.start()
        since = now()
        wait_until(only.is_connected, 120, "it is connected again")
        assert oracle.led(by=only, within=60).token == token
        print(f"measured: confirmed again {now() - since:.2f} s after the restart")
        again = {t["task"]: (t["state"], t["token"]) for t in only.call("tasks", timeout=60)}
        assert again == {t: ("leading", n) for t, n in tokens.items()}
        # The session still hears of its nodes: the watches came along, in one packet or several.
        zk.client.delete(zk.path("leaders", TASKS[0]))
        wait_until(lambda: only.check(TASKS[0])["token"] > tokens[TASKS[0]], 60, "the watches are there")
