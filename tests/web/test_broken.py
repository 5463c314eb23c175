"""The tests of the page fail when the page is broken. Each row: a file, a text that it has once, what
takes its place, and the test that must notice."""

import contextlib

import pytest
from selenium.common.exceptions import WebDriverException

import browser as browsers
import fixture
import test_page as tests

NOTICED = AssertionError, AttributeError, WebDriverException

BROKEN = [
    ("text.js", "node.textContent = printable;", "node.innerHTML = text;",
     tests.test_what_clients_wrote_is_text),
    ("text.js", "String(text).replace(harmful,", "String(text).replace(/$^/,",
     tests.test_what_clients_wrote_is_text),
    ("model.js", "byName.delete(name);", "", tests.test_a_change_is_shown_at_once_and_alone),
    ("model.js", "waiting.add(lease.lease)", "waiting.add(lease)",
     tests.test_a_lease_on_several_resources_counts_once),
    ("model.js", "(!choice.busy || isBusy(resource)) &&", "", tests.test_filters_and_their_address),
    ("app.js", "resource.grantable > 0", "resource", tests.test_only_commands_that_work_are_proposed),
    ("live.js", "failed(wait, error);", "failed(wait, error); return;",
     tests.test_server_lost_and_back),
    ("units.js", "parent.children.length > items.length", "parent.children.length > 0",
     tests.test_focus_stays_when_its_resource_changes),
    ("list.js", "if (card.resource.next)", "if (false)", tests.test_a_rate_and_levels),
    ("details.js", "['grantable now', grantableOf(resource)]", "['grantable now', resource.grantable]",
     tests.test_a_rate_and_levels),
    ("list.js", "buttons[at].focus({ preventScroll: true });", "", tests.test_keyboard_alone),
    ("list.js", "!wanted.has(name) && !hasFocus(card)", "false",
     tests.test_a_thousand_resources_scroll),
    ("past.js", "' (berth-history: ' + told.why + ')'", "''", tests.test_whose_it_is_and_from_when_on),
    ("past.js", "gap.until_at_ms > 0", "false",
     tests.test_whose_it_is_and_from_when_on),
    ("past.js", "answer.sources.some((source) => source.more)", "false",
     tests.test_what_one_answer_cannot_hold_is_asked_for_where_one_looks),
    ("past.js", "mergeGaps(past.gaps, answer.gaps || [])", "[]", tests.test_gaps_say_why),
    ("past.js", "isWhole(answer) ? until : from", "until", tests.test_what_was_not_told_is_asked_for_again),
    ("past.js", "'@' + lease.lease.split('/').pop()", "lease.lease", tests.test_what_is_told_again_moves_by_latency),
    ("past.js", "known || key(0)", "key(0)", tests.test_what_is_told_again_moves_by_latency),
    ("past.js", "one.database === database", "one", tests.test_use_is_of_the_time_that_is_known),
    ("past.js", "if (!isPart) {", "if (from) {", tests.test_a_closer_look_does_not_end_what_is_asked_for),
    ("lanes.js", "old === null && TELLING.includes(action.verb)", "true",
     tests.test_what_operators_did_is_marked),
    ("timeline.js", "hits.findLast(", "hits.find(", tests.test_gaps_say_why),
    ("lanes.js", "isFleet && !group.isPool ? null : unitLanes(group)", "unitLanes(group)",
     tests.test_each_host_of_a_fleet_has_its_lanes),
    ("pointing.js", "event.ctrlKey || y <= chart.axis", "event.ctrlKey",
     tests.test_wheel_zooms_above_the_axis_and_dragging_moves),
]


@pytest.mark.parametrize("file, old, new, test", BROKEN,
                         ids=[f"{row[0]}-{row[3].__name__}" for row in BROKEN])
def test_a_broken_page_is_noticed(chromium, monkeypatch, file, old, new, test):
    monkeypatch.setattr(browsers, "DEADLINE", 4)
    monkeypatch.setattr(fixture, "BROKEN", {file: (old, new)})
    chromium.driver.set_script_timeout(8)
    needs = test.__code__.co_varnames[:test.__code__.co_argcount]
    server = fixture.serve(empty="empty" in needs)
    try:
        with pytest.raises(NOTICED):
            test(chromium, server) if len(needs) > 1 else test(chromium)
    finally:
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            server.stop()
        chromium.driver.get("about:blank")
        chromium.driver.set_script_timeout(30)


@pytest.mark.parametrize("dark, old, new", [(False, "--soft: #52606d", "--soft: #b0b8c0"),
                                            (True, "min-height: 25px", "min-height: 12px")])
def test_a_page_hard_to_read_is_noticed(chromium, monkeypatch, dark, old, new):
    monkeypatch.setattr(fixture, "BROKEN", {"style.css": (old, new)})
    server = fixture.serve()
    try:
        with pytest.raises(AssertionError):
            tests.test_audit(chromium, server, "now", browsers.WIDE, dark)
    finally:
        server.stop()
