"""What `status` says of a port that gives no session: in words, with the remedy, and not too often."""
import http.server
import json
import socket
import socketserver
import ssl
import subprocess
import threading
import time

import pytest

from harness.server import ZooKeeper, free_port
from harness.waiting import holds_for, wait_until


class Listener(socketserver.ThreadingTCPServer):
    """Calls what it was given with each connection."""
    allow_reuse_address = daemon_threads = True

    def __init__(self, serve):
        super().__init__(("127.0.0.1", 0), None)
        self.serve = serve

    def finish_request(self, request, client_address):
        self.serve(request)

    def handle_error(self, request, client_address):
        pass


@pytest.fixture
def listen():
    made = []

    def start(server):
        made.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return f"127.0.0.1:{server.server_address[1]}"
    yield start
    for server in made:
        server.shutdown()
        server.server_close()


@pytest.fixture
def tls(folder):
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                    "-subj", "/CN=localhost"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def last_error(sidecar):
    return sidecar.status()["session"]["last_error"] or {"message": ""}


def says(sidecar, *words):
    return wait_until(lambda: (e := last_error(sidecar)) and all(w in e["message"] for w in words) and e,
                      what=f"{words} is told")


def is_told_everywhere(program, sidecar, address, word):
    """In the JSON, the text, the problems and once in the log."""
    status = sidecar.status()
    error = status["session"]["last_error"]
    assert error["server"] == address and error["time"].endswith("Z")
    assert not status["healthy"] and word in status["why"]
    assert any(p["file"] == address and word in p["message"] for p in status["problems"])
    text = program("zkleader", "-s", sidecar.socket, "status")
    assert text.code == 2 and word in text.out and f"of {address}" in text.out
    assert json.loads(program("zkleader", "-s", sidecar.socket, "--json", "status").out)["session"]["last_error"]
    wait_until(lambda: warnings(sidecar), what="it is logged")


def warnings(sidecar):
    return [line for line in sidecar.log().splitlines() if " no session " in line]


def test_a_closed_port(fleet, program):
    address = f"127.0.0.1:{free_port()}"
    only = fleet.sidecar("only", zookeeper=address, ready=False)
    says(only, "Connection refused", "nothing listens there")
    is_told_everywhere(program, only, address, "Connection refused")
    holds_for(lambda: len(warnings(only)) == 1, 3, "one warning a minute")


def test_a_server_of_http(fleet, program, listen):
    address = listen(http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler))
    only = fleet.sidecar("only", zookeeper=address, session_timeout="4s", ready=False)
    says(only, "speaks HTTP")
    is_told_everywhere(program, only, address, "speaks HTTP")


def test_a_port_of_tls(fleet, program, listen, tls):
    address = listen(Listener(lambda s: tls.wrap_socket(s, server_side=True).close()))
    only = fleet.sidecar("only", zookeeper=address, session_timeout="4s", ready=False)
    says(only, "speaks TLS")
    is_told_everywhere(program, only, address, "speaks TLS")


def test_a_port_that_hangs_up_at_once(fleet, program, listen):
    address = listen(Listener(lambda s: None))
    only = fleet.sidecar("only", zookeeper=address, ready=False)
    says(only, "may want TLS", "maxClientCnxns")
    is_told_everywhere(program, only, address, "may want TLS")


@pytest.fixture
def sasl(folder):
    server = ZooKeeper(folder / "sasl")
    server.more = ("sessionRequireClientSASLAuth=true\n"
                   "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n")
    yield server.start()
    server.close()


def test_a_server_that_wants_sasl(fleet, program, sasl):
    only = fleet.sidecar("only", zookeeper=sasl.address, log_level="info", ready=False)
    says(only, "authentication refused", "SASL")
    is_told_everywhere(program, only, sasl.address, "SASL")
    time.sleep(8)  # tries at 0, 2 and 6 s; then pauses grow to 30 s
    log = only.log()
    assert log.count("to=unconfirmed") <= 4
    assert len(warnings(only)) == 1 and len(log.splitlines()) < 50


def test_nothing_is_told_once_there_is_a_session(fleet, zk):
    address = f"127.0.0.1:{free_port()}"
    only = fleet.sidecar("only", zookeeper=f"{address},{zk.server.address}{zk.root}", session_timeout="4s")
    status = only.status()
    assert status["session"]["last_error"] is None and status["problems"] == [] and status["healthy"]
