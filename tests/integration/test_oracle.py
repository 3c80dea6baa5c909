"""The judge of the tests under faults: it finds what is planted, and lets pass what is right.

What it does with clocks that are too slow for any lease is in test_fault_clocks.py.
"""
import pytest

from harness.oracle import Answer, Broken, FleetOracle, Oracle, double_seconds, overlaps, tokens_gone_back
from harness.waiting import wait_until

TASK = "nightly-report"


def yes(sidecar, sent, lease_ms, token=1, took=0.001):
    return Answer(sidecar, sent, sent + took, True, token, lease_ms)


def no(sidecar, sent):
    return Answer(sidecar, sent, sent + 0.001, False, 0, 0)


def judge(*answers, epochs=(0.0,), gone=()):
    oracle = Oracle(TASK)
    oracle.answers, oracle.epochs, oracle.gone = list(answers), list(epochs), list(gone)
    oracle.judge()


def test_the_oracle_finds_a_planted_overlap():
    with pytest.raises(Broken, match="led twice"):
        judge(yes("a", 1.0, 1000), no("b", 1.5), yes("b", 1.99, 1000, token=2))
    # A long lease inside which a short one of another lies, and one that is found by its end alone.
    found = overlaps([yes("a", 1.0, 9000), yes("a", 1.1, 10), yes("b", 5.0, 500, token=2)])
    assert len(found) == 1 and found[0][0] == pytest.approx(0.499)
    assert double_seconds([yes("a", 1.0, 2000), yes("b", 2.0, 3000)]) == pytest.approx(0.999)


def test_the_oracle_finds_a_second_leader_over_http():
    oracle = Oracle(TASK)
    oracle.answers = [yes("a", 1.0, 1000), yes("b", 2.5, 1000, token=2)]
    # Its own, one that is about a moment before or behind it perhaps, and one between the two.
    oracle.said = [("a", 1.1, 1.2), ("b", 0.9, 1.1), ("b", 1.9, 2.1), ("b", 2.1, 2.2)]
    oracle.judge()
    oracle.said.append(("b", 1.1, 1.9))
    with pytest.raises(Broken, match="over HTTP"):
        oracle.judge()


def test_the_oracle_finds_a_token_that_goes_back():
    with pytest.raises(Broken, match="went back"):
        judge(yes("a", 1.0, 100, token=7), yes("b", 2.0, 100, token=6))
    with pytest.raises(Broken, match="went back"):
        judge(yes("a", 1.0, 100, token=7), yes("a", 1.05, 100, token=6))
    # Sent before the bigger one was received: nobody could know of it.
    assert not tokens_gone_back([yes("a", 1.0, 100, token=7), yes("b", 0.9, 50, token=6)])


def test_the_oracle_lets_what_is_right_pass():
    judge(yes("a", 1.0, 1000), yes("a", 1.5, 1000), yes("b", 2.5, 1000, token=2), yes("a", 3.6, 10, token=3))
    # A no, and a yes that was too old when it came, are no validity.
    judge(yes("a", 1.0, 1000), no("b", 1.1), yes("b", 1.2, 100, token=1, took=0.2))
    # TERM takes back what was said before; nothing else does, and what is said later counts.
    judge(yes("a", 0.1, 9000), yes("a", 1.0, 9000), yes("b", 1.2, 1000, token=2), gone=[("a", 1.1, 1.15)])
    with pytest.raises(Broken, match="led twice"):
        judge(yes("a", 1.0, 9000), no("a", 1.1), yes("b", 1.2, 1000, token=2))
    with pytest.raises(Broken, match="led twice"):
        judge(yes("a", 2.0, 9000), yes("b", 2.1, 1000, token=2), gone=[("a", 1.1, 1.15)])
    # Tokens begin anew with a server that has lost its data.
    judge(yes("a", 1.0, 100, token=700), yes("a", 5.0, 100, token=3), epochs=(0.0, 4.0))
    with pytest.raises(AssertionError, match="nothing was tested"):
        judge(no("a", 1.0))


def judge_fleet(*answers):
    oracle = FleetOracle()
    for a in answers:
        oracle.note_task(TASK, a)
    oracle.judge()
    return oracle.tasks[TASK]


def test_the_oracle_of_a_fleet_joins_answers_and_loses_nothing():
    """The answers may be those of hours, and of hundreds of tasks."""
    again = [yes("a", 0.5 * i, 1000) for i in range(1, 100)]
    assert judge_fleet(*again) == [yes("a", 0.5, 50000)]
    assert len(judge_fleet(*again, yes("b", 50.6, 500, token=2), yes("a", 51.2, 1000, token=3))) == 3
    with pytest.raises(Broken, match="led twice"):
        judge_fleet(*again, yes("b", 50.4, 500, token=2))
    with pytest.raises(Broken, match="led twice"):  # and it is not the last answer that another lies in
        judge_fleet(yes("a", 1.0, 9000), yes("a", 1.5, 10), yes("b", 8.0, 500, token=2))
    with pytest.raises(Broken, match="went back"):
        judge_fleet(*again, yes("b", 51.0, 500, token=2), yes("a", 52.0, 500))


def test_the_oracle_catches_two_fleets_that_know_nothing_of_each_other(fleet, zk, server):
    one, other = (fleet.sidecar(n, tasks=[TASK], root=f"{zk.root}/{n}") for n in ("one", "other"))
    wait_until(lambda: one.leads(TASK) and other.leads(TASK), what="both lead")
    with pytest.raises(Broken, match="led twice"):
        with Oracle(TASK, one, other) as oracle:
            oracle.led(by=one), oracle.led(by=other)
