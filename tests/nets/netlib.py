"""Common to the nets: the flags of the Makefile's variants, and test programs judged by their reports.

A report of LeakSanitizer or valgrind is made when a test has ended, and may leave the exit code 0. So all
of them write their reports to files, and a program has passed if tests of it ran, all of them passed, and
no file has anything in it. tests/run does the same for ASan and UBSan.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/nets"
BUILD = ROOT / "build/nets"
RUNNER = HERE / "plain_runner.c"
TIMEOUT_S = 600  # of one program; the slowest takes a tenth of it under valgrind


def make(*args):
    # Not with the flags and variables of a make that runs this.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(["nice", "make", "-s", "--no-print-directory", *args], cwd=ROOT, env=env,
                          check=False, text=True, timeout=1800, capture_output=True)
    if done.returncode:
        raise SystemExit(f"make {' '.join(args)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def flags(variant):
    """The Makefile's own compiler call of a variant, but for -W: planted bugs would be warned of."""
    text = make(f"VARIANT={variant}", "--eval",
                "nets-flags: ; $(info $(CC) $(CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS)) "
                "$(info $(BASE_LDFLAGS) $(LDFLAGS)) @:", "nets-flags")
    compiling, linking = text.splitlines()[:2]
    return ([f for f in shlex.split(compiling) if not re.match(r"-W(?!l,)", f)], shlex.split(linking))


def compile_program(sources, variant, name, *libraries):
    """A program of these sources with the flags of the variant: its path."""
    compiling, linking = flags(variant)
    target = BUILD / variant / name
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*compiling, *linking, "-o", str(target), *map(str, sources), *libraries], cwd=ROOT,
                   check=True, timeout=300)
    return target


def unit_programs(variant):
    """All unit tests, built, with plain_runner.c in place of Criterion's library."""
    make(f"VARIANT={variant}", "plain-bin")
    names = sorted(p.stem for p in (ROOT / "tests/unit").glob("*.c"))
    return [ROOT / "build" / variant / "plain" / name for name in names]


def reports_in(folder):
    """The text of the reports, shortened: {file name: first telling lines}."""
    found = {}
    for file in sorted(folder.iterdir()):
        text = file.read_text(encoding="utf-8", errors="replace").strip()
        if text:
            telling = [line for line in text.splitlines()
                       if re.search(r"ERROR|WARNING|SUMMARY|runtime error|==\d+== +\S", line)]
            found[file] = (telling or text.splitlines())[:12]
    return found


def environment(**changes):
    """Without the options of whatever runs us: reports are to come here."""
    env = {k: v for k, v in os.environ.items() if not re.fullmatch("(A|UB|L|T)SAN_OPTIONS", k)}
    return {**env, **changes}


def command_for(net, program, folder):
    """The command and the environment that make a program leave its reports in the folder."""
    if net == "valgrind":
        return ["nice", "valgrind", "-q", "--trace-children=yes", "--trace-children-skip=/bin/*,/usr/*",
                "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
                "--vgdb=no", f"--suppressions={HERE}/valgrind.supp",
                f"--log-file={folder}/{program.name}.%p", str(program)], environment()
    if net == "tsan":
        options = f"log_path={folder}/{program.name}:suppressions={HERE}/tsan.supp:history_size=4"
        return ["nice", str(program)], environment(TSAN_OPTIONS=options)
    return ["nice", str(program)], environment()


def run(net, program, *args, counted=True, timeout=TIMEOUT_S):
    """(number of tests that passed, list of what is wrong); counted: the program says how many passed."""
    folder = BUILD / "reports" / net / program.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command, env = command_for(net, program, folder)
    with subprocess.Popen([*command, *args], cwd=ROOT, env=env, text=True, errors="replace", start_new_session=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        try:
            out = child.communicate(timeout=timeout)[0]
        except BaseException as e:  # nothing that it has started lives on
            os.killpg(child.pid, signal.SIGKILL)
            if isinstance(e, subprocess.TimeoutExpired):
                return 0, [f"it did not end within {timeout} s"]
            raise
    wrong = []
    for file, lines in reports_in(folder).items():
        wrong += [f"report {file.relative_to(ROOT)}:", *("  " + line for line in lines)]
    if child.returncode:
        wrong += [f"exit code {child.returncode}", *("  " + line for line in out.splitlines()[-12:])]
    count = re.search(r"Tested: (\d+) .*Passing: (\d+)", out)
    passed = int(count[2]) if count else 0
    if counted and (not count or count[1] != count[2] or passed == 0):
        wrong.append(f"{passed} of {count[1] if count else 'no'} tests passed")
    return passed, wrong


def run_all(net, programs, jobs, timeout=TIMEOUT_S, arguments=None):
    """Runs them and prints a line each; (tests passed, programs with something wrong)."""
    arguments = arguments or {}
    total, failed = 0, 0

    def timed(program):
        started = time.monotonic()
        result = run(net, program, *arguments.get(program.name, []), timeout=timeout)
        return program, *result, time.monotonic() - started

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for program, passed, wrong, seconds in pool.map(timed, programs):
            total += passed
            failed += bool(wrong)
            print(f"{'FAIL' if wrong else 'ok  '} {net} {program.name}: {passed} tests, {seconds:.0f} s", flush=True)
            for line in wrong:
                print(f"     {line}", flush=True)
    return total, failed
