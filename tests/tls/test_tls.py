"""TLS to ZooKeeper: who is trusted, what is said where that fails, and files that change while it runs."""
import datetime
import socket
import subprocess
import time

import pytest

from conftest import certify
from harness import tls
from harness.process import end, resident_bytes
from harness.proxy import Proxy
from harness.sidecar import build
from harness.waiting import holds_for, wait_until

TASK = "nightly-report"
MIB = 1 << 20
PAIRS = 25  # of handovers


@pytest.fixture
def sidecar(fleet, zk, authority):
    """sidecar(name, server): one that speaks TLS to it, and trusts the authority."""
    def make(name="only", server=None, zookeeper=None, **config):
        config = {"tls": "true", "tls_ca": authority.cert, **config}
        return fleet.sidecar(name, tasks=[TASK], zookeeper=zookeeper or (server or zk.server).address, **config)
    return make


def leads(one):
    wait_until(lambda: one.leads(TASK), what=f"{one.name} leads")
    return one


def says(one, *words):
    """Its last error, once that has these words; there is no session."""
    def look():
        error = one.status()["session"]["last_error"]
        return error and all(w in error["message"] for w in words) and error
    error = wait_until(look, what=f"last_error has {words}")
    wait_until(lambda: one.check(TASK)["state"] == "disconnected", what="there is no session")
    return error


def server_tls_links(server):
    """The established connections to its port with TLS, as kernel and clients have them."""
    out = subprocess.run(["ss", "-Htn", "state", "established", f"dport = :{server.port}"], capture_output=True,
                         text=True, check=True).stdout
    return len(out.splitlines())


# --- sessions ------------------------------------------------------------------

def test_a_port_that_has_only_tls(fleet, zk, sidecar):
    only = leads(sidecar())
    assert server_tls_links(zk.server) == 1
    assert only.status()["session"]["server"] == zk.server.address
    assert only.status()["healthy"], only.status()["why"]
    # The port does not take a client without TLS.
    plain = fleet.sidecar("plain", ready=False, tasks=[TASK])
    says(plain, "TLS")
    only.stop()


def test_leaders_hand_over_through_tls(zk, sidecar):
    old = leads(sidecar("old", version="1"))
    new = leads(sidecar("new", version="2"))
    new.stop()
    leads(old)


def test_both_sides_show_a_certificate(fleet, zk, secure, sidecar, authority):
    server = secure(client_auth="need")
    cert, key = authority.issue("sidecar")
    leads(sidecar("with", server, tls_cert=cert, tls_key=key, root="/with"))
    without = sidecar("without", server, ready=False, root="/without")
    says(without, "wants a certificate of the sidecar", "tls-cert")


def test_a_certificate_that_the_server_does_not_take(secure, sidecar, folder):
    server = secure(client_auth="need")
    cert, key = tls.Authority(folder / "other", "Other CA").issue("sidecar")
    says(sidecar("foreign", server, ready=False, tls_cert=cert, tls_key=key), "refuses the sidecar's certificate",
         "tls-cert")


def test_an_authority_that_is_not_trusted(zk, sidecar, folder):
    other = tls.Authority(folder / "other", "Other CA")
    error = says(sidecar(ready=False, tls_ca=other.cert), "not trusted", "Test CA", "tls-ca")
    assert error["server"] == zk.server.address


def test_without_tls_ca_it_is_the_systems_that_counts(sidecar):
    says(sidecar(ready=False, tls_ca=None), "not trusted", "tls-ca")


def test_a_name_that_does_not_match_is_told_with_the_one_that_was_wanted(secure, sidecar):
    server = secure("DNS:other.example")
    only = sidecar("only", server, zookeeper=f"localhost:{server.port}", ready=False)
    error = says(only, "other.example", "localhost", "tls-server-name")
    assert error["server"].endswith(f":{server.port}")
    problem = next(p for p in only.status()["problems"] if "other.example" in p["message"])
    assert "localhost" in problem["message"]
    holds_for(lambda: not only.status()["session"]["id"], 1, "no session")


def test_an_address_has_to_be_in_the_certificate_as_well(secure, sidecar):
    server = secure("DNS:localhost")
    says(sidecar("only", server, ready=False), "localhost", "127.0.0.1", "tls-server-name")


@pytest.mark.parametrize("name,good", [("other.example", True), ("a.wild.example", True), ("a.b.wild.example", False),
                                       ("else.example", False), ("127.0.0.1", False)])
def test_the_name_that_is_said_counts_alone(secure, sidecar, name, good):
    server = secure("DNS:other.example", "DNS:*.wild.example", "DNS:localhost")
    only = sidecar("only", server, zookeeper=f"localhost:{server.port}", tls_server_name=name, ready=False)
    if good:
        leads(only)
    else:
        says(only, "other.example", name)


def test_a_certificate_that_has_expired(secure, sidecar):
    server = secure(days=5, ago_days=10)
    says(sidecar("only", server, ready=False), "has expired at", "renew")


def test_a_port_without_tls(zk, sidecar):
    says(sidecar(ready=False, zookeeper=f"127.0.0.1:{zk.server.plain_port}"), "TLS", "secureClientPort")


# --- certificates in time --------------------------------------------------------

def problems(one):
    return [p["message"] for p in one.status()["problems"]]


def test_certificates_that_expire_soon_are_problems(secure, sidecar, authority, folder):
    server = secure(days=13)
    cert, key = authority.issue("soon", days=10)
    only = leads(sidecar("only", server, tls_cert=cert, tls_key=key))
    text = wait_until(lambda: problems(only), what="problems are told")
    assert any("server's certificate expires at" in m and "in 12 days" in m for m in text), text
    assert any("tls-cert expires at" in m and "in 9 days" in m for m in text), text
    assert not any("tls-ca" in m for m in text)
    assert not only.status()["healthy"] and only.leads(TASK)


def test_15_days_are_no_problem(secure, sidecar, authority):
    server = secure(days=16)
    cert, key = authority.issue("later", days=16)
    only = leads(sidecar("only", server, tls_cert=cert, tls_key=key))
    assert only.status()["healthy"], problems(only)


def test_certificates_are_read_anew_at_each_connection(secure, sidecar, authority, folder, program):
    """Another authority, another certificate of ours: all without a restart, and the token stays."""
    server = secure(client_auth="need")
    ours, theirs = folder / "ours", folder / "theirs"
    for one in (ours, theirs):
        one.mkdir()
    cert, key, ca = ours / "cert", ours / "key", ours / "ca"
    replace(authority.issue("first", days=10), cert, key)
    ca.write_bytes(authority.cert.read_bytes())
    with Proxy(server.port) as proxy:
        only = leads(sidecar("only", server, zookeeper=proxy.address, tls_cert=cert, tls_key=key, tls_ca=ca,
                             session_timeout="20s"))
        token = only.check(TASK)["token"]
        assert any("tls-cert expires" in m for m in problems(only))
        # Ours is renewed: the next connection has it, and the problem is over.
        replace(authority.issue("second"), cert, key)
        proxy.drop()
        wait_until(lambda: not problems(only), what="the new certificate is in use")
        # The servers get theirs from another authority, which the file names beside the old one.
        other = tls.Authority(theirs, "Other CA")
        write(ca, authority.cert.read_bytes() + other.cert.read_bytes())
        end(server.process)
        certify(server, other, ("IP:127.0.0.1",), "need", trusts=authority.cert)
        server.start()
        wait_until(lambda: only.status()["session"]["state"] == "connected" and only.leads(TASK), 60, "it leads on")
        assert only.check(TASK)["token"] == token
        # A reload reads them as well.
        replace(authority.issue("third", days=5), cert, key)
        assert program("zkleader", "-s", only.socket, "reload").code == 0
        wait_until(lambda: any("tls-cert expires" in m for m in problems(only)), what="a reload reads them")


def write(path, data):
    draft = path.with_suffix(".draft")
    draft.write_bytes(data)
    draft.chmod(0o600)
    draft.rename(path)


def replace(issued, cert, key):
    write(key, issued[1].read_bytes())
    write(cert, issued[0].read_bytes())


def test_a_file_that_is_spoilt_while_it_runs_is_told_and_costs_no_cpu(secure, sidecar, authority, folder):
    server = secure()
    ca = folder / "ca.pem"
    ca.write_bytes(authority.cert.read_bytes())
    with Proxy(server.port) as proxy:
        only = leads(sidecar("only", server, zookeeper=proxy.address, tls_ca=ca))
        ca.write_text("", encoding="ascii")
        proxy.drop()
        says(only, "tls-ca", str(ca))
        before = only.cpu_seconds()
        time.sleep(3)
        assert only.cpu_seconds() - before < 1
        ca.write_bytes(authority.cert.read_bytes())
        leads(only)


# --- bad input ---------------------------------------------------------------------

def refused(program, folder, *words, **config):
    """-t and a start both refuse it, with file, line and remedy."""
    file = folder / "bad.conf"
    lines = {"version": "1", "socket": folder / "s", "zookeeper": "127.0.0.1:1", **config}
    text = "".join(f'{k.replace("_", "-")} = "{v}"\n' for k, v in lines.items())
    file.write_text(text, encoding="ascii")
    key = words[0]
    line = next(n for n, one in enumerate(text.splitlines(), 1) if one.startswith(f"{key} "))
    for more in (["-t"], []):
        r = program("zkleaderd", *more, "-c", file)
        assert r.code == 78, r
        assert any(one.startswith(f"{file}:{line}: ") and all(w in one for w in words) for one in r.err.splitlines()), r


def test_bad_files(program, folder, authority):
    cert, key = authority.issue("bad")
    empty, text, folder2 = folder / "empty", folder / "text", folder / "folder"
    empty.write_bytes(b"")
    text.write_text("-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n", encoding="ascii")
    folder2.mkdir()
    good = {"tls": "true", "tls_ca": authority.cert}
    refused(program, folder, "tls-ca", "is empty: it is to be PEM", **{**good, "tls_ca": empty})
    refused(program, folder, "tls-ca", "does not exist", **{**good, "tls_ca": folder / "none"})
    refused(program, folder, "tls-ca", "folder", **{**good, "tls_ca": folder2})
    refused(program, folder, "tls-ca", "cannot be used", **{**good, "tls_ca": text})
    refused(program, folder, "tls-ca", "no certificate", **{**good, "tls_ca": __file__})
    refused(program, folder, "tls-cert", "tls-key", **good, tls_cert=cert)
    refused(program, folder, "tls-key", "tls-cert", **good, tls_key=key)
    refused(program, folder, "tls-cert", "cannot be used", **good, tls_cert=text, tls_key=key)
    refused(program, folder, "tls-key", "no private key", **good, tls_cert=cert, tls_key=open_key(folder, b"x"))
    other = authority.issue("other")[1]
    refused(program, folder, "tls-key", "another certificate", **good, tls_cert=cert, tls_key=other)
    for mode in (0o640, 0o604, 0o660):
        key.chmod(mode)
        refused(program, folder, "tls-key", "chmod 600", **good, tls_cert=cert, tls_key=key)
    key.chmod(0o400)
    assert program("zkleaderd", "-t", "-c", config_file(folder, **good, tls_cert=cert, tls_key=key)).code == 0
    refused(program, folder, "tls-ca", "tls = true", tls_ca=authority.cert)
    refused(program, folder, "tls-server-name", "tls = true", tls_server_name="x")
    refused(program, folder, "tls-server-name", "no name", **good, tls_server_name="a b")
    refused(program, folder, "tls", tls="maybe")


def open_key(folder, data):
    file = folder / "some.key"
    file.write_bytes(data)
    file.chmod(0o600)
    return file


def config_file(folder, **config):
    file = folder / "good.conf"
    file.write_text("".join(f'{k.replace("_", "-")} = "{v}"\n' for k, v in {"version": "1", **config}.items()),
                    encoding="ascii")
    (folder / "conf.d").mkdir(exist_ok=True)
    return file


# --- what it costs ---------------------------------------------------------------------

@pytest.fixture
def silent():
    """A port that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield listener


def when(line):
    """The time of a line of the log, in seconds."""
    return datetime.datetime.fromisoformat(line.split()[0].replace("Z", "+00:00")).timestamp()


def test_a_server_that_does_not_finish_its_handshake_costs_no_lease(secure, sidecar, silent):
    """It has a quarter of the session timeout, and then the next one is tried."""
    server = secure()
    timeout = 8.0
    with Proxy(server.port) as proxy:
        only = leads(sidecar("only", server, zookeeper=f"{proxy.address},127.0.0.1:{silent.getsockname()[1]}",
                             session_timeout=f"{timeout:.0f}s"))
        token = only.check(TASK)["token"]
        for _ in range(3):
            losses = only.log().count("session from=connected")
            proxy.drop()
            wait_until(lambda: only.log().count("session from=connected") > losses, what="the connection is lost")
            wait_until(lambda: only.status()["session"]["state"] == "connected", what="there is another")
            assert only.leads(TASK) and only.check(TASK)["token"] == token
        lines = only.log().splitlines()
        tries = [(when(lines[i]), when(line)) for i, one in enumerate(lines) if "session from=connected" in one
                 for line in lines[i:i + 4] if "timed out" in line]
        assert all(left - lost < timeout / 4 + 1 for lost, left in tries), tries
        assert "timed out" in only.log(), "the silent one was tried"


def test_term_within_a_handshake_ends_it_soon(secure, sidecar, silent):
    only = sidecar("only", secure(), zookeeper=f"127.0.0.1:{silent.getsockname()[1]}", ready=False, session_timeout="30s")
    client, _ = silent.accept()
    client.recv(1)  # the handshake has begun
    began = time.monotonic()
    only.stop()
    assert time.monotonic() - began < 5
    client.close()


@pytest.mark.skipif("asan" in str(build()), reason="sanitizers take memory")
def test_memory(zk, sidecar):
    only = leads(sidecar())
    assert resident_bytes(only.process.pid) < 9 * MIB


def hand_over(fleet, name, **config):
    """Seconds from TERM to the leader until the other leads."""
    leader = leads(fleet.sidecar(f"{name}-a", version="2", tasks=[TASK], root=f"/{name}", **config))
    other = fleet.sidecar(f"{name}-b", version="1", tasks=[TASK], root=f"/{name}", **config)
    wait_until(lambda: len(other.call("workers")) == 2, what="both are members")
    with other.client() as client:
        leader.expected_exit = True
        began = time.monotonic()
        leader.process.terminate()
        while not client.call("check", TASK, 0)["leader"]:
            assert time.monotonic() - began < 60, "the other leads"
            time.sleep(0.002)
        took = time.monotonic() - began
    leader.process.wait(60)
    other.stop()
    return took


@pytest.mark.slow
def test_a_handover_takes_little_longer_than_without(fleet, zk, authority):
    """Pair by pair, either of the two first."""
    ways = {"plain": {"zookeeper": f"127.0.0.1:{zk.server.plain_port}"},
            "tls": {"zookeeper": zk.server.address, "tls": "true", "tls_ca": authority.cert}}
    ratios = []
    for i in range(PAIRS):
        took = {way: hand_over(fleet, f"{way}{i}", **ways[way]) for way in sorted(ways, reverse=i % 2)}
        ratios.append(took["tls"] / took["plain"])
        print(f"plain {took['plain'] * 1000:.0f} ms, TLS {took['tls'] * 1000:.0f} ms")
    assert sorted(ratios)[PAIRS // 2] <= 1.2, ratios
