"""Servers with settings of their own, ensembles of three, and network namespaces that tell them apart."""
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time

from harness import tls
from harness.process import end, spawn
from harness.server import ZooKeeper, free_port, java
from harness.waiting import wait_until


class Server(ZooKeeper):
    """A server with settings; may be one of an ensemble, and live in a network namespace."""

    def __init__(self, folder, tick_ms=200, host="127.0.0.1", command=(), **settings):
        super().__init__(folder, tick_ms)
        self.host, self.command = host, list(command)
        self.settings = {"maxClientCnxns": 0, **settings}

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def _launch(self):
        values = {"dataDir": self.folder / "data", "tickTime": self.tick_ms, "clientPort": self.plain_port,
                  "clientPortAddress": self.host, "maxSessionTimeout": 60000,
                  **(tls.secure_of_all(self.port, self.host) if tls.enabled() else {}), "admin.enableServer": "false", "4lw.commands.whitelist": "*", **self.settings}
        config = self.folder / "zoo.cfg"
        config.write_text("".join(f"{k}={v}\n" for k, v in values.items()), encoding="ascii")
        with open(self.folder / "server.log", "ab") as log:
            self.process = spawn([*self.command, *java(), config], stdout=log, stderr=subprocess.STDOUT, env=self.env)

    def ask(self, word):
        if self.host == "127.0.0.1":
            return super().ask(word)
        try:
            with socket.create_connection((self.host, self.plain_port), timeout=2) as s:
                s.settimeout(2)
                s.sendall(word.encode())
                return b"".join(iter(lambda: s.recv(65536), b"")).decode(errors="replace")
        except OSError:
            return ""

    def mode(self):
        answer = self.ask("srvr")
        return answer.split("Mode: ")[1].split()[0] if "Mode: " in answer else ""

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


class Ensemble:
    """Three servers, on loopback or each in a namespace of its own."""

    def __init__(self, folder, network=None, tick_ms=200, sync_limit=10):
        hosts = network.hosts if network else ["127.0.0.1"] * 3
        # Three ports a server, and one more where sidecars use TLS.
        ports = [[free_port() for _ in range(4)] for _ in hosts]
        peers = {f"server.{i + 1}": f"{h}:{p[1]}:{p[2]}" for i, (h, p) in enumerate(zip(hosts, ports))}
        self.servers = []
        for i, host in enumerate(hosts):
            server = Server(folder / f"zk{i + 1}", tick_ms, host,
                            network.command(i) if network else (),
                            initLimit=20, syncLimit=sync_limit, cnxTimeout=1, **peers)
            server.port = ports[i][0]
            server.plain_port = ports[i][3] if tls.enabled() else server.port
            self.servers.append(server)
            self._number(server, i)

    @staticmethod
    def _number(server, i):
        data = server.folder / "data"
        data.mkdir(parents=True, exist_ok=True)
        (data / "myid").write_text(f"{i + 1}\n", encoding="ascii")

    @property
    def address(self):
        return ",".join(s.address for s in self.servers)

    def start(self):
        for server in self.servers:
            server._launch()
        self.wait()
        return self

    def wait(self, servers=None, timeout=90):
        wait_until(lambda: all(s.mode() in ("leader", "follower") for s in servers or self.servers), timeout,
                   "the servers have a quorum")

    def leader(self):
        return wait_until(lambda: next((s for s in self.servers if s.process.poll() is None
                                        and s.mode() == "leader"), None), what="one of the servers leads")

    def followers(self):
        leader = self.leader()
        return [s for s in self.servers if s is not leader]

    def kill(self):
        for server in self.servers:
            end(server.process)

    def wipe(self):
        for i, server in enumerate(self.servers):
            server.wipe()
            self._number(server, i)

    def close(self):
        for server in self.servers:
            server.close_clients()
        self.kill()


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, timeout=20)


class Network:
    """Three network namespaces on a bridge, and a way to part them. Needs root."""

    def __init__(self):
        self.tag = f"zkl{os.getpid()}"
        self.net = f"10.{random.randrange(200, 250)}.{random.randrange(256)}"
        self.hosts = [f"{self.net}.{i + 1}" for i in range(3)]
        self.names = [f"{self.tag}-{i + 1}" for i in range(3)]
        self._sweep()
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    @classmethod
    def why_not(cls):
        """Why there can be none here; "" if there can: one is made and parted."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        try:
            probe = cls()
        except (OSError, subprocess.SubprocessError) as e:
            return f"network namespaces are not allowed here: {e} {getattr(e, 'stderr', '')}".replace("\n", " ")
        try:
            probe.part(0)
            probe.heal()
        except (OSError, subprocess.SubprocessError) as e:
            return f"iptables is not allowed here: {e} {getattr(e, 'stderr', '')}".replace("\n", " ")
        finally:
            probe.close()
        return ""

    @staticmethod
    def _sweep():
        """Removes what tests that were killed have left."""
        names = [p.name for folder in ("/run/netns", "/sys/class/net") for p in pathlib.Path(folder).glob("zkl*")]
        for name in names:
            m = re.fullmatch(r"zkl(\d+)(.*)", name)
            if m and not pathlib.Path(f"/proc/{m[1]}").exists():
                command = ["ip", "netns", "del", name] if m[2].startswith("-") else ["ip", "link", "del", name]
                subprocess.run(command, check=False, capture_output=True, timeout=20)

    def _make(self):
        run("ip", "link", "add", self.bridge, "type", "bridge")
        run("ip", "addr", "add", f"{self.net}.254/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")
        for i, name in enumerate(self.names):
            outer = f"{self.tag}v{i}"
            run("ip", "netns", "add", name)
            run("ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
            run("ip", "link", "set", outer, "master", self.bridge, "up")
            run("ip", "-n", name, "addr", "add", f"{self.hosts[i]}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")

    @property
    def bridge(self):
        return f"{self.tag}b"

    def command(self, i):
        """The command with which a program is started to live in the i-th namespace."""
        return ["ip", "netns", "exec", self.names[i]]

    def part(self, i):
        """From now on the i-th hears nothing of the other two and they nothing of it; clients all do."""
        for host in self.hosts:
            if host != self.hosts[i]:
                run(*self.command(i), "iptables", "-A", "INPUT", "-s", host, "-j", "DROP")
                run(*self.command(i), "iptables", "-A", "OUTPUT", "-d", host, "-j", "DROP")

    def heal(self):
        for i in range(len(self.names)):
            run(*self.command(i), "iptables", "-F")

    def close(self):
        for name in self.names:
            if pathlib.Path(f"/run/netns/{name}").exists():
                subprocess.run(["ip", "netns", "del", name], check=False, timeout=20)
        for i in range(len(self.names)):
            subprocess.run(["ip", "link", "del", f"{self.tag}v{i}"], check=False, capture_output=True, timeout=20)
        subprocess.run(["ip", "link", "del", self.bridge], check=False, capture_output=True, timeout=20)


def seconds(n):
    """The fault's own duration."""
    time.sleep(n)
