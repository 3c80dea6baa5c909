"""zkleader import-crontab: what it prints is good, runs as cron would, and what it leaves out is said."""
import json
import subprocess

import pytest

from harness import cron
from harness.process import end
from harness.sidecar import Sidecar
from harness.waiting import wait_until


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
    ("A=\x01", "control"), ("0 2 * * %p \r", "no command")])
def test_what_is_not_taken_over(imported, line, says):
    found = imported(f"0 0 * * * /good\n{line}\n", "--user", "app")
    assert names(found) == ["good"] and [r["line"] for r in found["refused"]] == [2]
    assert (says or "") in found["refused"][0]["why"], found


@pytest.mark.parametrize("line, says", [
    ("@every 5m /x y", 'schedule = "every 5m"'), ("@every 1h30m /x", 'schedule = "every 90m"'), ("@every 45s /x", '"every 45s"'),
    ("0~30 * * * * /x", '"H(0-30) * * * *"'), ("~ ~5 * * * /x", '"H H(0-5) * * *"'), ("0/5 * * * * /x", '"*/5 * * * *"'),
    ("5/10,50 8/4 * * ? /x", '"5-59/10,50 8-23/4 * * *"'), ("0 0 12 * * ? /x", "six time fields"),
    ("*/30 * * * * * /x", "six time fields"), ("0 0 12 ? * MON-FRI /x", "six time fields"), ("0 0 12 * * ? 2026 /x", "seven time fields"),
    ("TZ=Asia/Tokyo 0 9 * * * /x", "CRON_TZ=ZONE in a line of its own"), ("CRON_TZ=UTC @daily /x", "CRON_TZ=ZONE in a line of its own"),
    ('TZ="Asia/Tokyo" 0 9 * * 1-5 /x', "CRON_TZ=ZONE in a line of its own"), ("A=b 0 9 * * * /x", "line of its own"),
    ("CRON_TZ=Mars/Base", "not a zone"), ("a-b=1", "letters, digits"), ("1A=1", "letters, digits"), ("HOME=srv", "from / on")])
def test_the_remedy_is_named(imported, line, says):
    found = imported(f"0 0 * * * /good\n{line}\n", "--user", "app")
    assert names(found) == ["good"] and [r["line"] for r in found["refused"]] == [2]
    assert says in found["refused"][0]["why"], found


@pytest.mark.parametrize("command, says", [
    ("nohup /opt/x &", "foreground"), ("/opt/x &", "foreground"), ("x && y", None), ("x \\&", None), ("setsid -f /opt/x", "foreground"),
    ("/opt/nohup-log x", None), ("run-parts /x", "host's own"), ("test -x /usr/sbin/anacron || x", "host's own"),
    ("/usr/sbin/logrotate /etc/logrotate.conf", "host's own"), ("/x /etc/cron.daily/y", "host's own"), ("cat%x", "standard input"),
    ("date +\\%F", None)])
def test_what_is_noted(imported, command, says):
    found = imported(f"* * * * * {command}\n", "--user", "app")
    assert len(found["tasks"]) == 1 and [n["line"] for n in found["notes"]] == ([1] if says else []), found
    assert not says or says in found["notes"][0]["why"], found


def test_each_line_has_the_zone_above_it(imported):
    found = imported("0 * * * * /a\nCRON_TZ=Asia/Tokyo\n0 * * * * /b\nTZ=Europe/Paris\n0 * * * * /c\nCRON_TZ=Mars/Base\n"
                     "0 * * * * /d\nCRON_TZ=\n0 * * * * /e\n", "--user", "app")
    assert [(t["task"], t["timezone"]) for t in found["tasks"]] == [("a", "UTC"), ("b", "Asia/Tokyo"), ("c", "Asia/Tokyo"), ("e", "UTC")]
    assert [r["line"] for r in found["refused"]] == [6, 7] and "CRON_TZ" in found["refused"][1]["why"]
    assert [t["environment"] for t in found["tasks"]] == [[], [], ["TZ=Europe/Paris"], ["TZ=Europe/Paris"]]


def test_a_prefix(imported, program, folder):
    text = f"* * * * * /a/job\n1 * * * * /b/job\n2 * * * * zkleader run own -- /x\n3 * * * * {'a' * 90}\n"
    assert names(imported(text, "--user", "app", "--prefix", "web-")) == ["web-job", "web-job-2", "own", "web-" + "a" * 76]
    for prefix in ("", "-x", "a b", "a" * 51):
        assert program("zkleader", "import-crontab", folder / "crontab", "--user", "app", "--prefix", prefix).code == 3


def test_no_utf8_and_no_end(imported):
    found = imported(b"* * * * * /a \xff\n* * * * * /b\x00c\n* * * * * /c", "--user", "app")
    assert names(found) == ["c"] and [r["line"] for r in found["refused"]] == [1, 2]


def test_users(imported):
    found = imported("* * * * * root /x\n* * * * * /x\n* * * * * a/b /y\n1 1 1 1 1 1 app six\n")
    assert [t["user"] for t in found["tasks"]] == ["root"] and [r["line"] for r in found["refused"]] == [2, 3, 4]
    found = imported("* * * * * root /x\n", "--user", "app", "--force")
    assert found["tasks"][0]["command"] == ["/bin/sh", "-c", "root /x"]


@pytest.mark.parametrize("text, options, says", [
    ("* * * * * root /x\n@daily nobody /y\n", ("--user", "app"), 'crontab:1: "root" is a user of this host'),
    ("A=1\n* * * * * cd /srv && x\n@daily /opt/y z\n", (), 'crontab:2: "cd" is no user of this host'),
    ("* * * * * root /x\n1 * * * * deploy-nosuch /x\n", ("--user", "app"), '"root"'),
    ("1 * * * * /x\n2 * * * * root-nosuch /x\n", (), 'crontab:1: "/x" is no user'),
    ("1 * * * * root\n2 * * * * /x\n", (), 'crontab:2: "/x" is no user of this host')])
def test_the_wrong_mode_is_refused_as_a_whole(program, folder, text, options, says):
    (folder / "crontab").write_text(text)
    for json_too in ((), ("--json",)):
        r = program("zkleader", *json_too, "import-crontab", folder / "crontab", *options)
        assert (r.code, r.out) == (3, "") and says in r.err and "--user" in r.err and "--force" in r.err, r
    assert program("zkleader", "import-crontab", folder / "crontab", *options, "--force").code in (0, 1)


def test_what_may_be_either_is_no_sign(imported):
    """sync and mail are users of a Debian host, and programs."""
    assert len(imported("* * * * * sync && x\n1 * * * * /x y\n", "--user", "app")["tasks"]) == 2
    assert len(imported("* * * * * root /x\n1 * * * * sync /bin/sync\n")["tasks"]) == 2


def test_lines_of_another_system(imported):
    found = imported("1 * * * * root /x\r\n2 * * * * root /y\r\n")
    assert [t["command"][-1] for t in found["tasks"]] == ["/x", "/y"] and not found["refused"]
    assert [n["line"] for n in found["notes"]] == [1] and "carriage return" in found["notes"][0]["why"]


def test_notes_and_variables(imported):
    found = imported("MAILTO=a@b\nCRON_TZ=Europe/Berlin\nLOGNAME=x\n* * * * * /x\nHOME = '/srv'\n"
                     "SHELL=/bin/bash\n* * * * * /y $A\n", "--user", "app")
    assert [n["line"] for n in found["notes"]] == [1, 2] and not found["refused"]
    first, second = found["tasks"]
    assert first["command"] == ["/x"] and first["timezone"] == "Europe/Berlin" and first["environment"] == []
    assert second["command"] == ["/bin/bash", "-c", "/y $A"] and second["directory"] == "/srv"
    assert second["environment"] == ["HOME=/srv", "SHELL=/bin/bash"] and second["timezone"] == "Europe/Berlin"
    assert imported("ZKLEADER_SOCKET=/s\n* * * * * /x\n", "--user", "app")["tasks"][0]["environment"] == []


def run_task(task, env):
    """As a runner does."""
    own = dict(pair.split("=", 1) for pair in task["environment"])
    return subprocess.run(task["command"], env={**env, **own}, cwd=task.get("directory"), capture_output=True,
                          stdin=subprocess.DEVNULL, check=False, timeout=60)


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
    ran = [run_task(t, env) for t in tasks]
    assert [p.returncode for p in ran] == [3, 0, 0, 0, 0], ran
    assert [p.stdout.decode() for p in ran] == [
        "one\ntwo b c \" \\ ' $ {\n%d\n", "line 'one' % \\%two\ttab\ndone\n", "plain words\n", "b c\n", "/tmp\n"]


# Text behind the command, as it stands in a crontab.
INPUTS = ["%", "%-hello", r"%foo\n", "%foo", "%foo%", "%%", "%%%", "%foo%%", r"%a\%b", r"%a\\%b", r"%a\b", "%back\\", "%  lead",
          "%trail  ", "%trail\t", r"%end\\%", "%it's \"q\" $x `y`", r"%\t\101\c after", "%#no", r"%a\\\%b", r"%\%", "%-n%-e%",
          "%\tx\ty", "%a\rb", "%é\x07", "%--", "%%s%d", "%x\r"]
COMMANDS = [r"printf '\%s|' 'a\\b' 'a\b' 'x\\\%y' >O", r"printf '\%s|' 'a\\\\b' >O", r"echo 'tail\\' >O",
            r"cat >O; echo x\\%in", "echo blanks >O  \t ", r"echo \% \$HOME $HOME >O", "pwd >O"]


@pytest.mark.costly
@pytest.mark.skipif(not (cron.is_installed() and cron.may_mount()), reason="needs cron, and mounts of its own")
def test_all_bytes_are_as_the_real_cron_gives_them(folder, program):
    """One crontab, run by cron itself and by what is printed for it."""
    lines = [f"cat >O{tail}" for tail in INPUTS] + COMMANDS
    text = "SHELL=/bin/sh\nHOME=/tmp\n" + "".join(
        f"* * * * * root {line.replace('>O', f'>D/{i}.part && mv D/{i}.part D/{i}')}\n" for i, line in enumerate(lines))
    there, here = folder / "cron", folder / "ours"
    there.mkdir(), here.mkdir()
    process = cron.start_cron(folder / "home", text.replace("D/", f"{there}/"))
    try:
        wait_until(lambda: all((there / str(i)).exists() for i in range(len(lines))), 180, "cron has run each line")
    finally:
        end(process)
    (folder / "crontab").write_bytes(text.replace("D/", f"{here}/").encode())
    found = json.loads(program("zkleader", "--json", "import-crontab", folder / "crontab").out)
    assert not found["refused"] and len(found["tasks"]) == len(lines), found["refused"]
    for task in found["tasks"]:
        assert run_task(task, {"PATH": "/usr/bin:/bin", "HOME": "/root"}).returncode == 0, task
    for i, line in enumerate(lines):
        assert (here / str(i)).read_bytes() == (there / str(i)).read_bytes(), line


def test_options(program, folder):
    (folder / "empty").write_text("")
    for args, code in ((["nosuchfile"], 3), ([folder / "empty"], 0), ([folder / "empty", "--user", "a b"], 3),
                       ([folder / "empty", "--timezone", "Mars/Base"], 3), ([folder / "empty", "--timezone", "../x"], 3), ([], 3)):
        assert program("zkleader", "import-crontab", *args).code == code, args
