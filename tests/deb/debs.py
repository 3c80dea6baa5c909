"""Builds the packages."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build/deb"


def clean_env(**more):
    """Not with the flags and variables of a make that runs this."""
    return {**{k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}, **more}


def make(*args, cwd=ROOT):
    done = subprocess.run(["make", "-s", "--no-print-directory", *args], cwd=cwd, env=clean_env(), text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder, umask=-1, **env):
    """The packages of this tree, built into that folder: their paths."""
    done = subprocess.run([ROOT / "debian/build", folder], env=clean_env(**env), umask=umask, text=True, capture_output=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(folder.glob("*.deb"))


VERSION = make("--eval", "v: ; @echo $(VERSION)", "v").strip()
