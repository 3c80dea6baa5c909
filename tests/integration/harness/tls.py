"""Certificates, servers that speak TLS, and the switch that has all sidecars of a test run speak it."""
import functools
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile

SERVER_NAME = "zookeeper.test"  # that the servers of all tests have with the switch


def enabled():
    """Whether all sidecars of a test run speak TLS: --tls."""
    return os.environ.get("ZKLEADER_TEST_TLS") == "1"


def openssl(*args, before=()):
    subprocess.run([*before, "openssl", *(str(a) for a in args)], check=True, capture_output=True, timeout=60)


class Authority:
    """Who issues certificates; all of its files lie in the folder."""

    def __init__(self, folder, name="Test CA"):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.key, self.cert = folder / "ca.key", folder / "ca.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.key,
                "-out", self.cert, "-days", 3650, "-subj", f"/CN={name}")

    def issue(self, name, sans=(), days=365, ago_days=0):
        """(certificate, key): for those names, valid for `days` from so many days ago on."""
        key, request, cert = (self.folder / f"{name}.{kind}" for kind in ("key", "csr", "pem"))
        extra = self.folder / f"{name}.ext"
        extra.write_text("subjectAltName=" + ",".join(sans) + "\n" if sans else "basicConstraints=CA:FALSE\n",
                         encoding="ascii")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request,
                "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-out", cert,
                "-days", days, "-extfile", extra, before=["faketime", f"-{ago_days} days"] if ago_days else [])
        key.chmod(0o600)
        return cert, key


def secure(port, cert, key, ca, client_auth="none", host="127.0.0.1"):
    """The settings of a server for a port with TLS."""
    store = cert.with_suffix(".store.pem")
    store.write_bytes(key.read_bytes() + cert.read_bytes())
    return {"secureClientPort": port, "secureClientPortAddress": host,
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.location": store, "ssl.keyStore.type": "PEM", "ssl.trustStore.location": ca,
            "ssl.trustStore.type": "PEM", "ssl.clientAuth": client_auth}


def lines(settings):
    return "".join(f"{k}={v}\n" for k, v in settings.items())


@functools.cache
def common():
    """The authority of all servers with the switch, and their certificate; made once for a process."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"zkl-{os.getpid()}-tls-", dir="/tmp"))
    folder.chmod(0o755)
    authority = Authority(folder)
    return authority, *authority.issue("common", [f"DNS:{SERVER_NAME}"])


def secure_of_all(port, host="127.0.0.1"):
    authority, cert, key = common()
    return secure(port, cert, key, authority.cert, host=host)


def client_config():
    """The keys of each sidecar's configuration with the switch."""
    return {"tls": "true", "tls_ca": common()[0].cert, "tls_server_name": SERVER_NAME} if enabled() else {}


@functools.cache
def context(side):
    """With TLS 1.2, in which nothing comes but what the other side has sent: who waits for that may block."""
    authority, cert, key = common()
    made = ssl.SSLContext(side)
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.load_verify_locations(authority.cert)
    if side == ssl.PROTOCOL_TLS_SERVER:
        made.load_cert_chain(cert, key)
    return made


def to_server(sock):
    """A connection of a test itself to a server, through TLS with the switch."""
    return context(ssl.PROTOCOL_TLS_CLIENT).wrap_socket(sock, server_hostname=SERVER_NAME) if enabled() else sock


def to_client(sock):
    """Likewise one that a sidecar has made, which takes it for one to a server."""
    if not enabled():
        return sock
    sock.settimeout(5)  # for the handshake
    made = context(ssl.PROTOCOL_TLS_SERVER).wrap_socket(sock, server_side=True)
    made.settimeout(None)
    return made


def has_tls(program):
    """Whether that zkleaderd was built with TLS."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "c.conf"
        file.write_text('version = "1"\ntls = true\n', encoding="ascii")
        r = subprocess.run([program, "-t", "-c", file], capture_output=True, text=True, check=False, timeout=60)
        return "without TLS" not in r.stderr


def why_not(program):
    """Why there can be no tests of TLS; "" if there can be."""
    if not shutil.which("openssl") or not shutil.which("faketime"):
        return "openssl or faketime is not installed"
    return "" if has_tls(program) else "this build has no TLS: make zookeeper-client, or make check-tls"
