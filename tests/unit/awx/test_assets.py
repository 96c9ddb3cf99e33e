# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The AWX files fit each other and the roles: what a survey asks is what the role takes."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._shell import argument_spec

ROOT = Path(__file__).resolve().parents[3]
Asset = dict[str, Any]

SURVEY_TYPES = {
    "str": {"text", "textarea", "multiplechoice"},
    "path": {"text"},
    "int": {"integer"},
    "float": {"float"},
    "bool": {"multiplechoice"},
    "list": {"textarea", "multiselect"},
}
# Variables by which git and the playbooks find things, beside those that modules read themselves.
OTHER_VARIABLES = {"GIT_SSH_COMMAND", "GPUOPS_BACKEND_URL", "GPUOPS_BACKEND_TOKEN_FILE"}


def assets() -> dict[str, list[Asset]]:
    found: dict[str, list[Asset]] = {}
    for path in sorted((ROOT / "awx").glob("*.yml")):
        for kind, entries in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            found.setdefault(kind, []).extend(entries)
    return found


ASSETS = assets()
TEMPLATES = {template["name"]: template for template in ASSETS["job_templates"]}
WORKFLOWS = {workflow["name"]: workflow for workflow in ASSETS["workflow_job_templates"]}


def options_of(playbook: str) -> dict[str, Asset]:
    """What the role of a playbook takes; of a playbook without role, the variables that it names."""
    (play,) = yaml.safe_load((ROOT / playbook).read_text(encoding="utf-8"))
    options: dict[str, Asset] = {}
    for role in play.get("roles", []):
        name = (role if isinstance(role, str) else role["role"]).rpartition(".")[2]
        spec = ROOT / "roles" / name / "meta" / "argument_specs.yml"
        options |= yaml.safe_load(spec.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    for variable in re.findall(r"{{ (\w+)", yaml.safe_dump(play.get("tasks", []))):
        options.setdefault(variable, {"type": "str"})
    return options


def survey(asset: Asset) -> list[Asset]:
    questions = asset.get("related", {}).get("survey_spec", {}).get("spec", [])
    assert isinstance(questions, list)
    return questions


def names(of: str) -> set[str]:
    return {asset["name"] for asset in ASSETS[of]}


def test_every_playbook_that_changes_something_has_a_job_template() -> None:
    by_hand = {"lock", "install"}
    playbooks = {path.stem for path in (ROOT / "playbooks").glob("*.yml")} - by_hand
    assert playbooks <= {Path(template["playbook"]).stem for template in TEMPLATES.values()}


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_survey_asks_what_the_role_takes(name: str) -> None:
    template = TEMPLATES[name]
    options = options_of(template["playbook"])
    asked = {question["variable"]: question for question in survey(template)}
    fixed = yaml.safe_load(template.get("extra_vars") or "{}")
    assert asked.keys() | fixed.keys() <= options.keys()
    assert template["survey_enabled"] is bool(asked)
    for variable, question in asked.items():
        option = options[variable]
        assert question["type"] in SURVEY_TYPES[option.get("type", "str")], variable
        assert question["required"] is bool(option.get("required", False)), variable
        choices = option.get("choices") or (["false", "true"] if option.get("type") == "bool" else [])
        assert list(question.get("choices") or []) == choices, variable
        default = option.get("default", "")
        assert str(question.get("default", "")).lower() == str(default).lower(), variable
    mandatory = {variable for variable, option in options.items() if option.get("required")}
    assert mandatory <= asked.keys() | fixed.keys()


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_job_template_has_its_surroundings(name: str) -> None:
    template = TEMPLATES[name]
    assert (ROOT / template["playbook"]).is_file()
    assert template["project"]["name"] in names("projects")
    assert template["inventory"]["name"] in names("inventory")
    assert template["execution_environment"]["name"] in names("execution_environments")
    assert template["allow_simultaneous"] is False
    assert template["natural_key"]["name"] == name


def nodes_of(workflow: Asset) -> dict[str, Asset]:
    return {node["identifier"]: node for node in workflow["related"]["workflow_nodes"]}


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_a_workflow_leads_from_one_node_to_the_next(name: str) -> None:
    nodes = nodes_of(WORKFLOWS[name])
    reached = {
        following["identifier"]
        for node in nodes.values()
        for edge in ("success_nodes", "failure_nodes", "always_nodes")
        for following in node["related"].get(edge, [])
    }
    assert reached < nodes.keys()
    assert len(nodes.keys() - reached) == 1, "one node is the first"
    for node in nodes.values():
        approval = node["related"].get("create_approval_template")
        template = node.get("unified_job_template")
        assert (template is None) is bool(approval)
        assert template is None or template["name"] in TEMPLATES


def test_product_and_then_sre_approve_between_review_and_change() -> None:
    workflow = WORKFLOWS["Assign a capacity hold"]
    nodes = nodes_of(workflow)
    order = ["review", "product", "sre", "assign"]
    for one, following in pairwise(order):
        assert [node["identifier"] for node in nodes[one]["related"]["success_nodes"]] == [following]
    assert TEMPLATES[nodes["review"]["unified_job_template"]["name"]]["job_type"] == "check"
    assert TEMPLATES[nodes["assign"]["unified_job_template"]["name"]]["job_type"] == "run"
    for approval in ("product", "sre"):
        assert nodes[approval]["related"]["create_approval_template"]["name"]


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_a_workflow_asks_what_its_jobs_ask(name: str) -> None:
    workflow = WORKFLOWS[name]
    jobs = [node["unified_job_template"]["name"] for node in nodes_of(workflow).values()
            if node.get("unified_job_template")]  # fmt: skip
    for job in jobs:
        assert {question["variable"]: question for question in survey(TEMPLATES[job])} == {
            question["variable"]: question for question in survey(workflow)
        }


def test_schedules_start_what_there_is_with_variables_that_it_takes() -> None:
    schedules = {schedule["name"]: schedule for schedule in ASSETS["schedules"]}
    assert len(schedules) == len(ASSETS["schedules"])
    for schedule in schedules.values():
        template = TEMPLATES[schedule["unified_job_template"]["name"]]
        assert schedule["extra_data"].keys() <= options_of(template["playbook"]).keys()
        assert re.match(r"DTSTART[;:].*RRULE:FREQ=(DAILY|MINUTELY);INTERVAL=\d+", schedule["rrule"])
        assert schedule["natural_key"]["unified_job_template"] == schedule["unified_job_template"]


def test_credential_types_inject_what_modules_read() -> None:
    read = {
        variable
        for spec in (argument_spec.CONNECTION, argument_spec.FLEET)
        for option in spec.options.values()
        for variable in option.get("fallback", (None, []))[1]
    } | OTHER_VARIABLES
    for kind in ASSETS["credential_types"]:
        fields = {field["id"] for field in kind["inputs"]["fields"]}
        files = {name.removeprefix("template.") for name in kind["injectors"].get("file", {})}
        assert set(kind["injectors"]["env"]) <= read
        assert set(kind["inputs"]["required"]) <= fields
        for text in [*kind["injectors"]["env"].values(), *kind["injectors"].get("file", {}).values()]:
            for name in re.findall(r"{{ ([\w.]+) }}", text):
                assert name in fields or name.removeprefix("tower.filename.") in files
        secrets = {field["id"] for field in kind["inputs"]["fields"] if field.get("secret")}
        assert not secrets & set(re.findall(r"\w+", " ".join(kind["injectors"]["env"].values()))) - files
