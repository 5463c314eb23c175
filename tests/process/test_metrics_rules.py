"""The alert rules: each fires on what it is about, after its time, and on nothing less."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from lines import DEADLINE

pytestmark = pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
RULES = pathlib.Path(os.environ.get("BERTH_SOURCE_DIR", "."), "doc/metrics/berth.rules.yml").resolve()

ON = {"instance": "db1"}
AT = {**ON, "resource": "etl"}
IN = {**ON, "database": "main"}

RENEWALS = "berth_database_renewal_seconds_bucket"

# Alert: minutes until it fires; its labels; the series, one value a minute (an hour, if that takes
# hours), that make it fire; and that do not. The value that the message shows, if it does.
CASES = {
    "BerthDown": (5, ON, {"berth_up": "0x9"}, {"berth_up": "0 0 0 0 1 0x9"}),
    "BerthLeasesLost": (
        1, AT, {"berth_ended_total{reason=lost}": "5 6 6", "berth_ended_total{reason=deadline}": "0x9"},
        {"berth_ended_total{reason=lost}": "5x9", "berth_ended_total{reason=released}": "5+1x9"}),
    "BerthWaitsLong": (
        5, AT, {"berth_oldest_wait_seconds": "3601+60x9"}, {"berth_oldest_wait_seconds": "3601 3661 3721 3781 0x9"}),
    "BerthHeldLong": (0, AT, {"berth_oldest_hold_seconds": "86401"}, {"berth_oldest_hold_seconds": "86400"}),
    "BerthQueueFull": (
        1, {**AT, "reason": "queue-full"}, {"berth_denied_total{reason=queue-full}": "0 1 1"},
        {"berth_denied_total{reason=queue-full}": "3x9", "berth_denied_total{reason=would-wait}": "0+1x9"}),
    "BerthDatabaseDown": (
        1, {**IN, "state": "up"}, {"berth_database_state{state=up}": "0x9"},
        {"berth_database_state{state=up}": "0 1x9", "berth_database_state{state=down}": "0x9"}),
    "BerthFleetHostGone": (
        6, {"database": "main"}, {"berth_fleet_hosts": "4 2x9", "berth_fleet_hosts{instance=db2}": "2x9"},
        {"berth_fleet_hosts": "2 4x9", "berth_fleet_hosts{instance=db2}": "2x9"}, 2),
    "BerthDatabaseBusy": (
        10, {"database": "main"}, {"berth_fleet_busy_ratio": "0.5x19"},
        {"berth_fleet_busy_ratio": "0.49x9 0.7 0.49x9"}),
    "BerthDefinitionsDiffer": (15, IN, {"berth_database_differing": "1x19"}, {"berth_database_differing": "1x14 0x9"}),
    "BerthRenewalsSlow": (
        16, IN, {f"{RENEWALS}{{le=1}}": "0x19", f"{RENEWALS}{{le=2.5}}": "0+9x19", f"{RENEWALS}{{le=+Inf}}": "0+9x19"},
        {f"{RENEWALS}{{le=1}}": "0+9x19", f"{RENEWALS}{{le=+Inf}}": "0+9x19"}),
    "BerthBusy": (15, ON, {"berth_turn_seconds_sum": "0+49x19"}, {"berth_turn_seconds_sum": "0+47x19"}),
    "BerthConnectionsRefused": (
        1, {**ON, "cause": "user"}, {"berth_connections_refused_total{cause=user}": "0 1 1"},
        {"berth_connections_refused_total{cause=user}": "7x9"}),
    "BerthDraining": (1440, ON, {"berth_draining": "1x29"}, {"berth_draining": "1x23 0x9"}),
}


def rules():
    """{alert: (severity, {annotation: text})}"""
    return {name: (re.search(r"severity: (\w+)", text)[1], dict(re.findall(r'(summary|description): "(.*)"', text)))
            for name, text in re.findall(r"- alert: (\w+)\n(.*?)(?=- alert|\Z)", RULES.read_text(), re.S)}


def series(name, labels):
    """With the labels that the alert will have, but where the name says others."""
    name, _, own = name.rstrip("}").partition("{")
    own = dict(pair.split("=") for pair in own.split(",") if pair)
    labels = {"database": "main", "resource": "etl", **ON, **labels, **own}
    if not name.startswith(("berth_ended", "berth_denied", "berth_oldest")):
        del labels["resource"]
    if not name.startswith(("berth_database", "berth_fleet")):
        del labels["database"]
    return f"{name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in labels.items())}}}"


def said(text, labels, value):
    text = text.replace("{{ $value }}", str(value))
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: labels[match[1]], text)


def alert_as_sent(alert, labels, value):
    severity, notes = rules()[alert]
    return {"exp_labels": {**labels, "severity": severity},
            "exp_annotations": {key: said(text, labels, value) for key, text in notes.items()}}


def look(alert, minutes, *alerts):
    return {"eval_time": f"{minutes}m", "alertname": alert, "exp_alerts": alerts}


def step_of(minutes):
    return 60 if minutes >= 60 else 1


def all_that_fire(step):
    """Each when it should, and not a step before."""
    every, looks = {}, []
    for alert, (minutes, labels, fires, _, *value) in CASES.items():
        if step_of(minutes) != step:
            continue
        every.update({series(name, labels): values for name, values in fires.items()})
        looks.append(look(alert, minutes, alert_as_sent(alert, labels, *value or [None])))
        looks += [look(alert, minutes - step)] if minutes > 0 else []
    return every, looks


def none_that_fires(step):
    every, looks = {}, []
    for alert, (minutes, labels, _, does_not, *_) in CASES.items():
        if step_of(minutes) != step:
            continue
        every.update({series(name, labels): values for name, values in does_not.items()})
        looks.append(look(alert, minutes))
    return every, looks


def test_each_rule_has_its_case():
    assert rules().keys() == CASES.keys()


@pytest.mark.parametrize("step", [1, 60])
@pytest.mark.parametrize("case", [all_that_fire, none_that_fires])
def test_rules(directory, case, step):
    path = directory / "case.yml"
    every, looks = case(step)
    path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": f"{step}m", "tests": [
        {"interval": f"{step}m", "alert_rule_test": looks,
         "input_series": [{"series": name, "values": values} for name, values in every.items()]}]}))
    done = subprocess.run(["promtool", "test", "rules", str(path)], text=True, capture_output=True,
                          timeout=DEADLINE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
