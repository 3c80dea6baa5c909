"""The real cron, with a crontab of the test's."""
import os
import shlex
import shutil

from harness.process import spawn

# The machine's own crontabs are out of sight in here, and so is its cron: not a file of it is touched.
PRIVATE = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mount --bind {home}/crontab /etc/crontab
mount --bind {home}/empty /etc/cron.d
mount --bind {home}/empty /var/spool/cron/crontabs
exec /usr/sbin/cron -f -L 0
"""


def is_installed():
    return shutil.which("cron", path="/usr/sbin") is not None


def may_mount():
    process = spawn(["unshare", "-m", "true"], stderr=-3)
    return os.geteuid() == 0 and process.wait(30) == 0


def start_cron(home, text):
    """Its process, in a mount namespace of its own."""
    (home / "empty").mkdir(parents=True, exist_ok=True)
    crontab = home / "crontab"
    crontab.write_bytes(text.encode())
    crontab.chmod(0o644)
    with open(home / "log", "wb") as log:
        return spawn(["unshare", "-m", "sh", "-c", PRIVATE.format(home=shlex.quote(str(home)))], stdout=log, stderr=log)
