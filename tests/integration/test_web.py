"""zkleader-web: what it serves, to whom, and what it withstands."""
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

from harness.process import spawn
from harness.sidecar import build, queue_text, sanitizer_env, task_text
from harness.waiting import wait_until

TOKEN = "a-token-of-good-length"
TASKS = ["nightly-report", "cleanup"]


def events(web, kinds, seconds=60, **headers):
    """The first event of each kind that comes on a stream."""
    found = {}
    c = http.client.HTTPConnection("127.0.0.1", web.port, timeout=seconds)
    c.request("GET", "/v1/events", headers=headers)
    r = c.getresponse()
    assert (r.status, r.headers["Content-Type"]) == (200, "text/event-stream")

    def read():
        kind = None
        while set(found) != set(kinds):
            line = r.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: ") and kind in kinds and kind not in found:
                found[kind] = json.loads(line[6:])
        c.close()
        return found

    return read


# --- what it serves


def test_json_is_what_the_sidecar_says(fleet, web):
    only = fleet.sidecar("only", tasks=TASKS)
    wait_until(lambda: only.status()["leads"] == 2, what="it leads both")
    w = web(only)
    wait_until(lambda: w.get("/readyz")[0] == 200, what="the web server has found the sidecar")
    status, tasks = w.json("/v1/tasks")
    assert status == 200 and [t["task"] for t in tasks] == sorted(TASKS)
    status, one = w.json("/v1/tasks/cleanup")
    assert status == 200 and one["task"] == "cleanup" and one["state"] == "leading"
    assert w.json("/v1/workers")[1][0]["self"] is True
    assert w.json("/v1/status")[1]["leads"] == 2
    assert w.json("/v1/explain/cleanup")[1]["ranking"][0]["candidate"] is True
    assert w.json("/v1/history/cleanup") == (200, [])
    assert w.json("/v1/tasks/nosuch")[0] == 404
    assert w.get("/v1/nosuch")[0] == 404 and w.get("/v1/tasks/a%2fb")[0] == 404


def test_probes_follow_the_sidecar_and_its_session(fleet, web, proxy):
    only = fleet.sidecar("only", tasks=TASKS, zookeeper=proxy.address)
    w = web(only)
    wait_until(lambda: w.get("/healthz")[0] == 200 and w.get("/readyz")[0] == 200, what="both say yes")
    proxy.cut()
    wait_until(lambda: w.get("/readyz")[0] == 503, what="it is not ready without a session")
    assert w.get("/healthz")[0] == 200
    only.pause()
    wait_until(lambda: w.get("/healthz")[0] == 503, what="a sidecar that is stopped does not answer")
    only.resume()
    wait_until(lambda: w.get("/healthz")[0] == 200, what="it answers again")
    only.kill()
    wait_until(lambda: w.get("/healthz")[0] == 503, what="it says that the sidecar is gone")
    status, headers, body = w.get("/v1/tasks")
    assert status == 503 and "error" in json.loads(body)
    assert "zkleader_up 0" in w.get("/metrics")[2]


def test_one_node_alone_is_the_leader(fleet, web):
    both = [fleet.sidecar(n, tasks=TASKS) for n in ("a", "b")]
    webs = [web(s) for s in both]

    def leader_of(task):
        """Which of them answers 200 while the other says 503, in a list; False within a handover."""
        found = [w.get(f"/leader/{task}")[0] for w in webs]
        return sorted(found) == [200, 503] and [found.index(200)]

    for task in TASKS:
        (leader,) = wait_until(lambda t=task: leader_of(t), what=f"one leads {task}")
    assert webs[0].get("/leader/nosuch")[0] == 404
    assert webs[0].get("/leader/")[0] == 404
    both[leader].stop()
    wait_until(lambda: webs[1 - leader].get("/leader/cleanup")[0] == 200, what="the other leads")
    assert webs[leader].get("/leader/cleanup")[0] == 503


def test_a_partition_is_asked_for_by_its_name(fleet, web):
    only = fleet.sidecar("only", tasks=[task_text("scan", partitions=2)])
    w = web(only)
    wait_until(lambda: [w.get(f"/leader/scan:{k}")[0] for k in (0, 1)] == [200, 200], what="it leads both")
    assert w.get("/leader/scan:2")[0] == 404 and w.get("/leader/scan:00")[0] == 404
    assert w.json("/v1/tasks/scan:1")[1]["task"] == "scan:1" and w.json("/v1/tasks/scan")[1]["led"] == 2
    assert w.json("/v1/explain/scan:1")[1]["task"] == "scan:1" and w.json("/v1/history/scan:1") == (200, [])
    assert w.get("/task/scan:1")[0] == 200 and w.get("/task/scan")[0] == 200
    assert w.get("/leader/scan")[0] == 404


def test_a_stream_tells_of_changes(fleet, web):
    only = fleet.sidecar("only", tasks=TASKS)
    w = web(only)
    wait_until(lambda: w.get("/readyz")[0] == 200, what="it is ready")
    read = events(w, {"leadership", "membership", "decision", "connection"})
    other = fleet.sidecar("other", tasks=TASKS, version="2.0")
    only.call("pause", "cleanup")
    found = read()
    assert found["membership"]["event"] == "joined" and found["membership"]["version"] == "2.0"
    assert found["decision"]["kind"] == "pause" and found["leadership"]["task"] in TASKS
    assert found["connection"]["confirmed"] is True
    assert other.is_running()


def test_a_stream_says_that_the_sidecar_has_gone(fleet, web):
    only = fleet.sidecar("only", tasks=TASKS)
    w = web(only)
    wait_until(lambda: w.get("/readyz")[0] == 200, what="it is ready")
    c = http.client.HTTPConnection("127.0.0.1", w.port, timeout=15)
    c.request("GET", "/v1/events")
    r = c.getresponse()
    only.kill()
    lines = iter(lambda: r.readline().decode(), "")
    assert any('"confirmed":false' in line and '"sidecar":false' in line for line in lines)
    c.close()


def test_at_most_a_hundred_streams(fleet, web):
    only = fleet.sidecar("only")
    w = web(only)
    streams = []
    for _ in range(100):
        c = http.client.HTTPConnection("127.0.0.1", w.port, timeout=10)
        c.request("GET", "/v1/events")
        streams.append((c, c.getresponse()))
    assert {r.status for _, r in streams} == {200}
    assert w.get("/v1/events")[0] == 503
    streams.pop()[0].close()
    for c, r in streams:
        r.close()
        c.close()


# --- metrics

SAMPLE = re.compile(r"^([a-z_]+)(\{[^}]*\})? (-?[0-9.]+|\+Inf)$")


def samples(text):
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            m = SAMPLE.match(line)
            assert m, line
            assert m[1] + (m[2] or "") not in found, f"twice: {line}"
            found[m[1] + (m[2] or "")] = float(m[3])
    return found


def test_metrics_in_both_formats(fleet, web):
    only = fleet.sidecar("only", tasks=TASKS, session_timeout="10s")
    wait_until(lambda: only.status()["leads"] == 2, what="it leads both")
    w = web(only)
    wait_until(lambda: w.get("/readyz")[0] == 200, what="it is ready")
    _, headers, text = w.get("/metrics")
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    found = samples(text)
    assert found["zkleader_up"] == 1 and found["zkleader_session_confirmed"] == 1
    assert found["zkleader_leads"] == 2 and found['zkleader_workers{version="1.0"}'] == 1
    assert found['zkleader_leaderships_total{task="cleanup"}'] == 1
    assert found["zkleader_zookeeper_request_seconds_count"] > 0
    assert found['zkleader_requests_total{method="status"}'] > 0
    assert "# TYPE zkleader_leaderships_total counter" in text and "# EOF" not in text
    _, headers, text = w.get("/metrics", Accept="application/openmetrics-text;version=1.0.0,*/*;q=0.1")
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    assert "# TYPE zkleader_leaderships counter" in text and text.endswith("# EOF\n")
    samples(text)


def test_metrics_are_the_truth_after_handovers_and_runs(fleet, web, program):
    both = [fleet.sidecar(n, tasks=[task_text("cleanup", tick="1s", **{"yield": "never"})], session_timeout="10s")
            for n in ("a", "b")]
    webs = [web(s) for s in both]
    begun = [0, 0]
    wait_until(lambda: all(len(s.call("workers")) == 2 for s in both), what="they know each other")

    def leader():
        states = [s.call("check", "cleanup")["leader"] for s in both]
        return states.index(True) if any(states) else None

    def led():
        return wait_until(lambda: [i for i in [leader()] if i is not None], what="one leads")[0]

    for _ in range(4):
        at = led()
        begun[at] += 1
        code = program("zkleader", "-s", both[at].socket, "run", "--tick", "none", "cleanup", "--", "true").code
        assert code == 0
        both[at].call("resign", "cleanup")
        wait_until(lambda a=at: leader() == 1 - a, what="the other leads")
        both[at].call("unresign", "cleanup")
        wait_until(lambda a=at: all(r["candidate"] for r in both[1 - a].call("explain", "cleanup")["ranking"]),
                   what="the leader knows that it is a candidate again")
    begun[led()] += 1
    for i, w in enumerate(webs):
        found = samples(w.get("/metrics")[2])
        assert found['zkleader_leaderships_total{task="cleanup"}'] == begun[i]
    total = sum(samples(w.get("/metrics")[2])['zkleader_runs_total{task="cleanup",state="ok"}'] for w in webs)
    assert total == 4


# --- who may


def refused(*args):
    return subprocess.run([build() / "zkleader-web", *args], capture_output=True, text=True, timeout=20)


def test_what_is_refused_at_the_start(folder):
    token = folder / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o640)
    for args, words in (
            (["-l", "0.0.0.0:0"], "token"),
            (["-l", "[::]:0"], "token"),
            (["-l", "nonsense"], "ADDRESS:PORT"),
            (["-l", "127.0.0.1:70000"], "port"),
            (["-l", "unix:relative"], "begins with /"),
            (["--token-file", str(folder / "none")], "No such file"),
            (["--host", "a b"], "name of a host"),
            (["stray"], "there are none"),
            (["--nosuch"], "nosuch")):
        r = refused(*args)
        assert r.returncode == 78 and words in r.stderr, (args, r)
    token.chmod(0o644)
    r = refused("-l", "0.0.0.0:0", "--token-file", token)
    assert r.returncode == 78 and "chmod 640" in r.stderr
    token.chmod(0o600)
    for text in ("\nsecond\n", "a b\n", "x" * 513):
        token.write_text(text)
        r = refused("-l", "0.0.0.0:0", "--token-file", token)
        assert r.returncode == 78 and "1 to 512" in r.stderr, (text, r)


def test_a_short_token_is_taken_and_warned_of(fleet, web, folder):
    token = folder / "token"
    token.write_text("short\n")
    token.chmod(0o600)
    w = web(fleet.sidecar("only", tasks=TASKS), "--token-file", token)
    wait_until(lambda: w.get("/readyz")[0] == 200, what="it answers")
    assert w.get("/v1/tasks")[0] == 401 and w.get("/v1/tasks", Authorization="Bearer short")[0] == 200
    assert "the token can be guessed" in w.log.read_text()


def test_localhost_is_a_place_to_listen(fleet, web):
    w = web(fleet.sidecar("only"), listen="localhost:{port}")
    wait_until(lambda: w.get("/healthz")[0] == 200, what="it answers")


def test_a_token_is_asked_for(fleet, web, folder):
    token = folder / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    w = web(fleet.sidecar("only", tasks=TASKS), "--token-file", token)
    wait_until(lambda: w.get("/readyz")[0] == 200, what="probes need none")
    for path in ("/", "/metrics", "/v1/tasks", "/v1/events", "/leader/cleanup", "/task/cleanup", "/nosuch"):
        assert w.get(path)[0] == 401, path
        assert w.get(path, Authorization="Bearer " + TOKEN[:-1])[0] == 401
        assert w.get(path, Cookie="zkleader=" + TOKEN)[0] == 401
    assert w.get("/v1/tasks", Authorization="Bearer " + TOKEN)[0] == 200
    assert w.get("/?token=wrong")[0] == 401
    status, headers, body = w.get("/?token=" + TOKEN)
    assert status == 303 and headers["Location"] == "/" and TOKEN not in body
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and TOKEN not in cookie
    assert w.get("/", Cookie=cookie.split(";")[0])[0] == 200
    assert w.get("/", Cookie="other=1; " + cookie.split(";")[0] + "; more=2")[0] == 200
    assert TOKEN not in w.log.read_text()


def test_only_its_own_names_are_answered(fleet, web):
    w = web(fleet.sidecar("only"), "--host", "fleet.example")
    for host in ("localhost", "localhost:1", "127.0.0.1", "127.9.9.9:80", "[::1]:80", "fleet.example", "FLEET.example:8"):
        assert w.get("/v1/status", Host=host)[0] in (200, 503), host
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "10.0.0.1", ""):
        assert w.get("/v1/status", Host=host)[0] in (400, 421), host
    assert w.get("/", Host="evil.example")[0] == 421


def test_nothing_can_be_changed(fleet, web):
    w = web(fleet.sidecar("only", tasks=TASKS))
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        status, headers, _ = w.get("/v1/tasks", method=method)
        assert status == 405 and headers["Allow"] == "GET, HEAD", method
    status, headers, body = w.get("/healthz", method="HEAD")
    assert status in (200, 503) and body == ""


# --- what it withstands


@pytest.mark.slow
def test_slow_clients_and_nonsense_keep_nobody_out(fleet, web):
    only = fleet.sidecar("only", tasks=TASKS)
    w = web(only)
    wait_until(lambda: w.get("/readyz")[0] == 200, what="it is ready")
    slow = [socket.create_connection(("127.0.0.1", w.port), timeout=30) for _ in range(1000)]
    for s in slow:
        try:
            s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        except OSError:
            pass  # there are more than it serves
    for text in (b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"G" * 70000,
                 b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10000, b"GET /\xff%00%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", w.port), timeout=30) as s:
            try:
                s.sendall(text)
                s.recv(1000)
            except OSError:
                pass
    assert w.get("/v1/tasks")[0] == 200
    deadline = time.monotonic() + 30
    for s in slow:  # who sends byte by byte is let go, too
        while True:
            assert time.monotonic() < deadline
            try:
                s.sendall(b"x")
                s.settimeout(0.01)
                if s.recv(1000) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    for s in slow:
        s.close()
    assert w.get("/healthz")[0] == 200
    assert all(only.leads(task) for task in TASKS) and "no longer leading" not in only.log()


def test_a_unix_socket(fleet, web, folder):
    only = fleet.sidecar("only", tasks=TASKS)
    path = folder / "web.sock"

    def ask(text):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(str(path))
            s.sendall(text)
            return s.recv(100)

    process = spawn([build() / "zkleader-web", "-s", only.socket, "-l", f"unix:{path}"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=sanitizer_env(folder))
    try:
        wait_until(path.exists, what="its socket is there")
        ok = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        wait_until(lambda: ask(ok).startswith(b"HTTP/1.1 200"), what="it answers there")
        for host in ("sidecar", "evil.example:8", "[::2]", "10.0.0.1", "a/b", "x" * 1000):
            assert ask(ok.replace(b"localhost", host.encode())).startswith(b"HTTP/1.1 200"), host
        assert ask(b"GET /readyz HTTP/1.0\r\n\r\n").split()[1] == b"200", "a request without a Host"
        assert ask(b"POST /readyz HTTP/1.0\r\n\r\n").split()[1] == b"405"
        if shutil.which("curl"):
            curl = subprocess.run(["curl", "-sS", "--unix-socket", path, "http://zkleader/v1/tasks/cleanup"],
                                  stdout=subprocess.PIPE, check=True, timeout=60)
            assert json.loads(curl.stdout)["task"] == "cleanup"
    finally:
        process.terminate()
        assert process.wait(60) == 0
    assert not path.exists() and not os.path.lexists(path)


# --- the page


def test_the_page_escapes_what_it_shows(fleet, web):
    only = fleet.sidecar("only", tasks=[task_text("cleanup", description="<script>alert(1)</script> & \"more\"")])
    w = web(only)
    wait_until(lambda: w.get("/readyz")[0] == 200, what="it is ready")
    only.call("pause", "cleanup", {"reason": "<b>because</b>"})
    wait_until(lambda: "because" in w.get("/")[2], what="the page shows the reason")
    for path in ("/", "/task/cleanup"):
        status, headers, body = w.get(path)
        assert status == 200 and headers["Content-Type"].startswith("text/html")
        assert "<script>alert" not in body and "<b>because" not in body
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;more&quot;" in body
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert not re.search(r'(src|href)="(https?:)?//', body)
    assert w.get("/task/nosuch")[0] == 404
    for path, kind in (("/style.css", "text/css"), ("/app.js", "text/javascript"), ("/icon.svg", "image/svg+xml")):
        status, headers, body = w.get(path)
        assert status == 200 and headers["Content-Type"].startswith(kind) and body


def test_the_page_of_a_sidecar_that_is_away_says_so(fleet, web):
    only = fleet.sidecar("only", tasks=TASKS)
    w = web(only)
    only.kill()
    wait_until(lambda: "does not answer" in w.get("/")[2], what="the page says so")
    assert w.get("/")[0] == 503


def test_queues_are_on_the_page_in_the_json_and_in_the_leaders_metrics(queues, web):
    both = [queues.site(name, queue_text("q", command=["/bin/false"], attempts=1)) for name in ("a", "b")]
    queues.wait_open()
    job = queues.submit(both[0], payload=b"x")
    assert queues.wait_state(both[0], job)["state"] == "dead"
    webs = [web(s) for s in both]
    for w in webs:
        wait_until(lambda: w.get("/readyz")[0] == 200, what="it is ready")
        [found] = json.loads(w.get("/v1/queues")[2])
        assert (found["queue"], found["queued"], found["dead"]) == ("q", 0, 1)
        page = w.get("/")[2]
        assert "<h2>Queues</h2>" in page and "Dead letters" in page
    told = [samples(w.get("/metrics")[2]).get('zkleader_dead{queue="q"}') for w in webs]
    assert sorted(told, key=str) == [1, None]


def test_the_page_says_when_a_task_is_due(fleet, web):
    task = ('task "soon" {\n  schedule = "every 30d"\n  user = "root"\n  command = {"/bin/true"}\n}\n')
    w = web(fleet.sidecar("only", tasks=[task], ready=False))
    wait_until(lambda: w.get("/readyz")[0] == 200, what="it is ready")
    [found] = json.loads(w.get("/v1/tasks")[2])
    assert found["due"] and f'<time datetime="{found["due"]}"' in w.get("/")[2]


def test_pages_share_what_costs_zookeeper_something(queues, web):
    """A hundred pages fetched at once read the queue a few times; dead letters are read anew when there are more of
    them."""
    one = queues.site("one", queue_text("q", command=["/bin/false"], attempts=1))
    queues.wait_open()
    queues.wait_state(one, queues.submit(one), "dead")
    w = web(one)
    wait_until(lambda: w.get("/readyz")[0] == 200, what="it is ready")

    def asked():
        requests = one.call("metrics")["requests"]
        return requests["queue"], requests["dead"]

    def fetch(path, n):
        before, begun, pages = asked(), time.monotonic(), []
        threads = [threading.Thread(target=lambda: pages.append(w.get(path)[2])) for _ in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(pages) == n
        return pages, [a - b for a, b in zip(asked(), before)], time.monotonic() - begun

    for path in ("/", "/task/q"):
        pages, (queue, dead), took = fetch(path, 100)
        assert all("Dead letters" in page for page in pages)
        assert 1 <= queue <= 2 + took and dead <= 1, (path, queue, dead, took)
    job = queues.submit(one)
    queues.wait_state(one, job, "dead")
    wait_until(lambda: job in w.get("/task/q")[2], what="what is new is shown")
    assert w.get("/task/q")[2].count("zkleader requeue JOB") == 1


def test_two_nodes_never_say_that_they_lead_at_the_same_time(fleet, web):
    """By the token before and behind an answer a node led all the time between them."""
    task, found, ended = TASKS[0], [], threading.Event()
    nodes = [fleet.sidecar(name, tasks=TASKS) for name in "abc"]
    webs = [web(s) for s in nodes]

    def token(w):
        status, _, text = w.get(f"/v1/tasks/{task}")
        entry = json.loads(text) if status == 200 else {}
        return entry["token"] if entry.get("state") == "leading" else None

    def ask(i):
        while not ended.is_set():
            try:
                before = token(webs[i])
                since = time.monotonic()
                leads = webs[i].get(f"/leader/{task}")[0] == 200
                until = time.monotonic()
                if leads and before and token(webs[i]) == before:
                    found.append((i, since, until, before))
            except OSError:
                pass  # it is paused

    def leaderships():
        return len({(i, token) for i, _, _, token in found[:]})

    threads = [threading.Thread(target=ask, args=(i,), daemon=True) for i in range(3)]
    for t in threads:
        t.start()
    try:
        for turn in range(4):
            wait_until(lambda n=turn: leaderships() > n, what="the leader is seen to lead")
            leader = wait_until(lambda: next((s for s in nodes if s.leads(task)), None), what="somebody leads")
            others = [s for s in nodes if s is not leader]
            if turn % 2:
                wait_until(lambda who=leader: who.call("resign", task, {}) is not None, what="it may be resigned")
            else:
                leader.pause()
            wait_until(lambda o=others: any(s.leads(task) for s in o), what="another leads")
            if not turn % 2:
                leader.resume()
    finally:
        ended.set()
        for t in threads:
            t.join(60)
    assert leaderships() >= 4
    latest = {}
    for i, since, until, _ in sorted(found, key=lambda one: one[1]):
        assert all(since >= over for j, over in latest.items() if j != i), "two led at the same time"
        latest[i] = max(until, latest.get(i, until))
