"""Digest authentication: the znodes belong to who has the password, and everybody may read them."""
import pytest
from kazoo.exceptions import NoAuthError
from kazoo.security import make_acl, make_digest_acl

from harness.sidecar import sanitizer_reports
from harness.waiting import holds_for, wait_until

TASK = "nightly-report"


def auth_file(folder, text="digest:app:secret\n", mode=0o600):
    file = folder / "zkleader.auth"
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return file


def test_a_second_identity_can_read_everything_and_change_nothing(fleet, zk, folder):
    only = fleet.sidecar("only", tasks=[TASK], auth_file=auth_file(folder))
    wait_until(lambda: only.leads(TASK), what="it leads")
    intruder = zk.server.client(auth_data=[("digest", "other:password")])
    paths = [zk.root, zk.path("workers"), zk.path("leaders"), zk.path("workers", only.id), zk.path("leaders", TASK)]
    for path in paths:
        data, stat = intruder.get(path)
        assert data is not None
        with pytest.raises(NoAuthError):
            intruder.set(path, b"x")
        with pytest.raises(NoAuthError):
            intruder.set_acls(path, [make_digest_acl("other", "password", all=True)])
    for path in paths[3:]:
        with pytest.raises(NoAuthError):
            intruder.delete(path)
    for path in paths[:3]:
        with pytest.raises(NoAuthError):
            intruder.create(f"{path}/intruder", b"", ephemeral=True)
    acls, _ = zk.client.get_acls(zk.path("leaders", TASK))
    assert sorted((a.id.scheme, a.id.id.split(":")[0], a.perms) for a in acls) == [
        ("digest", "app", 31), ("world", "anyone", 1)]
    assert only.leads(TASK)


def test_sidecars_with_the_same_password_hand_over_to_each_other(fleet, zk, folder):
    file = auth_file(folder)
    old = fleet.sidecar("old", version="1", tasks=[TASK], auth_file=file)
    wait_until(lambda: old.leads(TASK), what="it leads")
    new = fleet.sidecar("new", version="2", tasks=[TASK], auth_file=file)
    wait_until(lambda: new.leads(TASK), what="the newer leads")
    new.stop()
    wait_until(lambda: old.leads(TASK), what="it leads again")


def test_a_sidecar_with_another_password_or_none_never_leads_and_says_why(fleet, zk, folder):
    good = fleet.sidecar("good", version="1", tasks=[TASK], auth_file=auth_file(folder))
    wait_until(lambda: good.leads(TASK), what="it leads")
    (folder / "wrong").mkdir()
    wrong = fleet.sidecar("wrong", version="2", tasks=[TASK], ready=False,
                          auth_file=auth_file(folder / "wrong", "digest:app:guess\n"))
    none = fleet.sidecar("none", version="2", tasks=[TASK], ready=False)
    for sidecar in (wrong, none):
        sidecar.wait_log("registration refused")
        assert "auth-file" in sidecar.log()
        assert sidecar.check(TASK)["state"] == "disconnected" and not sidecar.status()["healthy"]
    holds_for(lambda: good.leads(TASK), 1, "the good one leads on")
    assert list(zk.workers()) == [good.id]


def test_a_chroot_and_a_root_are_created_as_ours(fleet, zk, folder):
    only = fleet.sidecar("only", tasks=[TASK], auth_file=auth_file(folder), root="/apps/mine",
                         zookeeper=f"{zk.server.address}{zk.root}/chroot")
    wait_until(lambda: only.leads(TASK), what="it leads")
    for path in (f"{zk.root}/chroot/apps/mine/workers", f"{zk.root}/chroot/apps", f"{zk.root}/chroot"):
        acls, _ = zk.client.get_acls(path)
        assert {a.id.scheme for a in acls} == {"digest", "world"}, path
    assert zk.client.get_children(f"{zk.root}/chroot/apps/mine/workers") == [only.id]


def test_the_password_survives_a_lost_connection_and_a_new_session(fleet, zk, folder):
    only = fleet.sidecar("only", tasks=[TASK], auth_file=auth_file(folder))
    wait_until(lambda: only.leads(TASK), what="it leads")
    id = only.id
    only.pause()
    wait_until(lambda: id not in zk.workers(), what="the session has expired")
    only.resume()
    wait_until(lambda: only.leads(TASK) and only.id != id, what="it leads again")


def test_a_scheme_that_the_server_does_not_know_is_told_and_tried_again(fleet, zk, folder):
    only = fleet.sidecar("only", tasks=[TASK], auth_file=auth_file(folder, "token:xyz\n"), ready=False)
    only.wait_log("authentication refused")
    status = only.status()
    assert not status["healthy"] and "auth-file" in status["why"]
    assert not only.leads(TASK)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o602, 0o666])
def test_an_auth_file_that_others_can_read_or_write_is_refused(fleet, folder, mode):
    refused = fleet.sidecar("refused", auth_file=auth_file(folder, mode=mode), ready=False)
    assert refused.wait_exit() == 78
    assert "others" in refused.log() and "secret" not in refused.log()


@pytest.mark.parametrize("text", ["", "digest\n", "digest:\n", "digest:user\n", "digest:user:\n", ":x\n", "no scheme here\n",
                                  "digest:user:hid\0den\n"])
def test_an_auth_file_without_a_credential_is_refused(fleet, folder, text):
    refused = fleet.sidecar("refused", auth_file=auth_file(folder, text), ready=False)
    assert refused.wait_exit() == 78
    assert "auth-file" in refused.log() and "hid" not in refused.log()


def test_the_password_is_never_logged_nor_told(fleet, zk, folder, program):
    only = fleet.sidecar("only", tasks=[TASK], auth_file=auth_file(folder, "digest:app:s3cr3t-w0rd\n"))
    wait_until(lambda: only.leads(TASK), what="it leads")
    assert "s3cr3t-w0rd" not in only.log() and "s3cr3t-w0rd" not in str(only.status())
    assert "s3cr3t-w0rd" not in program("zkleader", "-s", only.socket, "status").out
    assert not sanitizer_reports(only.folder)


def owner(zk):
    return zk.server.client(auth_data=[("digest", "app:secret")])


def schemes(client, path):
    return {a.id.scheme for a in client.get_acls(path)[0]}


def test_records_of_runs_are_closed_to_the_world(fleet, zk, folder, program):
    only = fleet.sidecar("only", tasks=[TASK], auth_file=auth_file(folder))
    wait_until(lambda: only.leads(TASK), what="it leads")
    assert program("zkleader", "-s", only.socket, "run", TASK, "--", "true").code == 0
    ticks = zk.client.get_children(zk.path("runs", TASK))
    assert len(ticks) == 1 and schemes(owner(zk), zk.path("runs", TASK, ticks[0])) == {"digest"}
    assert program("zkleader", "-s", only.socket, "history", TASK).code == 0


def test_what_an_earlier_release_left_open_is_closed(fleet, zk, folder):
    """Also where its tasks are no more; folders stay open, which hold nothing but names."""
    app = owner(zk)
    open_to_all = [make_digest_acl("app", "secret", all=True), make_acl("world", "anyone", read=True)]
    records = [zk.path("runs", "gone", "2026-11-20T02:00:00Z"), zk.path("jobs", "q", "key", "00ff"),
               zk.path("notices", "1.2.3")]
    for record in records:
        app.create(record, b"what a command wrote", acl=open_to_all, makepath=True)
        app.set_acls(record.rsplit("/", 1)[0], open_to_all)
    only = fleet.sidecar("only", tasks=[TASK], auth_file=auth_file(folder))
    wait_until(lambda: zk.client.exists(zk.path("closed")), what="all is closed")
    assert [schemes(app, record) for record in records] == [{"digest"}] * 3
    assert app.get(records[0])[0] == b"what a command wrote"
    assert schemes(app, zk.path("runs", "gone")) == {"digest", "world"}
    only.wait_log("closed to the world")
