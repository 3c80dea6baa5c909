"""The programs of another commit of this repository, as a fleet has them while zkleader is upgraded."""
import os
import pathlib
import shutil
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[3]
FIRST = "5a5ffb4"  # 0.1.0


class Unknown(Exception):
    """The commit is not in this clone."""


def built(commit):
    """The folder with its programs; built once, for all runs from this checkout."""
    folder = TOP / "build" / "upgrade" / commit
    programs = folder / "build" / "release"
    if programs.exists():
        return programs
    if subprocess.run(["git", "-C", TOP, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True).returncode != 0:
        raise Unknown(f"commit {commit} is not in this clone: it is a shallow one, or no clone; git fetch --unshallow gets it")
    draft = folder.with_name(f"{commit}-{os.getpid()}")
    draft.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", TOP, "archive", commit], capture_output=True, check=True)
    subprocess.run(["tar", "x", "-C", draft], input=archive.stdout, check=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    subprocess.run(["make", "-s", "-j2", "-C", draft, "all"], check=True, env=env)
    try:
        draft.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(draft)
    return programs
