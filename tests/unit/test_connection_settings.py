"""What environment, profile file and arguments make of the connection; each fault is named."""

from pathlib import Path

import pytest
from temporalio.service import TLSConfig

from a2a_temporal._connection_settings import ConnectionSettings, resolve
from a2a_temporal.errors import ConnectionSettingsError
from tests.support.tls_proxy import make_certificates

SECRET = "key-nobody-may-see"
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@pytest.fixture(autouse=True)
def _no_own_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the configuration file of whoever runs the tests out of them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_without_any_setting_it_is_the_local_default() -> None:
    settings = resolve(env={})
    assert (settings.address, settings.namespace) == ("localhost:7233", "default")
    assert settings.tls is False


def test_a_running_embedded_server_comes_before_the_local_default() -> None:
    settings = resolve(env={}, embedded_address=lambda: "localhost:5555")
    assert settings.address == "localhost:5555"


def test_the_embedded_server_is_not_asked_for_when_an_address_is_set() -> None:
    def asked() -> str:
        raise AssertionError("asked")

    assert resolve(env={"TEMPORAL_ADDRESS": "a:1"}, embedded_address=asked).address == "a:1"


def test_arguments_win_over_the_environment_and_this_over_the_profile(tmp_path: Path) -> None:
    file = _profiles(tmp_path, '[profile.default]\naddress = "file:1"\nnamespace = "file"\n')
    env = {"TEMPORAL_CONFIG_FILE": file, "TEMPORAL_ADDRESS": "env:1"}
    settings = resolve(env=env)
    assert (settings.address, settings.namespace) == ("env:1", "file")
    assert resolve(env=env, address="argument:1").address == "argument:1"


def test_a_profile_is_chosen_by_argument_or_variable(tmp_path: Path) -> None:
    file = _profiles(
        tmp_path, '[profile.a]\naddress = "a:1"\n[profile.b]\naddress = "b:1"\nnamespace = "nb"\n'
    )
    env = {"TEMPORAL_CONFIG_FILE": file, "TEMPORAL_PROFILE": "a"}
    assert resolve(env=env).address == "a:1"
    assert resolve(env=env, profile="b").namespace == "nb"
    assert resolve(env={}, config_file=file, profile="b").address == "b:1"


def test_an_api_key_implies_tls() -> None:
    settings = resolve(env={"TEMPORAL_ADDRESS": "cloud:7233", "TEMPORAL_API_KEY": SECRET})
    assert settings.tls is True
    assert settings.api_key == SECRET


def test_tls_can_be_switched_off_beside_an_api_key() -> None:
    env = {"TEMPORAL_ADDRESS": "a:1", "TEMPORAL_API_KEY": SECRET, "TEMPORAL_TLS": "FALSE"}
    assert resolve(env=env).tls is False


def test_a_key_from_a_file_may_end_in_a_newline() -> None:
    env = {"TEMPORAL_ADDRESS": "a:1", "TEMPORAL_API_KEY": f"{SECRET}\n"}
    assert resolve(env=env).api_key == SECRET


def test_client_certificates_make_mutual_tls(tmp_path: Path) -> None:
    files = make_certificates(tmp_path)
    settings = resolve(
        env={
            "TEMPORAL_ADDRESS": "a:1",
            "TEMPORAL_TLS_CLIENT_CERT_PATH": str(files.client),
            "TEMPORAL_TLS_CLIENT_KEY_PATH": str(files.client_key),
            "TEMPORAL_TLS_SERVER_CA_CERT_PATH": str(files.ca),
            "TEMPORAL_TLS_SERVER_NAME": "inner.name",
        }
    )
    assert isinstance(settings.tls, TLSConfig)
    assert settings.tls.client_cert == files.client.read_bytes()
    assert settings.tls.client_private_key == files.client_key.read_bytes()
    assert settings.tls.domain == "inner.name"


def test_empty_variables_count_as_absent() -> None:
    names = ("ADDRESS", "NAMESPACE", "API_KEY", "TLS", "PROFILE", "CONFIG_FILE", "TLS_SERVER_NAME")
    settings = resolve(env={f"TEMPORAL_{name}": " " for name in names})
    assert settings == resolve(env={})


def test_headers_of_a_proxy_are_handed_on() -> None:
    settings = resolve(env={"TEMPORAL_GRPC_META_X_ROUTE": "blue"})
    assert settings.rpc_metadata == {"x-route": "blue"}


WRONG = [
    ({"TEMPORAL_ADDRESS": "localhost"}, "TEMPORAL_ADDRESS", "has no port"),
    ({"TEMPORAL_ADDRESS": "localhost:99999"}, "TEMPORAL_ADDRESS", "has no valid port"),
    ({"TEMPORAL_ADDRESS": "https://x:7233"}, "TEMPORAL_ADDRESS", "is a URL"),
    ({"TEMPORAL_ADDRESS": "lo cal:7233"}, "TEMPORAL_ADDRESS", "no valid host name"),
    ({"TEMPORAL_API_KEY": SECRET}, "TEMPORAL_ADDRESS", "although TEMPORAL_API_KEY is set"),
    ({"TEMPORAL_TLS": "true"}, "TEMPORAL_ADDRESS", "although TEMPORAL_TLS is set"),
    ({"TEMPORAL_TLS": "maybe"}, "TEMPORAL_TLS", "neither 'true' nor 'false'"),
    (
        {"TEMPORAL_TLS_DISABLE_HOST_VERIFICATION": "true"},
        "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION",
        "not supported",
    ),
    ({"TEMPORAL_PROFILE": "nope"}, "TEMPORAL_PROFILE", "no [profile.nope]"),
    ({"TEMPORAL_CONFIG_FILE": "/nowhere.toml"}, "TEMPORAL_CONFIG_FILE", "is no file"),
    (
        {"TEMPORAL_ADDRESS": "a:1", "TEMPORAL_TLS_SERVER_CA_CERT_PATH": "/nowhere.pem"},
        "TEMPORAL_TLS_*_PATH",
        "'/nowhere.pem' cannot be read",
    ),
    (
        {"TEMPORAL_ADDRESS": "a:1", "TEMPORAL_TLS_SERVER_CA_CERT_DATA": SECRET},
        "TEMPORAL_TLS_SERVER_CA_CERT_PATH",
        "no PEM block",
    ),
    (
        {"TEMPORAL_ADDRESS": "a:1", "TEMPORAL_TLS_CLIENT_CERT_DATA": PEM},
        "TEMPORAL_TLS_CLIENT_KEY_PATH",
        "is missing",
    ),
    (
        {"TEMPORAL_ADDRESS": "a:1", "TEMPORAL_TLS_CLIENT_KEY_DATA": PEM},
        "TEMPORAL_TLS_CLIENT_CERT_PATH",
        "is missing",
    ),
    (
        {"TEMPORAL_TLS_CLIENT_CERT_PATH": "a", "TEMPORAL_TLS_CLIENT_CERT_DATA": "b"},
        "TEMPORAL_TLS_CLIENT_CERT_PATH",
        "Cannot specify both",
    ),
]


@pytest.mark.parametrize(("env", "setting", "text"), WRONG)
def test_a_wrong_setting_is_named_in_one_line(env: dict[str, str], setting: str, text: str) -> None:
    with pytest.raises(ConnectionSettingsError) as caught:
        resolve(env=env)
    assert caught.value.setting == setting
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_broken_profile_file_is_named_by_its_place_and_not_quoted(tmp_path: Path) -> None:
    file = _profiles(tmp_path, f'[profile.default]\napi_key = "{SECRET}\n')
    with pytest.raises(ConnectionSettingsError, match="line 2") as caught:
        resolve(env={"TEMPORAL_CONFIG_FILE": file})
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_representation_of_settings_shows_no_secret() -> None:
    settings = ConnectionSettings(
        address="a:1",
        namespace="n",
        api_key=SECRET,
        rpc_metadata={"authorization": SECRET},
        tls=TLSConfig(client_private_key=SECRET.encode()),
    )
    assert SECRET not in repr(settings)


def _profiles(folder: Path, content: str) -> str:
    file = folder / "temporal.toml"
    file.write_text(content)
    return str(file)
