"""A build without ZooKeeper's client with TLS refuses what it cannot do."""
import pytest

from harness import tls
from harness.sidecar import build


@pytest.fixture(autouse=True)
def built_without():
    if tls.has_tls(build() / "zkleaderd"):
        pytest.skip("this build has TLS")


@pytest.mark.parametrize("key,line", [("tls", "tls = true"), ("sasl", 'sasl = "digest-md5"')])
def test_the_keys_are_refused_with_line_and_remedy(program, folder, key, line):
    auth = folder / "auth"
    auth.write_text("digest:app:secret\n", encoding="ascii")
    auth.chmod(0o600)
    file = folder / "zkleader.conf"
    file.write_text(f'version = "1"\nauth-file = "{auth}"\n{line}\n', encoding="ascii")
    for more in (["-t"], []):
        r = program("zkleaderd", *more, "-c", file)
        assert r.code == 78, r
        assert f"{file}:3: {key}: " in r.err and "make zookeeper-client" in r.err, r
