"""How Ansible gets into a machine of these tests: by its namespaces, where it would use SSH."""
import pathlib
import subprocess

from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: machine
short_description: a machine of these tests
description: [a machine that systemd-nspawn has booted]
options:
  leader:
    description: [the pid of its init]
    vars: [{name: machine_leader}]
"""
ENV = ["/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"]


class Connection(ConnectionBase):
    transport = "machine"
    has_pipelining = True

    def _connect(self):
        self._connected = True
        return self

    def run(self, command, **more):
        inside = ["nsenter", "-t", str(self.get_option("leader")), "-m", "-u", "-i", "-n", "-p"]
        return subprocess.run([*inside, *ENV, *command], capture_output=True, check=False, **more)

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        done = self.run(["/bin/sh", "-c", cmd], input=in_data or b"")
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path, out_path):
        super().put_file(in_path, out_path)
        self.run(["/bin/sh", "-c", 'cat >"$1"', "sh", out_path], input=pathlib.Path(in_path).read_bytes()).check_returncode()

    def fetch_file(self, in_path, out_path):
        super().fetch_file(in_path, out_path)
        done = self.run(["cat", in_path])
        done.check_returncode()
        pathlib.Path(out_path).write_bytes(done.stdout)

    def close(self):
        self._connected = False
