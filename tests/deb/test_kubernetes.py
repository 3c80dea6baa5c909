"""docs/kubernetes: the manifests against Kubernetes' own schema, as its client for Python has it, and pods made of them by
the image: their configuration, probes, label of the version and farewell."""
import os
import re
import signal

import pytest
import yaml

from debs import ROOT
from harness.waiting import wait_until
from image import Container

FOLDER = ROOT / "docs/kubernetes"
DOCUMENTS = [d for file in sorted(FOLDER.glob("*.yaml")) for d in yaml.safe_load_all(file.read_text(encoding="utf-8"))]
KINDS = {("v1", "ConfigMap"): "V1ConfigMap", ("apps/v1", "Deployment"): "V1Deployment"}
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
TASK = "nightly-report"
AT_ONCE = 20  # seconds; the session timeout is a minute
pytestmark = pytest.mark.seconds(1800)  # building the packages takes minutes, whichever test is the first
containers = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts of a container need root")


def one(kind, name=None):
    found, = (d for d in DOCUMENTS if d["kind"] == kind and name in (None, d["metadata"]["name"]))
    return found


POD = one("Deployment")["spec"]["template"]
SPEC = POD["spec"]
SIDECAR, = (c for c in SPEC["containers"] if c["name"] == "zkleader")


def breaches(value, kind, where):
    """What is wrong with a value that has to be of that type: fields that are not known, missing or of another type."""
    models = pytest.importorskip("kubernetes.client.models", reason="python3-kubernetes is not here")
    if m := re.fullmatch(r"list\[(.*)\]", kind):
        return [b for n, v in enumerate(value) for b in breaches(v, m[1], f"{where}[{n}]")] \
            if isinstance(value, list) else [f"{where} is no list"]
    if m := re.fullmatch(r"dict\(str, (.*)\)", kind):
        return [b for k, v in value.items() for b in breaches(v, m[1], f"{where}.{k}")] \
            if isinstance(value, dict) else [f"{where} is no map"]
    plain = {"str": str, "int": int, "bool": bool, "object": (str, int, dict)}
    if kind in plain:
        good = isinstance(value, plain[kind]) and (kind != "int" or not isinstance(value, bool))
        return [] if good else [f"{where} is no {kind}: {value!r}"]
    model = getattr(models, kind)
    known = {name: field for field, name in model.attribute_map.items()}
    if not isinstance(value, dict):
        return [f"{where} is no {kind}"]
    wrong = [f"{where}.{k} is not known" for k in value if k not in known]
    for k in value:
        if k in known:
            wrong += breaches(value[k], model.openapi_types[known[k]], f"{where}.{k}")
    try:
        model(**{known[k]: v for k, v in value.items() if k in known})
    except ValueError as e:
        wrong.append(f"{where}: {e}")
    return wrong


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: f"{d['kind']}-{d['metadata']['name']}")
def test_the_schema(document):
    assert breaches(document, KINDS[document["apiVersion"], document["kind"]], document["kind"]) == []
    assert NAME.fullmatch(document["metadata"]["name"])


def test_the_check_of_the_schema_finds_mistakes():
    assert breaches({"metadata": {"name": "a", "label": {}}}, "V1ConfigMap", "it") == ["it.metadata.label is not known"]
    assert breaches({"data": {"a": 1}}, "V1ConfigMap", "it") == ["it.data.a is no str: 1"]
    assert breaches({"replicas": True, "selector": {}, "template": {}}, "V1DeploymentSpec", "it") == \
        ["it.replicas is no int: True"]
    assert len(breaches({"image": "a"}, "V1Container", "it")) == 1


def seconds(duration):
    return int(re.fullmatch(r"(\d+)s", duration)[1])


def test_what_fits_together(image):
    volumes = {v["name"]: v for v in SPEC["volumes"]}
    paths = []
    for container in SPEC["containers"]:
        for mount in container["volumeMounts"]:
            assert mount["name"] in volumes
        paths = sorted(mount["mountPath"] + "/" for mount in container["volumeMounts"])
        assert not any(b.startswith(a) for a, b in zip(paths, paths[1:])), "a volume in a read-only one cannot be mounted"
    assert [c["name"] for c in SPEC["containers"] if any(m["mountPath"] == "/run/zkleader" for m in c["volumeMounts"])] == \
        ["myapp", "zkleader"], "the application has the socket"
    for volume in volumes.values():
        if "configMap" in volume:
            one("ConfigMap", volume["configMap"]["name"])
    deployment = one("Deployment")
    wanted = deployment["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= POD["metadata"]["labels"].items()
    assert "app.kubernetes.io/version" not in wanted, "a selector does not change, and the version does"
    wait = next(seconds(w.split("=")[1]) for w in pre_stop() if w.startswith("--wait="))
    stop = seconds(re.search(r'stop-wait = "(.*)"', one("ConfigMap", "zkleader")["data"]["zkleader.conf"])[1])
    assert SPEC["terminationGracePeriodSeconds"] > wait + stop
    context = SIDECAR["securityContext"]
    assert f"{context['runAsUser']}:{context['runAsGroup']}" == image.config["config"]["User"]
    assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"] and context["runAsNonRoot"]
    assert context["capabilities"] == {"drop": ["ALL"]} and "cpu" not in SIDECAR["resources"]["limits"]
    assert SIDECAR["livenessProbe"]["exec"]["command"][1:] == ["status", "--live"]
    assert SIDECAR["readinessProbe"]["exec"]["command"][1:] == ["status", "--ready"]


def pre_stop():
    return SIDECAR["lifecycle"]["preStop"]["exec"]["command"]


def write_volume(folder, files):
    """As kubelet does: files are links through a link, which a change replaces at once."""
    folder.mkdir(exist_ok=True)
    data = folder / f"..{len(list(folder.iterdir()))}"
    data.mkdir()
    for name, text in files.items():
        (data / name).write_text(text, encoding="utf-8")
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    draft = folder / "..draft"
    draft.symlink_to(data.name)
    draft.rename(folder / "..data")
    for link in folder.iterdir():
        if link.name not in files and not link.name.startswith(".."):
            link.unlink()


class Pod:
    """The sidecar's container of a pod, made of the manifests."""

    def __init__(self, folder, name, image, rootfs, zk, version, zookeeper=None):
        self.folder = folder / name
        self.folder.mkdir()
        self.metadata = {"name": name, "labels": {**POD["metadata"]["labels"], "app.kubernetes.io/version": version}}
        self.change = [(r"zookeeper = .*", f'zookeeper = "{zookeeper or zk.server.address}"'),
                       (r"root = .*", f'root = "{zk.root}"\nsession-timeout = "60s"\nyield-delay = "200ms"\ntick-guard = "0s"')]
        for volume in SPEC["volumes"]:
            self.write(volume["name"])
        mounts = [(self.folder / m["name"], m["mountPath"], "ro" if m.get("readOnly") else "rw") for m in SIDECAR["volumeMounts"]]
        env = {e["name"]: e.get("value", self.field(e.get("valueFrom", {}).get("fieldRef"))) for e in SIDECAR["env"]}
        context = SIDECAR["securityContext"]
        entry = SIDECAR.get("command", image.config["config"]["Entrypoint"])
        self.container = Container(self.folder, name, image, rootfs, mounts, env, [*entry, *SIDECAR.get("args", [])],
                                   f"{context['runAsUser']}:{context['runAsGroup']}").start()

    def field(self, ref):
        path = ref and ref["fieldPath"]
        if m := re.fullmatch(r"metadata\.labels\['(.*)'\]", path or ""):
            return self.metadata["labels"][m[1]]
        return {None: "", "metadata.name": self.metadata["name"], "status.podIP": "127.0.0.1"}[path]

    def write(self, name, more=None):
        volume, = (v for v in SPEC["volumes"] if v["name"] == name)
        folder = self.folder / name
        if "emptyDir" in volume:
            folder.mkdir()
            folder.chmod(0o777)
        elif "configMap" in volume:
            data = dict(one("ConfigMap", volume["configMap"]["name"])["data"], **(more or {}))
            for pattern, text in self.change:
                data = {k: re.sub(pattern, text, v) for k, v in data.items()}
            write_volume(folder, data)
        else:
            write_volume(folder, {i["path"]: self.field(i["fieldRef"]) for i in volume["downwardAPI"]["items"]})

    def label(self, version):
        self.metadata["labels"]["app.kubernetes.io/version"] = version
        self.write("podinfo")

    def probe(self, name):
        return self.container.execute(SIDECAR[name]["exec"]["command"]).returncode == 0

    def wait_ready(self):
        wait_until(lambda: self.probe("readinessProbe"), what="the pod is ready")
        assert self.probe("livenessProbe")
        return self

    def leads(self):
        return self.container.leads(TASK)

    def end(self):
        """As kubelet does: preStop, then TERM."""
        done = self.container.execute(pre_stop())
        assert done.returncode == 0, done.stdout + done.stderr
        self.container.signal(signal.SIGTERM)
        return self.container.wait()


@pytest.fixture
def pod(folder, image, rootfs, zk):
    made = []

    def start(name, version="1.4.0", **more):
        made.append(Pod(folder, name, image, rootfs, zk, version, **more))
        return made[-1]
    yield start
    for each in made:
        each.container.close()


@containers
def test_a_rollout(pod):
    """Pods of the new version lead as soon as they are ready; those of the old one go without a gap."""
    old = pod("myapp-5d9c-aaaaa").wait_ready()
    wait_until(old.leads, what="the old pod leads")
    new = pod("myapp-7f4b-bbbbb", "1.5.0").wait_ready()
    wait_until(new.leads, what="the new pod leads")
    assert not old.leads()
    assert old.end() == 0
    workers = new.container.execute(["/usr/bin/zkleader", "list"]).stdout
    assert "myapp-7f4b-bbbbb" in workers and "1.5.0" in workers and "127.0.0.1" in workers
    assert new.container.call("status")["problems"] == []


@containers
def test_a_pod_that_ends_hands_over(pod):
    pods = [pod(f"myapp-5d9c-{n}").wait_ready() for n in ("aaaaa", "bbbbb")]
    leader = wait_until(lambda: next((p for p in pods if p.leads()), None), what="one of them leads")
    pods.remove(leader)
    assert leader.end() == 0
    wait_until(pods[0].leads, AT_ONCE, "the other one leads, by no timeout")
    assert pods[0].end() == 0, "the last one ends as well, though nobody leads then"


@containers
def test_what_changes_while_a_pod_runs(pod):
    """The label of the version, and the ConfigMap with the tasks."""
    running = pod("myapp-5d9c-aaaaa").wait_ready()
    running.label("1.6.0")
    wait_until(lambda: "1.6.0" in running.container.execute(["/usr/bin/zkleader", "list"]).stdout, what="it has that version")
    running.write("zkleader-tasks", {"more.conf": 'task "send-mails" {\n}\n'})
    wait_until(lambda: running.container.leads("send-mails"), what="it leads the task that has come")
    assert running.leads()


@containers
def test_an_outage_of_zookeeper_restarts_nothing(pod):
    cut_off = pod("myapp-5d9c-aaaaa", zookeeper="127.0.0.1:1")
    wait_until(lambda: cut_off.probe("livenessProbe"), what="it answers")
    assert not cut_off.probe("readinessProbe")
