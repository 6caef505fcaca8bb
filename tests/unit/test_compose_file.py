"""docker-compose.yml says only what the command line and the image understand."""

import inspect
import json
import re
import stat
from pathlib import Path

import click
import pytest

from a2a_temporal import connect
from a2a_temporal._cli import main
from a2a_temporal._cli.agents import load_agent
from a2a_temporal._connection_settings import resolve
from a2a_temporal._encryption import KEYS_VARIABLE
from a2a_temporal._log.wire import SEARCH_ATTRIBUTES
from a2a_temporal._storage import STORAGE_VARIABLE
from a2a_temporal.inbox import Anonymous, BearerTokens, Person, create_inbox
from tests.support.compose import FILE, Service, config, load, made_secrets, services
from tests.support.compose_keys import unknown_keys
from tests.support.processes import ROOT

OURS = [service for service in services().values() if service.ours]
ENDING = {
    name
    for service in services().values()
    for name, dependency in service.fields.get("depends_on", {}).items()
    if dependency["condition"] == "service_completed_successfully"
}
LASTING = [service for service in services().values() if service.name not in ENDING]
READ_ONLY = [service for service in services().values() if service.fields.get("read_only")]


def test_every_key_is_one_of_the_specification() -> None:
    assert unknown_keys(load()) == []


def test_a_key_that_is_mistyped_is_found() -> None:
    file = load()
    file["services"]["proxy"]["restrat"] = file["services"]["proxy"].pop("restart")
    file["services"]["proxy"]["healthcheck"]["intervall"] = "5s"
    assert unknown_keys(file) == ["services.proxy.restrat", "services.proxy.healthcheck.intervall"]


def test_every_image_is_pinned_to_a_version() -> None:
    for service in services().values():
        version = str(service.fields["image"]).partition(":")[2]
        assert re.search(r"\d+\.\d+", version), service.name
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("FROM"):
            assert re.search(r":\d+\.\d+\.\d+", line), line


def test_the_image_runs_as_nobody_special() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert "USER a2a" in lines
    assert lines.index("USER a2a") < lines.index('ENTRYPOINT ["a2a-temporal"]')
    for service in OURS:
        assert service.fields["read_only"] is True, service.name
        assert service.fields["cap_drop"] == ["ALL"], service.name


@pytest.mark.parametrize("service", OURS, ids=lambda each: each.name)
def test_every_command_is_one_the_command_line_takes(service: object, tmp_path: Path) -> None:
    assert isinstance(service, type(OURS[0]))
    people = made_secrets(tmp_path)
    name, *given = service.command
    arguments = [each.replace("/run/secrets/people", str(people)) for each in given]
    command = main.commands[name]
    with command.make_context(name, arguments) as context:
        agent = context.params.get("agent")
    if agent is not None:
        assert load_agent(agent).card.name


@pytest.mark.parametrize("service", OURS, ids=lambda each: each.name)
def test_every_variable_is_one_that_is_read(service: Service) -> None:
    # A value that is also the default one would not be missed.
    environment = {**service.environment, "TEMPORAL_NAMESPACE": "another"}
    settings = resolve(env=environment)
    assert settings.address == "temporal:7233"
    for name in environment.keys() - _read_by(service):
        without = {key: value for key, value in environment.items() if key != name}
        assert resolve(env=without) != settings, f"nobody reads {name}: {settings}"


def _read_by(service: Service) -> set[str]:
    """The variables that the service's command reads, but for those of the connection."""
    command = main.commands[service.command[0]]
    options = {option.envvar for option in command.params if isinstance(option, click.Option)}
    sources = [inspect.getsource(inspect.getmodule(command.callback) or main)]
    if service.name == "worker":
        sources += [path.read_text(encoding="utf-8") for path in (ROOT / "activities").glob("*.py")]
    reading = re.compile(r'(?:_from_environment|environ\.get)\("(\w+)"')
    read = {name for source in sources for name in reading.findall(source)}
    return {KEYS_VARIABLE, STORAGE_VARIABLE, *map(str, options), *read}


def test_server_and_worker_meet_on_one_task_queue() -> None:
    api, worker = services()["api"], services()["worker"]
    assert api.environment["TASK_QUEUE"] == worker.environment["TASK_QUEUE"]
    assert api.command[1] == worker.command[1]
    assert api.fields["deploy"]["replicas"] == worker.fields["deploy"]["replicas"] == 2


def test_the_setup_registers_every_search_attribute() -> None:
    (script,) = services()["temporal-setup"].command
    for name, kind in SEARCH_ATTRIBUTES.items():
        assert f"--name {name} --type {kind}" in " ".join(script.split())


def test_every_config_and_volume_that_is_used_is_there() -> None:
    known = load()["configs"].keys()
    for service in services().values():
        for used in service.fields.get("configs", []):
            assert used["source"] in known, service.name


def test_no_secret_stands_in_the_file_and_each_is_required() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert re.findall(r"\$\{\w+(?::?[-=+]|\})[^}]*", text) == []  # a default, or empty
    secret = re.compile(r"^ *\w*(?:PASSWORD|PWD|SECRET|TOKEN|KEYS?)\w*: *(.+)$", re.MULTILINE)
    given = secret.findall(text)
    assert len(given) == 4
    assert all(re.fullmatch(r"\$\{\w+:\?.+\}", each) for each in given), given
    assert load()["configs"]["people"]["file"].startswith("${A2A_INBOX_PEOPLE:?")


def test_make_secrets_gives_what_the_file_requires(tmp_path: Path) -> None:
    people = made_secrets(tmp_path)
    required = set(re.findall(r"\$\{(\w+):\?", FILE.read_text(encoding="utf-8")))
    lines = (tmp_path / ".env").read_text(encoding="utf-8").splitlines()
    env = dict(line.split("=", 1) for line in lines)
    assert env.keys() == required
    assert (tmp_path / env["A2A_INBOX_PEOPLE"]).samefile(people)
    BearerTokens.from_file(people)
    names = [person["name"] for person in json.loads(people.read_text(encoding="utf-8")).values()]
    assert names == ["ann", "bob", "cfo"]
    for closed in (tmp_path / ".env", people.parent):
        assert stat.S_IMODE(closed.stat().st_mode) & 0o077 == 0
    made_secrets(tmp_path)
    assert (tmp_path / ".env").read_text(encoding="utf-8").splitlines() == lines
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {".env", ".secrets/"} <= set(ignored)


@pytest.mark.parametrize("service", services().values(), ids=lambda each: each.name)
def test_nothing_is_published_beyond_this_machine(service: Service) -> None:
    for port in service.fields.get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", str(port))


@pytest.mark.parametrize(
    "secret",
    ["change-me-this-signs-the-session-cookies", "your-secret-goes-here", "x" * 40, "short"],
)
async def test_a_secret_that_everybody_knows_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="openssl rand"):
        BearerTokens({secret: Person("ann")})
    client = await connect(address="127.0.0.1:1", lazy=True)
    with pytest.raises(ValueError, match="openssl rand"):
        create_inbox(client, authenticator=Anonymous(), secret=secret)


def test_the_proxy_waits_and_takes_as_much_as_the_documentation_says() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)
    advised = [line.partition(";")[0].strip() for line in shown.splitlines()]
    said = [line.strip().removesuffix(";") for line in config("proxy").splitlines()]
    assert {"client_max_body_size", "proxy_read_timeout"} <= {each.split()[0] for each in advised}
    assert [each for each in advised if each not in said] == []


def test_temporal_reads_the_limits_it_is_given() -> None:
    temporal = services()["temporal"]
    (given,) = temporal.fields["configs"]
    assert given["target"] == temporal.environment["DYNAMIC_CONFIG_FILE_PATH"]


def test_the_workers_write_their_effects_to_a_volume_they_share_and_own() -> None:
    worker = services()["worker"]
    directory = worker.environment["EXAMPLES_DIR"]
    assert worker.volumes[directory] in load()["volumes"]
    # A new volume takes over what the image has there, with its owner.
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert f"RUN install --directory --owner=a2a {directory}" in lines


@pytest.mark.parametrize("service", READ_ONLY, ids=lambda each: each.name)
def test_a_container_that_is_read_only_is_given_files_and_no_copies(service: Service) -> None:
    """A `file:` is mounted; anything else is copied into the container, which Docker refuses."""
    for kind in ("configs", "secrets"):
        for used in service.fields.get(kind, []):
            name = used if isinstance(used, str) else used["source"]
            assert load()[kind][name].keys() == {"file"}, f"{kind} {name} of {service.name}"


@pytest.mark.parametrize("service", LASTING, ids=lambda each: each.name)
def test_a_service_that_lasts_is_started_again_and_has_a_health_check(service: Service) -> None:
    assert service.fields["restart"] == "unless-stopped"
    assert service.fields["healthcheck"]["test"]
