"""Who the sidecar is, by SASL: DIGEST-MD5 with a password, GSSAPI with Kerberos keys."""
import os
import pathlib
import shutil
import socket
import subprocess

import pytest

from conftest import certify
from harness.process import end, spawn
from harness.server import Tree, ZooKeeper, free_port
from harness.waiting import wait_until

TASK = "nightly-report"
SASL = "authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n"


def leads(one):
    wait_until(lambda: one.leads(TASK), what=f"{one.name} leads")
    return one


def says(one, *words):
    def look():
        error = one.status()["session"]["last_error"]
        return error and all(w in error["message"] for w in words) and error
    return wait_until(look, what=f"last_error has {words}")


def auth_file(folder, text):
    file = folder / f"auth-{abs(hash(text))}"
    file.write_text(text + "\n", encoding="ascii")
    file.chmod(0o600)
    return file


def schemes(zk, path):
    acls, _ = zk.client.get_acls(path)
    return sorted((a.id.scheme, a.id.id) for a in acls)


@pytest.fixture
def digest_server(folder, authority):
    """With TLS, and one user."""
    server = ZooKeeper(folder / "zk")
    jaas = folder / "jaas.conf"
    jaas.write_text('Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_app="secret"; };\n',
                    encoding="ascii")
    server.java = [f"-Djava.security.auth.login.config={jaas}"]
    server.more = SASL
    certify(server, authority, ("IP:127.0.0.1", "DNS:localhost"))
    yield server.start()
    server.close()


@pytest.fixture
def zk(request):
    names = request.fixturenames
    return Tree(request.getfixturevalue("digest_server" if "digest_server" in names else "kerberos"))


@pytest.mark.parametrize("way", ["plain", "tls"])
@pytest.mark.parametrize("line", ["digest:app:secret", "app:secret"])
def test_digest_md5(fleet, zk, digest_server, authority, folder, way, line):
    config = {"tls": "true", "tls_ca": authority.cert} if way == "tls" else {}
    address = digest_server.address if way == "tls" else f"127.0.0.1:{digest_server.plain_port}"
    one = leads(fleet.sidecar("one", tasks=[TASK], zookeeper=address, sasl="digest-md5",
                              auth_file=auth_file(folder, line), **config))
    assert schemes(zk, zk.path("leaders", TASK)) == [("sasl", "app"), ("world", "anyone")]
    # A new connection proves it again.
    end(digest_server.process)
    digest_server.start()
    wait_until(lambda: one.status()["session"]["state"] == "connected" and one.leads(TASK), 60, "it leads again")


def test_digest_md5_with_a_wrong_password(fleet, digest_server, folder):
    one = fleet.sidecar("one", tasks=[TASK], zookeeper=f"127.0.0.1:{digest_server.plain_port}", sasl="digest-md5",
                        auth_file=auth_file(folder, "digest:app:guess"), ready=False)
    says(one, "authentication refused", "SASL", "auth-file")
    assert not one.leads(TASK)


# --- Kerberos ---------------------------------------------------------------------

class Kdc:
    """A realm of its own, with its KDC on the loopback."""
    REALM = "TEST.EXAMPLE"

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.port = free_port()
        (folder / "krb5.conf").write_text(
            f"[libdefaults]\ndefault_realm={self.REALM}\ndns_lookup_kdc=false\ndns_lookup_realm=false\nrdns=false\n"
            f"dns_canonicalize_hostname=false\nudp_preference_limit=1\n"
            f"[realms]\n{self.REALM}={{\nkdc=127.0.0.1:{self.port}\n}}\n[domain_realm]\nlocalhost={self.REALM}\n",
            encoding="ascii")
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\nkdc_listen=127.0.0.1:{self.port}\nkdc_tcp_listen=127.0.0.1:{self.port}\n"
            f"[realms]\n{self.REALM}={{\ndatabase_name={folder}/db\nkey_stash_file={folder}/stash\n"
            f"acl_file={folder}/acl\n}}\n", encoding="ascii")
        self.env = {**os.environ, "KRB5_CONFIG": str(folder / "krb5.conf"), "KRB5_KDC_PROFILE": str(folder / "kdc.conf")}
        self.run("kdb5_util", "create", "-s", "-P", "master", "-r", self.REALM)
        self.process = spawn([shutil.which("krb5kdc", path=PATH), "-n", "-r", self.REALM], env=self.env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, what="the KDC answers")

    def answers(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def run(self, name, *args):
        subprocess.run([shutil.which(name, path=PATH), *args], env=self.env, check=True, capture_output=True, timeout=60)

    def keytab(self, *principals):
        file = self.folder / f"{len(list(self.folder.iterdir()))}.keytab"
        for one in principals:
            self.run("kadmin.local", "-r", self.REALM, "-q", f"addprinc -randkey {one}")
            self.run("kadmin.local", "-r", self.REALM, "-q", f"ktadd -k {file} {one}")
        file.chmod(0o600)
        return file


PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"


@pytest.fixture
def kdc(folder):
    if not all(shutil.which(name, path=PATH) for name in ("krb5kdc", "kdb5_util", "kadmin.local")) or \
            not list(pathlib.Path("/usr/lib").glob("*/sasl2/libgssapiv2.so")):
        pytest.skip("krb5-kdc, krb5-admin-server or libsasl2-modules-gssapi-mit is not installed")
    made = Kdc(folder / "kdc")
    yield made
    end(made.process)


@pytest.fixture
def kerberos(folder, kdc, authority):
    """A server with TLS that knows its clients by their tickets."""
    keytab = kdc.keytab("zookeeper/localhost")
    server = ZooKeeper(folder / "zk")
    jaas = folder / "jaas.conf"
    jaas.write_text(f'Server {{ com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="{keytab}" '
                    f'storeKey=true useTicketCache=false principal="zookeeper/localhost@{kdc.REALM}"; }};\n',
                    encoding="ascii")
    server.java = [f"-Djava.security.auth.login.config={jaas}", f"-Djava.security.krb5.conf={kdc.folder}/krb5.conf"]
    server.more = SASL
    certify(server, authority, ("DNS:localhost",))
    yield server.start()
    server.close()


@pytest.mark.parametrize("principal", [None, "second@TEST.EXAMPLE"])
def test_gssapi(fleet, zk, kerberos, kdc, authority, principal):
    keytab = kdc.keytab("first", "second")
    env = {"KRB5_CONFIG": kdc.env["KRB5_CONFIG"]}
    leads(fleet.sidecar("one", tasks=[TASK], zookeeper=f"localhost:{kerberos.port}", tls="true", tls_ca=authority.cert,
                        sasl="gssapi", sasl_keytab=keytab, sasl_principal=principal, env=env))
    name = principal or f"first@{kdc.REALM}"
    assert schemes(zk, zk.path("leaders", TASK))[0] == ("sasl", name)


def test_gssapi_without_a_kdc_says_so(fleet, zk, kerberos, kdc, authority):
    keytab = kdc.keytab("first")
    end(kdc.process)
    one = fleet.sidecar("one", tasks=[TASK], zookeeper=f"localhost:{kerberos.port}", tls="true", tls_ca=authority.cert,
                        sasl="gssapi", sasl_keytab=keytab, env={"KRB5_CONFIG": kdc.env["KRB5_CONFIG"]}, ready=False)
    says(one, "SASL", "sasl-keytab")
    assert not one.leads(TASK)


def test_a_principal_that_is_not_in_the_keytab(program, folder, kdc):
    keytab = kdc.keytab("first")
    file = folder / "bad.conf"
    file.write_text(f'version = "1"\nsasl = "gssapi"\nsasl-keytab = "{keytab}"\nsasl-principal = "third@R"\n',
                    encoding="ascii")
    r = program("zkleaderd", "-t", "-c", file)
    assert r.code == 78 and f"{file}:4: sasl-principal" in r.err and "klist" in r.err, r
    keytab.chmod(0o644)
    r = program("zkleaderd", "-t", "-c", file)
    assert r.code == 78 and f"{file}:3: sasl-keytab" in r.err and "chmod 600" in r.err, r
