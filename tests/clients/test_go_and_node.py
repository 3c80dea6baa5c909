"""What is special to clients/go and clients/node: their own tests, what is shown of them, and what an idle one costs."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import driving
from harness.process import end, spawn
from harness.sidecar import queue_text, task_text
from harness.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
GO, NODE = ROOT / "clients/go", ROOT / "clients/node"
TASK = "nightly-report"
BUILD_SECONDS = 600


def need(language):
    why = driving.missing(language).get(language)
    if why:
        pytest.skip(why)


def passes(*command, cwd, **env):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "GOPROXY": "off", **env}, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.seconds(BUILD_SECONDS)
def test_the_own_tests_of_go():
    need("go")
    assert passes("gofmt", "-l", ".", cwd=GO) == ""
    passes("go", "vet", "./...", cwd=GO)
    race = ["-race"] if shutil.which("gcc") else []
    passes("go", "test", *race, ".", cwd=GO)


@pytest.mark.seconds(BUILD_SECONDS)
def test_staticcheck_finds_nothing(folder):
    """Built of Debian's source, as there is no package of the program."""
    need("go")
    if not pathlib.Path("/usr/share/gocode/src/honnef.co/go/tools/cmd/staticcheck").is_dir():
        pytest.skip("there is no staticcheck: apt install golang-honnef-go-tools-dev")
    passes("go", "build", "-o", folder / "staticcheck", "honnef.co/go/tools/cmd/staticcheck", cwd=folder, GO111MODULE="off",
           GOPATH="/usr/share/gocode", GOFLAGS="")
    passes(folder / "staticcheck", "./...", cwd=GO)


def test_go_needs_the_standard_library_alone():
    need("go")
    assert passes("go", "list", "-m", "all", cwd=GO).split() == ["zkleader"]


def test_the_own_tests_of_node():
    need("node")
    passes("node", "--test", "test/", cwd=NODE)


def type_check(*files, cwd):
    need("node")
    if not shutil.which("tsc"):
        pytest.skip("there is no tsc: apt install node-typescript")
    passes("tsc", "--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "node16",
           "--moduleResolution", "node16", *files, cwd=cwd)


def test_the_types_of_node():
    type_check("test/types.ts", cwd=NODE)


def test_node_exports_what_its_types_say():
    need("node")
    said = passes("node", "--input-type=module", "-e",
                  f"import * as z from '{NODE}/index.js'; console.log(Object.keys(z).join(),"
                  "Object.getOwnPropertyNames(z.Client.prototype).join())", cwd=NODE)
    names, methods = said.split()
    assert sorted(names.split(",")) == ["Client", "ZkleaderError", "connect"]
    types = (NODE / "index.d.ts").read_text()
    for name in methods.split(","):
        assert name == "constructor" or f"\t{name}(" in types or f"\t{name}<" in types, name


@pytest.fixture(params=["go", "node"])
def example(request, tmp_path):
    """example(sidecar, name, args...): a program of the examples, begun."""
    need(request.param)
    begun = []

    def begin(sidecar, name, *args):
        command = ["node", NODE / f"examples/{name}.js"]
        if request.param == "go":
            passes("go", "build", "-o", tmp_path / name, f"./examples/{name}", cwd=GO)
            command = [tmp_path / name]
        begun.append(spawn([*command, *args], env={**os.environ, "ZKLEADER_SOCKET": str(sidecar)}, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return begun[-1]

    yield begin
    for one in begun:
        end(one)


def ended(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.seconds(BUILD_SECONDS)
def test_the_examples_that_lead_and_run(example, fleet, zk, folder):
    a = fleet.sidecar("a", node="a", version="2", tasks=[TASK], session_timeout="10s")
    b = fleet.sidecar("b", node="b", version="1", tasks=[TASK], session_timeout="10s")
    token = zk.wait_for_leader(TASK, a)
    wait_until(lambda: a.leads(TASK), what="it leads")
    code, out, err = ended(example(a.socket, "lead", TASK, "2"))
    assert (code, err) == (0, "") and f"step 2 of 2 with token {token}," in out
    code, out, err = ended(example(b.socket, "lead", TASK))
    assert (code, out) == (1, "") and "led by a" in err
    assert ended(example(b.socket, "lead", "unknown"))[0] == 3
    assert ended(example(folder / "none", "lead", TASK))[0] == 2
    codes = set()
    for _ in range(3):  # in two minutes at the most
        code, out, err = ended(example(a.socket, "run", TASK))
        assert err == "" and (code == 1 or f"with token {token}" in out)
        codes.add(code)
    assert codes == {0, 1}
    assert {run["state"] for run in a.call("history", TASK)} == {"ok"}


@pytest.mark.seconds(BUILD_SECONDS)
def test_the_example_that_watches(example, fleet, zk):
    a = fleet.sidecar("a", node="a", version="1", tasks=[TASK], session_timeout="10s")
    zk.wait_for_leader(TASK, a)
    watching = example(a.socket, "watch", TASK)
    assert watching.stdout.readline().startswith(f"{TASK}: a (1), token ")
    fleet.sidecar("b", node="b", version="2", tasks=[TASK], session_timeout="10s")
    while not watching.stdout.readline().startswith(f"{TASK}: b (2), token "):
        assert watching.poll() is None
    watching.send_signal(signal.SIGINT)
    assert ended(watching)[0] == 0


@pytest.mark.seconds(BUILD_SECONDS)
def test_the_example_that_submits(example, queues):
    a = queues.site("a", queue_text("q", command=["/bin/cat"]))
    queues.wait_open()
    code, out, err = ended(example(a.socket, "submit", "q", "a text"))
    assert (code, err) == (0, "") and out.endswith(": ok, exit status 0\na text")
    code, out, err = ended(example(a.socket, "submit", "nosuch", "a text"))
    assert (code, out) == (2, "") and "nosuch" in err


def test_an_idle_client_of_node_lets_the_process_end(fleet, folder):
    need("node")
    only = fleet.sidecar("only", tasks=[TASK])
    program = folder / "idle.mjs"
    program.write_text(f"""
        import {{ connect }} from '{NODE}/index.js';
        const z = connect('{only.socket}');
        await z.leads('{TASK}');
        for await (const change of z.watch('{TASK}'))
            break;
        await z.leading('{TASK}', () => 1);
        await Promise.all([z.leads('{TASK}'), z.leads('{TASK}')]);
    """)
    wait_until(lambda: only.leads(TASK), what="it leads")
    begun = time.monotonic()
    assert ended(spawn(["node", program], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)) == (0, "", "")
    assert time.monotonic() - begun < 30


# --- what is shown ----------------------------------------------------------------------------------

GO_SHOWN = """package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"zkleader"
)

var parts, payload = []string{"a", "b"}, []byte("x")

func send(part string, token uint64) { fmt.Println("send", part, token) }

func follow(ctx context.Context, token uint64) error {
	fmt.Println("follow", token)
	return ctx.Err()
}

func report(ctx context.Context, tick string, token uint64) error {
	fmt.Println("report", tick, token)
	return ctx.Err()
}

type telling struct {
	left   int
	cancel context.CancelFunc
}

func (t *telling) Write(line []byte) (int, error) {
	if t.left--; t.left == 0 {
		t.cancel()
	}
	return os.Stdout.Write(line)
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	log.SetOutput(&telling{2, cancel})
	log.SetFlags(0)
%(Connect)s
	for _, name := range os.Args[1:] {
		if err := sections[name](ctx, client); err != nil {
			log.Fatal(name, ": ", err)
		}
	}
}

var sections = map[string]func(context.Context, *zkleader.Client) error{
	"Ask": func(ctx context.Context, client *zkleader.Client) error {
%(Ask)s
		return nil
	},
	"Watch": func(ctx context.Context, client *zkleader.Client) error {
%(Watch)s
		return nil
	},
	"Lead": func(ctx context.Context, client *zkleader.Client) error {
%(Lead)s
		return err
	},
	"Run": func(ctx context.Context, client *zkleader.Client) error {
%(Run)s
		fmt.Println("ran", ran.Reason)
		return err
	},
	"Submit": func(ctx context.Context, client *zkleader.Client) error {
%(Submit)s
		fmt.Println(ended.State)
		return err
	},
}
"""
NODE_SHOWN = """%(Connect)s
const parts = ['a', 'b'], payload = 'x';
const send = async (part, token) => console.log('send', part, token);
const store = async (entry, token) => console.log('store', entry, token);
const report = (tick, token) => console.log('report', tick, token);
async function* entries({ signal }) {
	for (const entry of ['c', 'd'])
		yield signal.aborted ? 'lost' : entry;
}
const sections = {
	async Ask() { %(Ask)s },
	async Watch() {
		const real = client, said = [];
		let watch;
		await (async (client, console) => { %(Watch)s })({ watch: (tasks) => watch = real.watch(tasks) }, { log(...words) {
			console.log(...words);
			if (said.push(words) === 2)
				watch.return();
		} });
	},
	async Lead() { %(Lead)s },
	async Run() { %(Run)s console.log('ran', ran.reason); },
	async Submit() { %(Submit)s },
};
for (const name of process.argv.slice(2))
	await sections[name]();
client.close();
"""
NODE_TYPED = """%(Connect)s
declare const parts: string[], payload: Uint8Array;
declare function send(part: string, token: number | bigint): Promise<void>;
declare function store(entry: string, token: number | bigint): Promise<void>;
declare function report(tick: string | null, token: number | bigint): Promise<void>;
declare function entries(options: { signal: AbortSignal }): AsyncIterable<string>;
export async function ask() { %(Ask)s }
export async function watch() { %(Watch)s }
export async function lead() { %(Lead)s }
export async function run() { %(Run)s }
export async function submit() { %(Submit)s }
"""


@pytest.fixture
def node_folder(folder):
    """A folder of an application that has the package."""
    (folder / "node_modules").mkdir()
    (folder / "node_modules/zkleader").symlink_to(NODE)
    return folder


@pytest.fixture(params=["go", "node"])
def page(request, node_folder):
    """The command of a program of what the page shows, which takes the sections to do."""
    need(request.param)
    if request.param == "node":
        (node_folder / "shown.mjs").write_text(NODE_SHOWN % dict(driving.shown("js")), encoding="utf-8")
        return ["node", node_folder / "shown.mjs"]
    (node_folder / "go.mod").write_text(f"module shown\ngo 1.19\nrequire zkleader v0.0.0\nreplace zkleader => {GO}\n")
    (node_folder / "main.go").write_text(GO_SHOWN % dict(driving.shown("go")), encoding="utf-8")
    passes("go", "vet", ".", cwd=node_folder)
    passes("go", "build", "-o", "shown", ".", cwd=node_folder)
    return [node_folder / "shown"]


def said_by(page, socket, *sections):
    process = spawn([*page, *sections], env={**os.environ, "ZKLEADER_SOCKET": str(socket)}, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        code, out, err = ended(process)
    finally:
        end(process)
    assert (code, err) == (0, ""), err
    return [line.split() for line in out.splitlines()]


@pytest.mark.seconds(BUILD_SECONDS)
def test_what_the_page_shows_works(page, fleet, zk, scripted):
    only = fleet.sidecar("only", node="only", tasks=[task_text(TASK, tick="24h"), "feed"], session_timeout="20s")
    for task in (TASK, "feed"):
        zk.wait_for_leader(task, only)
        wait_until(lambda task=task: only.leads(task), what="it leads")
    token, other = (str(zk.leader(task)[1]) for task in (TASK, "feed"))
    said = said_by(page, only.socket, "Ask", "Lead", "Run", "Watch")
    assert said[:2] == [["send", "a", token], ["send", "b", token]]
    led = [["follow", other]] if said[2][0] == "follow" else [["store", "c", other], ["store", "d", other]]
    [tick] = zk.names("runs", TASK)
    assert said[2:-2] == [*led, ["report", tick, token], ["ran", "ok"]]
    assert sorted(line[:2] for line in said[-2:]) == [["feed", "leading"], [TASK, "leading"]]

    def play(connection, number):
        while True:
            msgid, method, _ = connection.request()
            assert method in ("job_id", "submit", "job")
            connection.answer(msgid, {"id": "mails.1", "queue": "mails", "state": "ok", "attempt": 1})

    assert said_by(page, scripted(play).path, "Submit") == [["ok"]]


def test_the_types_of_what_the_page_shows(node_folder):
    (node_folder / "shown.mts").write_text(NODE_TYPED % dict(driving.shown("js")), encoding="utf-8")
    type_check("shown.mts", cwd=node_folder)
