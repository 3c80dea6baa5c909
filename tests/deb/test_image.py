"""The OCI image: what is in it, and that it runs as it is to: root read-only, an unprivileged user, a good farewell."""
import os
import re
import signal
import subprocess
import time

import pytest

from debs import BUILT, VERSION
from harness import tls
from harness.server import Tree, ZooKeeper
from harness.sidecar import settings, task_text
from harness.waiting import wait_until
from image import Container, make_image

MOST = 40 * 2**20
USER = 65532
SESSION, AT_ONCE = "60s", 20  # what is to be at once is no timeout, on a busy machine either
PROGRAMS = {"usr/bin/zkleaderd", "usr/bin/zkleader", "usr/bin/zkleader-check"}
pytestmark = pytest.mark.seconds(1800)  # building the packages takes minutes, whichever test is the first
containers = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts of a container need root")


def test_the_layout_is_whole(image):
    assert image.file.name == f"zkleader-{VERSION}.oci.tar"
    assert image.files["oci-layout"] == b'{"imageLayoutVersion": "1.0.0"}'
    named = {m["digest"] for m in [*image.index["manifests"], image.manifest["config"], *image.manifest["layers"]]}
    blobs = {f"sha256:{name.split('/')[2]}" for name in image.files if name.startswith("blobs/sha256/")}
    assert named == blobs and len(image.files) == 2 + len(blobs)
    assert [m["mediaType"].split(".image.")[1] for m in [*image.index["manifests"], image.manifest["config"],
                                                         *image.manifest["layers"]]] == \
        ["manifest.v1+json", "config.v1+json", "layer.v1.tar+gzip"]
    config = image.config["config"]
    assert config["User"] == f"{USER}:{USER}" and config["Entrypoint"] == ["/usr/bin/zkleaderd"]
    assert config["Labels"]["org.opencontainers.image.version"] == VERSION
    unpacked = subprocess.run(["gzip", "-dc"], input=image.packed, capture_output=True, check=True).stdout
    sums = subprocess.run(["sha256sum"], input=unpacked, capture_output=True, check=True).stdout.decode().split()
    assert image.config["rootfs"] == {"type": "layers", "diff_ids": [f"sha256:{sums[0]}"]}
    assert image.config["architecture"] == image.index["manifests"][0]["platform"]["architecture"]


def test_it_is_small(image):
    unpacked = sum(m.size for m in image.members.values())
    print(f"\nthe image: {image.file.stat().st_size / 2**20:.1f} MiB, unpacked {unpacked / 2**20:.1f} MiB")
    assert image.file.stat().st_size < MOST and unpacked < MOST


def test_it_holds_the_sidecar_alone(image, rootfs, tmp_path):
    for name, m in image.members.items():
        assert m.isfile() or m.isdir() or m.issym(), name
        assert m.mode & 0o6000 == 0, f"{name} gives rights"
        assert m.mode & 0o022 == 0 or m.issym() or name == "tmp", f"{name} can be written by others"
        assert m.uid == m.gid == (USER if name == "run/zkleader" else 0), name
    runs = {name for name, m in image.members.items() if m.isfile() and m.mode & 0o111}
    assert {name for name in runs if not re.search(r"\.so(\.|$)", name)} == PROGRAMS, "no shell, nothing else to run"
    deb, = BUILT.glob("zkleader_*.deb")
    subprocess.run(["dpkg-deb", "-x", deb, tmp_path], check=True)
    for name in [*PROGRAMS, "etc/zkleader/zkleader.conf"]:
        assert (rootfs / name).read_bytes() == (tmp_path / name).read_bytes(), f"{name} is the package's"
    for package in (rootfs / "var/lib/dpkg/status.d").iterdir():
        assert f"usr/share/doc/{package.name}" in image.members, f"no copyright of {package.name}"
    assert (rootfs / "usr/share/zoneinfo/Europe/Berlin").exists()
    assert (rootfs / "etc/ssl/certs/ca-certificates.crt").read_text(encoding="ascii").count("BEGIN CERT") > 100
    links = [name for name, m in image.members.items() if m.issym() and not m.linkname.startswith("/")]
    assert [name for name in links if not os.path.exists(rootfs / name)] == [], "links that lead nowhere"


def test_two_are_the_same_bit_for_bit(image, tmp_path):
    again = make_image(tmp_path / "elsewhere", umask=0o077, LC_ALL="C", TZ="Asia/Tokyo")
    assert again.read_bytes() == image.file.read_bytes()


@containers
def test_as_it_is_shipped_it_says_what_to_do(image, rootfs, folder):
    done = Container(folder, "unconfigured", image, rootfs).run()
    assert done.returncode == 78 and "version or version-file is needed" in done.stderr, done.stderr


@pytest.fixture
def run(image, rootfs, folder, zk):
    """run(name, **configuration) starts a container."""
    made = []

    def start(name, files=None, **more):
        """files: those that the sidecar's user can read alone."""
        etc, sockets = folder / f"{name}.etc", folder / f"{name}.run"
        (etc / "conf.d").mkdir(parents=True)
        for file, text in (files or {}).items():
            (etc / file).write_text(text, encoding="ascii")
            (etc / file).chmod(0o600)
            os.chown(etc / file, USER, USER)
        sockets.mkdir()
        sockets.chmod(0o777)
        (etc / "zkleader.conf").write_text(settings({
            "zookeeper": zk.server.address, "root": zk.root, "version": "1.0", "node": "${NODE}", "session_timeout": SESSION,
            "yield_delay": "200ms", "tick_guard": "0s", **more}), encoding="utf-8")
        (etc / "conf.d/tasks.conf").write_text(
            task_text("nightly-report", schedule="0 2 * * *", timezone="Europe/Berlin", user="zkleader",
                      command=["/usr/bin/zkleader", "-V"]) + task_text("work"), encoding="utf-8")
        made.append(Container(folder, name, image, rootfs, env={"NODE": name},
                              mounts=[(sockets, "/run/zkleader", "rw"), (etc, "/etc/zkleader", "ro")]))
        return made[-1].start()
    yield start
    for container in made:
        container.close()


@containers
def test_a_stop_hands_over_at_once(run):
    """Two of them, with a root that cannot be written and no privileges; the farewell is that of a host."""
    first, second = run("first", version="2.0").wait_ready(), run("second").wait_ready()
    wait_until(lambda: first.leads("work"), what="the first one leads")
    facts = first.facts()
    assert facts["Uid"].split() == [str(USER)] * 4 and facts["Groups"].strip() == "" and facts["NoNewPrivs"] == "1"
    assert int(facts["CapEff"], 16) == int(facts["CapPrm"], 16) == 0
    with open(f"/proc/{first.pid}/mountinfo", encoding="ascii") as mounts:
        root, = (line for line in mounts if line.split()[4] == "/")
    assert "ro" in root.split()[5].split(",")
    assert not second.leads("work")
    assert second.execute(["/usr/bin/zkleader-check", "work"]).returncode == 1
    shown = second.execute(["/usr/bin/zkleader", "list"]).stdout
    assert "first" in shown and "second" in shown, "nodes are called as they are told to"
    assert first.execute(["/usr/bin/zkleader", "status", "--live"]).returncode == 0
    first.signal(signal.SIGTERM)
    wait_until(lambda: second.leads("work"), AT_ONCE, "the second one leads, by no timeout")
    assert first.wait() == 0
    assert second.call("status")["problems"] == []


@containers
def test_probes_tell_a_sidecar_that_waits_from_one_that_hangs(run, zk):
    alone = run("alone", zookeeper="127.0.0.1:1")
    wait_until(lambda: alone.execute(["/usr/bin/zkleader", "status", "--live"]).returncode == 0, what="it answers")
    done = alone.execute(["/usr/bin/zkleader", "status", "--ready"])
    assert done.returncode == 2 and "not ready" in done.stderr
    alone.signal(signal.SIGSTOP)
    started = time.monotonic()
    assert alone.execute(["/usr/bin/zkleader", "status", "--live"]).returncode == 2
    assert time.monotonic() - started < 60
    alone.signal(signal.SIGCONT)


@containers
def test_drain_is_the_sidecars_own_users(run):
    """What `preStop` runs: by the image's user, with no shell."""
    first, second = run("first", version="2.0").wait_ready(), run("second").wait_ready()
    wait_until(lambda: first.leads("work"), what="the first one leads")
    done = first.execute(["/usr/bin/zkleader", "drain", "--for", "1m", "--wait=60s"])
    assert done.returncode == 0, done.stderr
    assert not first.leads("work")
    wait_until(lambda: second.leads("work"), AT_ONCE, "the second one leads")


@pytest.fixture
def secure_server(folder):
    """With TLS, and one user by SASL."""
    authority = tls.Authority(folder / "authority")
    cert, key = authority.issue("server", ("IP:127.0.0.1",))
    server = ZooKeeper(folder / "secure")
    (folder / "jaas.conf").write_text(
        'Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_app="secret"; };\n', encoding="ascii")
    server.java = [f"-Djava.security.auth.login.config={folder}/jaas.conf"]
    server.more = "authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n"
    server.secure = lambda: tls.secure(server.port, cert, key, authority.cert, "none")
    yield server.start(), authority
    server.close()


@containers
def test_tls_and_sasl(run, secure_server):
    """OpenSSL finds the system's certificates, and SASL its mechanisms, where they are in the image."""
    server, authority = secure_server
    files = {"ca.pem": authority.cert.read_text(encoding="ascii"), "auth": "app:secret\n"}
    tree = Tree(server)
    both = {"zookeeper": server.address, "root": tree.root, "tls": "true", "sasl": "digest-md5", "auth_file": "/etc/zkleader/auth"}
    known = run("known", files, tls_ca="/etc/zkleader/ca.pem", **both).wait_ready()
    wait_until(lambda: known.leads("work"), what="it leads")
    assert {a.id.scheme for a in tree.client.get_acls(tree.path("leaders", "work"))[0]} == {"sasl", "world"}
    unknown = run("unknown", files, **both)

    def refused():
        error = unknown.call("status")["session"]["last_error"]
        return error and "certificate" in error["message"]

    wait_until(refused, what="by the system's certificates alone the server is not known")
