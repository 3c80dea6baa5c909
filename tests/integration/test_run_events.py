"""`run` notifications: each run on this server as it begins and ends, and nowhere else."""
from harness.jobs import next_tick
from harness.sidecar import task_text
from harness.waiting import wait_until

TASK = "nightly"


def heard(client, n, timeout=30):
    """The first n `run` notifications."""
    def runs():
        return [data for method, data in client.notifications if method == "run"]
    while len(runs()) < n:
        client.pump(timeout)
    return runs()


def test_runs_are_told_as_they_begin_and_end(fleet, jobs):
    a, b = (fleet.sidecar(name, version=version, tasks=[task_text(TASK, tick="1s"), "other"])
            for name, version in (("a", "2"), ("b", "1")))
    wait_until(lambda: a.leads(TASK), what="a leads")
    job = jobs(TASK)
    with a.client() as all_tasks, a.client() as one, a.client() as another, b.client() as elsewhere:
        for client, names in ((all_tasks, ()), (one, (TASK,)), (another, ("other",)), (elsewhere, ())):
            client.call("subscribe", *names)
        next_tick(1)
        assert job.run(a, "--tick", "1s", body="exit 3").code() == 3
        begun, ended = heard(all_tasks, 2)
        token = a.check(TASK)["token"]
        for event, state, status in ((begun, "running", None), (ended, "failed", 3)):
            assert event.pop("time") and event.pop("node")
            tick, run = event.pop("tick"), event.pop("run")
            assert len(run) == 32
            assert event == {"task": TASK, "state": state, "attempt": 1, "token": token, "exit_status": status,
                             "output": None}
        [recorded] = a.call("history", TASK)
        assert recorded["tick"] == tick and recorded["state"] == "failed"
        assert [e["state"] for e in heard(one, 2)] == ["running", "failed"]
        for client in (another, elsewhere):
            client.call("status")  # behind it nothing of the run can come
            assert not [m for m, _ in client.notifications if m == "run"]


def test_a_claim_that_runs_nothing_and_a_run_without_a_tick(fleet, jobs, program):
    a = fleet.sidecar("a", tasks=[task_text(TASK, tick="1s")])
    wait_until(lambda: a.leads(TASK), what="a leads")
    with a.client() as client:
        client.call("subscribe")
        assert program("zkleader-check", "-s", a.socket, "--once", TASK).code == 0
        [claimed] = heard(client, 1)
        assert claimed["state"] == "claimed" and claimed["exit_status"] is None and claimed["tick"]
        assert jobs(TASK).run(a, "--tick", "none", body="true").code() == 0
        _, begun, ended = heard(client, 3)
        assert [(e["state"], e["tick"]) for e in (begun, ended)] == [("running", None), ("ok", None)]
