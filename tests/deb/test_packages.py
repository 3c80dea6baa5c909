"""The packages as files: which there are, what they hold, that they are the same again, and what lintian says."""
import gzip
import hashlib
import re
import shutil
import subprocess

import pytest

from debs import ROOT, VERSION, build, make

PROGRAMS = {"zkleader": ["zkleader", "zkleader-check", "zkleaderd"], "zkleader-runner": ["zkleader-runner"],
            "zkleader-web": ["zkleader-web"], "zkleader-notify": ["zkleader-notify"]}
NAMES = {*PROGRAMS, "libzkleader0", "libzkleader-dev", "python3-zkleader", "zkleader-doc"}
# Files that a package has besides, and those that an installation from source has in their place.
OF_PACKAGES = re.compile(r"usr/share/doc/[a-z0-9-]+/(copyright|changelog(\.Debian)?\.gz)|usr/share/lintian/.*")
OF_SOURCE = {"usr/share/doc/zkleader/LICENSE"}
# Building takes minutes, whichever test is the first.
pytestmark = pytest.mark.seconds(1800)


@pytest.fixture(scope="module", name="unpacked")
def unpacked_packages(debs, tmp_path_factory):
    """{package: the folder with its files}"""
    folder = tmp_path_factory.mktemp("unpacked")
    found = {}
    for deb in debs:
        name = deb.name.split("_")[0]
        subprocess.run(["dpkg-deb", "-x", deb, folder / name], check=True)
        found[name] = folder / name
    return found


def files(root):
    return {str(p.relative_to(root)): p for p in root.rglob("*") if p.is_symlink() or not p.is_dir()}


def test_each_package_has_its_program(unpacked):
    assert set(unpacked) == NAMES
    for name, root in unpacked.items():
        assert sorted(p.name for p in (root / "usr/bin").glob("*")) == PROGRAMS.get(name, [])


def test_the_configuration_is_the_operators(debs):
    deb, = (deb for deb in debs if deb.name.startswith("zkleader_"))
    conffiles = subprocess.run(["dpkg-deb", "-I", deb, "conffiles"], check=True, text=True, capture_output=True).stdout
    assert conffiles.split() == ["/etc/zkleader/zkleader.conf"]


def test_the_same_files_as_by_make_install(unpacked, tmp_path):
    libdir = next(p for p in (unpacked["libzkleader0"] / "usr/lib").iterdir())
    make("install", f"DESTDIR={tmp_path}", "PREFIX=/usr", f"LIBDIR=/usr/lib/{libdir.name}")
    installed = {k: v for k, v in files(tmp_path).items() if k not in OF_SOURCE}
    packed = {}
    for root in unpacked.values():
        packed.update({k: v for k, v in files(root).items() if not OF_PACKAGES.fullmatch(k)})
    # Debian compresses manual pages.
    plain = {re.sub(r"(/man/.*)\.gz$", r"\1", k): v for k, v in packed.items()}
    assert sorted(plain) == sorted(installed)
    for name, file in plain.items():
        if file.is_symlink() or installed[name].is_symlink():
            assert file.readlink() == installed[name].readlink(), name
            continue
        assert file.stat().st_mode == installed[name].stat().st_mode, name
        if not re.fullmatch(r"usr/bin/.*|.*\.(a|so\..*)", name):  # other flags
            content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            assert content == installed[name].read_bytes(), name


def test_lintian(debs):
    changes, = debs[0].parent.glob("*.changes")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", changes],
                          text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_two_builds_are_the_same_bit_for_bit(debs, tmp_path):
    """In another folder, at another time, with another umask and language."""
    again = build(tmp_path / "elsewhere", umask=0o077, LC_ALL="C", TZ="Asia/Tokyo")

    def sums(made):
        return {deb.name: hashlib.sha256(deb.read_bytes()).hexdigest() for deb in made}
    assert sums(again) == sums(debs)


@pytest.fixture(name="clone")
def a_clone(tmp_path):
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{ROOT}", tmp_path / "clone"], check=True)
    return tmp_path / "clone"


def test_the_source_as_one_file(clone, tmp_path):
    sums = []
    for _ in range(2):
        make("dist", cwd=clone)
        file = clone / f"zkleader-{VERSION}.tar.xz"
        sums.append(hashlib.sha256(file.read_bytes()).hexdigest())
        file.rename(tmp_path / file.name)
    assert sums[0] == sums[1]
    shutil.unpack_archive(tmp_path / file.name, tmp_path / "source")
    there, = (tmp_path / "source").iterdir()
    assert there.name == f"zkleader-{VERSION}"
    known = subprocess.run(["git", "ls-files"], cwd=clone, check=True, text=True, capture_output=True).stdout.split("\n")
    assert sorted(files(there)) == sorted(filter(None, known))
    assert subprocess.run(["git", "status", "--short"], cwd=clone, check=True, text=True, capture_output=True).stdout == ""


def test_the_version_is_in_one_place(clone):
    changelog = clone / "debian/changelog"
    changelog.write_text(changelog.read_text().replace(f"({VERSION})", "(0.9.7)", 1))
    out = make("--eval", "v: ; @echo $(VERSION) $(SHARED) $(filter -DZKLEADER_VERSION=%,$(BASE_CFLAGS))", "v", cwd=clone)
    assert out.split() == ["0.9.7", "libzkleader.so.0.9.7", "-DZKLEADER_VERSION=\"0.9.7\""]
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1].rstrip(",")
    assert heading == VERSION
    others = subprocess.run(["git", "grep", "-lF", VERSION, "--", "Makefile", "*.mk", "src", "debian", "systemd"], cwd=ROOT,
                            text=True, capture_output=True, check=False).stdout.split()
    assert set(others) <= {"debian/changelog", "debian/libzkleader0.symbols"}


def test_what_building_needs_is_told_once_for_make_and_once_for_debian():
    """Build-Depends is what `make deps` installs, but for what each Debian that builds has."""
    wanted = set(make("--eval", "p: ; @echo '$(PACKAGES_BUILD) $(PACKAGES_ZOOKEEPER)'", "p").replace("|", " ").split())
    control = (ROOT / "debian/control").read_text()
    field = re.search(r"^Build-Depends:(.*(?:\n .*)*)", control, re.M)[1]
    told = set(re.findall(r"[a-z][a-z0-9+.-]*(?=[ ,\n|(]|$)", field)) - {"debhelper-compat", "dh-sequence-installsysusers"}
    assert told == wanted - {"gcc", "libc6-dev", "make", "dpkg-dev"}
