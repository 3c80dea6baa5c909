"""Jobs that are posted to a URL, and callbacks, before a real web server that misbehaves in each way."""
import email.utils
import json
import os
import time

import pytest

from harness.queues import answer, loads
from harness.sidecar import queue_text
from harness.waiting import holds_for, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="task files have to be root's")


def posted(hook, path="/", **values):
    return queue_text("q", url=hook.url(path), **{"backoff": "200ms", "attempts": 3, **values})


def outcome(queues, sidecar, payload=b"x"):
    return queues.wait_state(sidecar, queues.submit(sidecar, payload=payload))


def test_a_job_is_posted(queues, hook):
    web = hook(lambda h: answer(h, 200, b"taken\n"))
    a = queues.site("a", posted(web, "/in?x=1"))
    queues.wait_open()
    payload = bytes(range(256)) * 64
    job = queues.submit(a, payload=payload)
    found = queues.wait_state(a, job)
    assert (found["state"], found["attempt"], found["exit_status"], found["output"]) == ("ok", 1, None, "taken\n")
    [asked] = web.requests()
    assert asked["path"] == "/in?x=1" and asked["body"] == payload
    headers = asked["headers"]
    assert headers["Content-Type"] == "application/octet-stream"
    assert (headers["Zkleader-Job"], headers["Zkleader-Attempt"]) == (job, "1")
    assert int(headers["Zkleader-Token"]) > 0
    assert headers["User-Agent"].startswith("zkleader-runner/") and "Expect" not in headers
    code, out, _ = queues.run(a, "submit", "--wait", "q")
    assert code == 0 and out.decode().endswith("taken\n")


def test_a_proxy_of_the_runners_environment_is_used(queues, hook):
    proxy = hook(200)
    a = queues.site("a", queue_text("q", url="http://nowhere.invalid/in", attempts=1),
                    env={"http_proxy": proxy.url("").rstrip("/"), "no_proxy": ""})
    queues.wait_open()
    assert outcome(queues, a)["state"] == "ok"
    assert [r["path"] for r in proxy.requests()] == ["http://nowhere.invalid/in"]


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_2xx_is_ok(queues, hook, status):
    web = hook(status)
    a = queues.site("a", posted(web))
    queues.wait_open()
    assert outcome(queues, a)["state"] == "ok" and len(web.requests()) == 1


def test_other_statuses_are_dead_at_once(queues, hook):
    statuses = [301, 302, 303, 307, 308, 304, 400, 401, 403, 404, 409, 410, 418, 422, 600]
    elsewhere = hook(200)

    def one(status):
        def script(handler):
            answer(handler, status, b"why\n", Location=elsewhere.url("/x"), Retry_After="1")
        return script

    web = hook(*map(one, statuses))
    a = queues.site("a", posted(web))
    queues.wait_open()
    for status in statuses:
        found = outcome(queues, a)
        assert (found["state"], found["attempt"]) == ("dead", 1), status
        assert f"HTTP status {status}, which is not tried again" in found["output"]
        assert "why" in found["output"] or status == 304, "which has no body"
    assert len(web.requests()) == len(statuses) and not elsewhere.requests(), "no redirect is followed"
    code, out, _ = queues.run(a, "submit", "--wait", "q")
    assert code == 70 and "HTTP status 600" in out.decode()


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_these_are_tried_again(queues, hook, status):
    web = hook(status, status, 200)
    a = queues.site("a", posted(web))
    queues.wait_open()
    found = outcome(queues, a)
    assert (found["state"], found["attempt"]) == ("ok", 3)
    assert [r["headers"]["Zkleader-Attempt"] for r in web.requests()] == ["1", "2", "3"]
    tokens = [int(r["headers"]["Zkleader-Token"]) for r in web.requests()]
    assert tokens == sorted(set(tokens)), "each attempt has a greater token"


def test_retry_after_in_seconds_and_as_a_date(queues, hook):
    web = hook(lambda h: answer(h, 503, b"", Retry_After="2"),
               lambda h: answer(h, 429, b"", Retry_After=email.utils.formatdate(time.time() + 3, usegmt=True)),
               lambda h: answer(h, 503, b"", Retry_After="86400"),
               lambda h: answer(h, 503, b"", Retry_After="0"), 200)
    a = queues.site("a", posted(web, attempts=9, backoff="40s", backoff_max="4s"))
    queues.wait_open()
    assert outcome(queues, a)["state"] == "ok"
    at = [r["at"] for r in web.requests()]
    gaps = [b - a for a, b in zip(at, at[1:])]
    assert 2 <= gaps[0] < 20 and 1 <= gaps[1] < 20, gaps
    assert 4 <= gaps[2] < 20, "up to backoff-max"
    assert gaps[3] < 2 + gaps[2], "at once"


def test_a_retry_after_that_makes_no_sense_is_passed_over(queues, hook):
    web = hook(lambda h: answer(h, 503, b"", Retry_After="soon"), lambda h: answer(h, 503, b"", Retry_After="-1"), 200)
    a = queues.site("a", posted(web))
    queues.wait_open()
    assert outcome(queues, a)["state"] == "ok"


def hang_up(handler):
    handler.connection.shutdown(2)


def half_an_answer(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    handler.wfile.flush()
    handler.connection.shutdown(2)


def no_http(handler):
    handler.wfile.write(b"220 mail.example ESMTP\r\n")


def endless_headers(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    try:
        for i in range(100000):
            handler.wfile.write(b"X-%d: %s\r\n" % (i, b"y" * 1000))
    except OSError:
        pass


def test_what_is_no_answer_is_tried_again(queues, hook):
    web = hook(hang_up, half_an_answer, no_http, endless_headers, 200)
    a = queues.site("a", posted(web, attempts=9, backoff="100ms", backoff_max="100ms"), session_timeout="4s")
    queues.wait_open()
    found = outcome(queues, a)
    assert (found["state"], found["attempt"]) == ("ok", 5)


def test_no_connection_is_tried_again(queues, hook):
    web = hook(200)
    web.close()
    a = queues.site("a", posted(web, attempts=2))
    queues.wait_open()
    found = outcome(queues, a)
    assert (found["state"], found["attempt"]) == ("dead", 2) and "no answer: " in found["output"]


def test_no_answer_within_the_timeout_is_tried_again(queues, hook):
    web = hook(lambda h: web.closed.wait(60), 200)
    a = queues.site("a", posted(web, timeout="3s"))
    queues.wait_open()
    found = outcome(queues, a)
    assert (found["state"], found["attempt"]) == ("ok", 2)
    at = [r["at"] for r in web.requests()]
    assert at[1] - at[0] >= 1


def test_an_answer_that_drips_is_ended_by_the_timeout(queues, hook):
    def drip(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not web.closed.wait(0.2):
            handler.wfile.write(b".")
            handler.wfile.flush()

    web = hook(drip)
    a = queues.site("a", posted(web, timeout="2s", attempts=1))
    queues.wait_open()
    assert outcome(queues, a)["state"] == "dead"


def test_at_most_64_kib_of_an_answer_are_read(queues, hook):
    sent = []

    def endless(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while len(sent) < 100000:
                handler.wfile.write(b"z" * 1000)
                sent.append(1)
        except OSError:
            pass

    web = hook(endless)
    a = queues.site("a", posted(web, attempts=1))
    queues.wait_open()
    found = outcome(queues, a)
    assert found["state"] == "ok", "the status says so"
    assert found["output"] == "z" * 2048
    wait_until(lambda: len(sent) < 100000, what="it has hung up")


def test_tls_is_verified(queues, hook):
    web = hook(200, tls=True)
    a = queues.site("a", posted(web, attempts=1))
    queues.wait_open()
    found = outcome(queues, a)
    assert found["state"] == "dead" and "certificate" in found["output"].lower()
    assert not web.requests()


def test_a_request_is_aborted_when_the_lease_is_over(queues, hook, own_server):
    ended = []
    web = hook(lambda h: h.connection.recv(1) == b"" and ended.append(time.monotonic()), 200)
    own_server.start()
    a = queues.site("a", posted(web), session_timeout="4s")
    queues.wait_open()
    job = queues.submit(a)
    wait_until(lambda: web.requests(), what="it is being sent")
    a.pause()
    began = time.monotonic()
    wait_until(lambda: ended, 30, "the connection is closed by the runner's side")
    assert ended[0] - began < 6, "once the session has ended, after 4 s, another may begin it; the rest is for slow machines"
    a.resume()
    found = queues.wait_state(a, job)
    assert (found["state"], found["attempt"]) == ("ok", 2)


def test_cancel_ends_a_request(queues, hook):
    ended = []
    web = hook(lambda h: h.connection.recv(1) == b"" and ended.append(1))
    a = queues.site("a", posted(web))
    queues.wait_open()
    job = queues.submit(a)
    wait_until(lambda: web.requests(), what="it is being sent")
    assert queues.run(a, "cancel", job)[0] == 0
    assert queues.wait_state(a, job)["state"] == "cancelled"
    wait_until(lambda: ended, what="the connection is closed")


# --- callbacks


def test_a_callback_is_sent_the_job_at_its_end(queues, hook):
    web = hook(503, 200)
    a = queues.site("a", queue_text("q", command=["/bin/sh", "-c", "echo secret; exit 3"], attempts=2, backoff="200ms",
                                    callback_allow=[web.url("/done/")]))
    queues.wait_open()
    job = queues.submit(a, "--callback", web.url("/done/1?x"), payload=b"payload")
    found = queues.wait_state(a, job)
    assert found["state"] == "dead"
    wait_until(lambda: len(web.requests()) == 2, what="it is told, and again as that was refused")
    for asked in web.requests():
        assert asked["path"] == "/done/1?x"
        assert asked["headers"]["Content-Type"] == "application/json"
        assert asked["headers"]["Zkleader-Job"] == job
        told = loads(asked["body"])
        assert "output" not in told and "payload" not in told
        assert told == {k: v for k, v in found.items() if k != "output"}
    holds_for(lambda: len(web.requests()) == 2, 3, "once")
    assert a.call("job", job) == found, "the job is as it was"
    assert [d["id"] for d in a.call("dead", "q")] == [job]


def test_a_callback_of_what_was_cancelled_and_of_a_url(queues, hook):
    web = hook(200)
    a = queues.site("a", posted(web, "/job", callback_allow=[web.url("/done")]))
    queues.wait_open()
    job = queues.submit(a, "--callback", web.url("/done/x"))
    wait_until(lambda: [r["path"] for r in web.requests()] == ["/job", "/done/x"], what="both are posted")
    assert loads(web.requests()[1]["body"])["state"] == "ok"
    assert queues.wait_state(a, job)["state"] == "ok"
    late = queues.submit(a, "--in", "1h", "--callback", web.url("/done/y"))
    assert queues.run(a, "cancel", late)[0] == 0
    wait_until(lambda: [r["path"] for r in web.requests()][2:] == ["/done/y"], what="its end is told")
    assert loads(web.requests()[2]["body"])["state"] == "cancelled"


@pytest.mark.slow
def test_receivers_that_hang_keep_no_job_waiting_and_are_given_up(queues, hook):
    web = hook(lambda h: time.sleep(300))
    a = queues.site("a", queue_text("q", command=["/bin/true"], slots=1, attempts=1, max_queued=5,
                                    callback_allow=[web.url("/")]))
    queues.wait_open()
    told = []
    for i in range(12):
        told.append(queues.submit(a, "--callback", web.url(f"/{i}")))
        assert queues.wait_state(a, told[-1])["state"] == "ok"
    wait_until(lambda: len(web.requests()) == 8, what="so many are sent at a time")
    job = queues.submit(a)
    assert queues.wait_state(a, job)["state"] == "ok", "there is a slot, and the queue is not full"
    found = a.call("queue", "q")
    assert (found["state"], found["queued"], found["running"]) == ("active", 0, 0)
    def given_up():
        return [p["message"] for p in a.status()["problems"] if "callbacks" in p["message"]]
    wait_until(lambda: given_up() and len(web.requests()) == 12, 240, "30 s are over, and the others have their turn")
    assert "given up" in given_up()[0] and any(job in given_up()[0] for job in told)
    assert "callback given up" in a.log()


def test_callbacks_that_the_file_does_not_allow(queues, hook):
    web = hook(200)
    a = queues.site("a", queue_text("q", command=["/bin/true"], callback_allow=[web.url("/done/")]))
    queues.wait_open()
    for bad in (web.url("/"), web.url("/done"), web.url("/donex/"), web.url("/done/../x"), web.url("/done/%2e%2e/x"),
                web.url("/done/x").replace("http://", "http://u:p@"), web.url("/done/x").replace("http:", "https:"),
                "http://127.0.0.2/done/x", "file:///etc/passwd", "x"):
        code, out, err = queues.run(a, "submit", "--callback", bad, "q")
        assert (code, out) == (3, b"") and "callback" in err, bad
    assert not web.requests()


def test_a_callback_is_checked_again_where_it_is_sent(queues, hook):
    web = hook(200)
    a = queues.site("a", queue_text("q", command=["/bin/true"], callback_allow=[web.url("/done/")]))
    queues.wait_open()
    job = queues.submit(a, "--in", "3s", "--callback", web.url("/done/1"))
    a.write_tasks(queue_text("q", command=["/bin/true"], callback_allow=[web.url("/other/")]))
    assert queues.wait_state(a, job)["state"] == "ok"
    other = queues.submit(a, "--callback", web.url("/other/1"))
    wait_until(lambda: [r["path"] for r in web.requests()] == ["/other/1"], what="what is allowed is sent")
    assert queues.wait_state(a, other)["state"] == "ok"
    holds_for(lambda: len(web.requests()) == 1, 3, "the other is not")
    assert json.loads(queues.run(a, "--json", "dead", "q")[1]) == []
