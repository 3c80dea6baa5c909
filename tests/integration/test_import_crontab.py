"""zkleader import-crontab: what it prints is good, runs as cron would, and what it leaves out is said."""
import json
import subprocess

import pytest

from harness.sidecar import Sidecar


@pytest.fixture
def imported(folder, program):
    """imported(text, *options): its JSON, and the code."""
    def of(text, *options):
        file = folder / "crontab"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        r = program("zkleader", "--json", "import-crontab", file, "--timezone", "UTC", *options)
        found = json.loads(r.out)
        assert (r.code == 1) == bool(found["refused"]), r
        return found
    return of


def names(found):
    return [t["task"] for t in found["tasks"]]


@pytest.mark.parametrize("command, name", [
    ("/usr/local/bin/backup.sh --all", "backup"), ("cd /srv/app && ./bin/report >/dev/null 2>&1", "report"),
    ("[ -x /usr/bin/x ] && /usr/bin/x --now", "x"), ("test -e /x || /opt/y", "y"), ("A=1 B=2 nice -n 10 ionice -c3 work", "work"),
    ("/usr/bin/python3 /srv/tidy.py -v", "tidy"), ("flock /var/lock/x.lock sync-users", "sync-users"), ("timeout 30m fetch_all", "fetch_all"),
    ("php /var/www/cron.php", "cron"), ("echo", "echo"), ("\"/opt/my tool\"", "my"), ("%", None), ("''", "job"),
    ("zkleader run nightly -- /x", "nightly"), ("/usr/bin/zkleader run --tick 1d --wait 5m a.b -- x -- y", "a.b"),
    ("zkleader-check -t 5s weekly && x", "weekly"), ("a" * 200, "a" * 80), ("./-_x.sh", "x")])
def test_names(imported, command, name):
    assert names(imported(f"* * * * * {command}\n", "--user", "app")) == ([name] if name else [])


def test_each_name_once(imported):
    assert names(imported("* * * * * /a/job\n1 * * * * /b/job\n2 * * * * /b/job-2\n", "--user", "x")) == ["job", "job-2", "job-2-2"]


@pytest.mark.parametrize("line, says", [
    ("plain /usr/bin/printf", None), ("@reboot /x", "@reboot"), ("* * * * *", "no command"), ("* * * * /x", "no command"),
    ("61 * * * * /x", "0 to 59"), ("0 0 30 2 * /x", "never comes"), ("nonsense", "five fields"), ("@never /x", ""),
    ("* * * * * %only input", "no command"), ("* * * * * x 'a\tb'", "tab"), ("* * * * * a\x07b", "control"),
    ("A=\x01", "control")])
def test_what_is_not_taken_over(imported, line, says):
    found = imported(f"0 0 * * * /good\n{line}\n", "--user", "app")
    assert names(found) == ["good"] and [r["line"] for r in found["refused"]] == [2]
    assert (says or "") in found["refused"][0]["why"], found


def test_no_utf8_and_no_end(imported):
    found = imported(b"* * * * * /a \xff\n* * * * * /b\x00c\n* * * * * /c", "--user", "app")
    assert names(found) == ["c"] and [r["line"] for r in found["refused"]] == [1, 2]


def test_users(imported):
    found = imported("* * * * * root /x\n* * * * * /x\n* * * * * a/b /y\n1 1 1 1 1 1 app six\n")
    assert [t["user"] for t in found["tasks"]] == ["root"] and [r["line"] for r in found["refused"]] == [2, 3, 4]
    assert imported("* * * * * root /x\n", "--user", "app")["tasks"][0]["command"] == ["/bin/sh", "-c", "root /x"]


def test_lines_of_another_system(imported):
    found = imported("1 * * * * root /x\r\n2 * * * * root /y\r\n")
    assert [t["command"][-1] for t in found["tasks"]] == ["/x", "/y"] and not found["refused"]
    assert [n["line"] for n in found["notes"]] == [1] and "carriage return" in found["notes"][0]["why"]


def test_notes_and_variables(imported):
    found = imported("MAILTO=a@b\nCRON_TZ=Europe/Berlin\nLOGNAME=x\n* * * * * /x\nHOME = '/srv'\n"
                     "SHELL=/bin/bash\n* * * * * /y $A\n", "--user", "app")
    assert [n["line"] for n in found["notes"]] == [1, 2] and not found["refused"]
    first, second = found["tasks"]
    assert first["command"] == ["/usr/bin/env", "CRON_TZ=Europe/Berlin", "/x"] and first["timezone"] == "UTC"
    assert second["command"] == ["/usr/bin/env", "-C", "/srv", "CRON_TZ=Europe/Berlin", "HOME=/srv", "SHELL=/bin/bash",
                                 "/bin/bash", "-c", "/y $A"]


CRONTAB = r"""
A = "b c"
*/5 * * * * root printf '%s\n' one "two ${A} \" \\ ' $ {" \%d; exit 3
0 1 * * 1-5 root cat; echo done%line 'one' \% \\%two	tab%
@daily	root	/bin/echo	plain  words
1,2 H * jan-mar sun root test "$A" = "b c" && echo "${A}" # comment
2 2 * * * root cd /tmp && pwd%
"""


def test_what_is_printed_runs_as_cron_would_run_it(folder, program, zk):
    """The text is read by the sidecar's own parser; the words it got are compared with those of --json, and run."""
    file = folder / "crontab"
    file.write_text(CRONTAB.replace("%s", r"\%s"))
    r = program("zkleader", "import-crontab", file)
    assert r.code == 0, r
    sidecar = Sidecar(folder / "only", "only", zk)
    sidecar.write_file(r.out, "imported.conf")
    checked = program("zkleaderd", "-t", "-c", sidecar.config_file)
    assert checked.code == 0 and "good, 5 tasks" in checked.out, checked
    tasks = json.loads(program("zkleader", "--json", "import-crontab", file).out)["tasks"]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/root"}
    ran = [subprocess.run(t["command"], env=env, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60)
           for t in tasks]
    assert [p.returncode for p in ran] == [3, 0, 0, 0, 0], ran
    assert [p.stdout.decode() for p in ran] == [
        "one\ntwo b c \" \\ ' $ {\n%d\n", "line 'one' % \\%two\ttab\ndone\n", "plain words\n", "b c\n", "/tmp\n"]


def test_options(program, folder):
    (folder / "empty").write_text("")
    for args, code in ((["nosuchfile"], 3), ([folder / "empty"], 0), ([folder / "empty", "--user", "a b"], 3),
                       ([folder / "empty", "--timezone", "Mars/Base"], 3), ([folder / "empty", "--timezone", "../x"], 3), ([], 3)):
        assert program("zkleader", "import-crontab", *args).code == code, args
