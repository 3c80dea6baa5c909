"""Builds the packages."""
import os
import pathlib
import shutil
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
NEXT = f"{VERSION}+next"


def renumbered(debs, folder):
    """The same packages with a version that is newer, in that folder."""
    folder.mkdir()
    for deb in debs:
        tree = folder / "tree"
        subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
        control = tree / "DEBIAN/control"
        text = control.read_text(encoding="utf-8").replace(f"Version: {VERSION}", f"Version: {NEXT}")
        control.write_text(text.replace(f"(= {VERSION})", f"(= {NEXT})"), encoding="utf-8")
        made = folder / deb.name.replace(f"_{VERSION}_", f"_{NEXT}_")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, made], check=True, capture_output=True)
        shutil.rmtree(tree)
