"""The keys of the Compose Specification (compose-spec.json), for what docker-compose.yml uses.

Compose itself refuses any other key, unless it begins with ``x-``.
"""

from typing import Any, cast

_FILE = "configs include models name networks secrets services volumes"
_SERVICE = """
annotations attach blkio_config build cap_add cap_drop cgroup cgroup_parent command configs
container_name cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares
cpus cpuset credential_spec depends_on deploy develop device_cgroup_rules devices dns dns_opt
dns_search domainname entrypoint env_file environment expose extends external_links extra_hosts gpus
group_add healthcheck hostname image init ipc isolation label_file labels links logging mac_address
mem_limit mem_reservation mem_swappiness memswap_limit models network_mode networks oom_kill_disable
oom_score_adj pid pids_limit platform ports post_start pre_stop privileged profiles provider
pull_policy pull_refresh_after read_only restart runtime scale secrets security_opt shm_size
stdin_open stop_grace_period stop_signal storage_opt sysctls tmpfs tty ulimits use_api_socket
user userns_mode uts volumes volumes_from working_dir
"""
_HEALTHCHECK = "disable interval retries start_interval start_period test timeout"
_DEPLOY = """
endpoint_mode labels mode placement replicas resources restart_policy rollback_config update_config
"""
_DEPENDENCY = "condition required restart"
_USED_CONFIG = "gid mode source target uid"
_CONFIG = "content environment external file labels name template_driver"
_SECRET = "driver driver_opts environment external file labels name template_driver"
_VOLUME = "driver driver_opts external labels name"


def unknown_keys(file: dict[str, Any]) -> list[str]:
    """Return the paths of the keys that the specification does not know."""
    found = _unknown(file, _FILE, "")
    for name, service in file["services"].items():
        found += _unknown_in_service(service, f"services.{name}.")
    for kind, known in (("configs", _CONFIG), ("secrets", _SECRET), ("volumes", _VOLUME)):
        for name, fields in file.get(kind, {}).items():
            found += _unknown(fields, known, f"{kind}.{name}.")
    return found


def _unknown_in_service(service: dict[str, Any], at: str) -> list[str]:
    found = _unknown(service, _SERVICE, at)
    found += _unknown(service.get("healthcheck"), _HEALTHCHECK, f"{at}healthcheck.")
    found += _unknown(service.get("deploy"), _DEPLOY, f"{at}deploy.")
    for name, dependency in service.get("depends_on", {}).items():
        found += _unknown(dependency, _DEPENDENCY, f"{at}depends_on.{name}.")
    for kind in ("configs", "secrets"):
        for used in service.get(kind, []):
            found += _unknown(used, _USED_CONFIG, f"{at}{kind}.")
    return found


def _unknown(fields: Any, known: str, at: str) -> list[str]:
    if not isinstance(fields, dict):
        return []
    keys = cast("dict[str, Any]", fields)
    return [f"{at}{key}" for key in keys if key not in known.split() and not key.startswith("x-")]
