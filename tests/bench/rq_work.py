"""Work for RQ's workers: a process for each job, as a queue of zkleader has."""
import subprocess
import time


def true():
    subprocess.run(["/bin/true"], check=True)


def now():
    return time.time()
