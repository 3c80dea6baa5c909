"""Files of docs/monitoring: the dashboard and the alerts ask for metrics that there are, and the alerts fire."""
import json
import pathlib
import re
import subprocess

import pytest

from harness.sidecar import task_text
from harness.waiting import wait_until
from harness.web import Web

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARD = ROOT / "docs/monitoring/grafana-dashboard.json"
RULES = ROOT / "docs/monitoring/zkleader.rules.yml"


def metrics_named(text):
    """Those of zkleader, without what a histogram's parts are called."""
    names = set(re.findall(r"\bzkleader_[a-z_]+", text))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


def queries(panel):
    return [target["expr"] for target in panel["targets"]]


def test_each_metric_that_is_asked_for_exists(fleet, folder):
    only = fleet.sidecar("only")
    web = Web(folder / "web", only.socket)
    try:
        wait_until(lambda: web.get("/readyz")[0] == 200, what="it is ready")
        text = web.get("/metrics")[2]
    finally:
        web.close()
    there = set(re.findall(r"^# TYPE (\S+) ", text, re.M))
    dashboard = json.loads(DASHBOARD.read_text())
    asked = [query for panel in dashboard["panels"] for query in queries(panel)]
    asked += [v["query"]["query"] for v in dashboard["templating"]["list"] if v["type"] == "query"]
    asked += re.findall(r"expr: (.*)", RULES.read_text())
    for query in asked:
        assert metrics_named(query) or "up{" in query, query
        assert metrics_named(query) <= there, query
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids)) and all(queries(panel) for panel in dashboard["panels"])


def test_each_alert_is_documented_and_tested():
    alerts = re.findall(r"alert: (\w+)", RULES.read_text())
    told = (ROOT / "docs/MONITORING.md").read_text()
    tested = (ROOT / "tests/monitoring/rules_test.yml").read_text()
    for alert in alerts:
        assert f"`{alert}`" in told and f"alertname: {alert}\n" in tested, alert


@pytest.mark.slow  # for promtool, which the deep tests' packages have
def test_each_alert_fires():
    for command in (["check", "rules", RULES], ["test", "rules", ROOT / "tests/monitoring/rules_test.yml"]):
        done = subprocess.run(["promtool", *map(str, command)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_promtool_finds_no_fault_with_the_metrics(fleet, folder):
    only = fleet.sidecar("only", tasks=[task_text("nightly", alert_after="1h"), "cleanup"])
    wait_until(lambda: only.status()["leads"] == 2, what="it leads both")
    web = Web(folder / "web", only.socket)
    try:
        wait_until(lambda: web.get("/readyz")[0] == 200, what="it is ready")
        text = web.get("/metrics")[2]
    finally:
        web.close()
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stdout + done.stderr, done
