"""Clocks that are wrong, machines that are suspended, and the proof that the oracle would notice."""
import calendar
import time

import pytest

from harness.clocks import Clocks, faketime
from harness.ensemble import seconds
from harness.faults import LED_AGAIN, TASK, ask_in_advance, pair, take_answers
from harness.oracle import Broken, Oracle, double_seconds, now
from harness.waiting import holds_for


@pytest.fixture
def clocks(folder):
    return Clocks(folder / "clocks")


def cut_off(oracle, leader, standby, proxy):
    """The leader is cut off until the standby leads, and leads again."""
    token = oracle.led(by=leader).token
    proxy.stall()
    assert oracle.led(by=standby, within=LED_AGAIN).token > token
    proxy.flow()
    oracle.led(by=leader, within=LED_AGAIN)


@pytest.mark.parametrize("how", ["+3600", "-3600", "+0 x3"], ids=["an-hour-ahead", "an-hour-behind", "fast"])
def test_a_wrong_wall_clock_has_no_effect_on_who_leads(fleet, zk, proxy, how):
    leader, standby = pair(fleet, proxy, env=faketime(how), clock_tolerance="1d", session_timeout="6s")  # or it would come last
    written = calendar.timegm(time.strptime(leader.log()[:19], "%Y-%m-%dT%H:%M:%S"))
    if how[-4:] == "3600":
        assert abs(written - time.time() - int(how)) < 600, "its clock is not faked: nothing would be tested"
    with Oracle(TASK, leader, standby) as oracle:
        token = oracle.led(by=leader).token
        holds_for(lambda: leader.leads(TASK), 2, "it leads on")
        assert oracle.led(by=leader).token == token
        cut_off(oracle, leader, standby, proxy)


@pytest.mark.parametrize("rate", [0.99, 1.01], ids=["slow", "fast"])
def test_a_clock_that_is_off_by_one_percent_makes_no_second_leader(fleet, zk, proxy, clocks, rate):
    leader, standby = pair(fleet, proxy, env=clocks.env)
    clocks.run_at(rate)
    with Oracle(TASK, leader, standby) as oracle:
        cut_off(oracle, leader, standby, proxy)


def suspend(oracle, leader, standby, clocks, boot_too=False):
    """The leader's machine sleeps until the standby leads, and is asked as soon as it is awake."""
    with leader.client(60) as client:
        oracle.led(by=leader)
        leader.pause()
        asleep = now()
        asked = ask_in_advance(client)
        oracle.led(by=standby, within=LED_AGAIN)
        clocks.was_suspended(now() - asleep, boot_too)
        asked += ask_in_advance(client)
        leader.resume()
        take_answers(oracle, leader, client, asked)


def test_a_leader_on_a_machine_that_was_suspended_past_its_session_gives_no_old_yes(fleet, zk, proxy, clocks):
    leader, standby = pair(fleet, proxy, env=clocks.env)
    with Oracle(TASK, leader, standby) as oracle:
        suspend(oracle, leader, standby, clocks)
        oracle.led(by=leader, within=LED_AGAIN)


# --- canaries: with such clocks no lease holds, and the oracle sees it ---------------------------------


def test_the_oracle_catches_a_clock_that_stood_still(fleet, zk, proxy, clocks):
    leader, standby = pair(fleet, proxy, env=clocks.env)
    with pytest.raises(Broken):
        with Oracle(TASK, leader, standby) as oracle:
            proxy.stall()
            suspend(oracle, leader, standby, clocks, boot_too=True)
            seconds(0.2)
    assert [a for a in oracle.answers if a.sidecar == leader.name and a.leader and a.received - a.sent > 0.5]


def test_the_oracle_catches_a_lease_that_is_too_long(fleet, zk, proxy, clocks):
    leader, standby = pair(fleet, proxy, env=clocks.env)
    with pytest.raises(Broken, match="led twice"):
        with Oracle(TASK, leader, standby) as oracle:
            oracle.led(by=leader)
            clocks.run_at(0.2)
            proxy.stall()
            oracle.led(by=standby, within=LED_AGAIN)
            oracle.not_led_by(leader)
    print(f"measured: {double_seconds(oracle.answers):.2f} s led twice, as planted")
