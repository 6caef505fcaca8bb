"""``a2a-temporal inbox``: serve the page on which people answer requests."""

import asyncio
import logging
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from starlette.applications import Starlette
from temporalio.client import Client

from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.options import profile_option, verbose_option
from a2a_temporal._cli.processes import connect_now_or_later, listen, run_app, url_of

logger = logging.getLogger(__name__)

_WAYS = "--tokens FILE, --trust-proxy ADDRESS or --oidc-issuer URL"


@click.command()
@click.option("--host", default="127.0.0.1", envvar="A2A_INBOX_HOST", show_default=True)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    envvar="A2A_INBOX_PORT",
    show_default=True,
)
@click.option(
    "--public-url",
    envvar="A2A_INBOX_URL",
    default="",
    help="The URL that people use, behind a proxy.",
)
@click.option(
    "--temporal-ui",
    envvar="TEMPORAL_UI_URL",
    default="",
    help="Base URL of the Temporal UI, for links to workflows.",
)
@click.option("--title", default="Inbox", show_default=True)
@click.option(
    "--tokens",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    envvar="A2A_INBOX_TOKENS",
    help='JSON file: {"<token>": {"name": "ann", "groups": ["finance"]}}.',
)
@click.option(
    "--trust-proxy",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of a proxy that authenticates and sets X-Forwarded-User.",
)
@click.option("--user-header", default="X-Forwarded-User", show_default=True)
@click.option("--groups-header", default="X-Forwarded-Groups", show_default=True)
@click.option("--oidc-issuer", envvar="A2A_INBOX_OIDC_ISSUER", metavar="URL")
@click.option("--oidc-client-id", envvar="A2A_INBOX_OIDC_CLIENT_ID", default="")
@click.option(
    "--oidc-name-claim", envvar="A2A_INBOX_OIDC_NAME_CLAIM", default="email", show_default=True
)
@click.option(
    "--oidc-groups-claim",
    envvar="A2A_INBOX_OIDC_GROUPS_CLAIM",
    default="groups",
    show_default=True,
)
@click.option(
    "--oidc-unverified-email",
    is_flag=True,
    help="Accept e-mail addresses that the provider has not verified.",
)
@click.option(
    "--allow-anonymous",
    is_flag=True,
    help="Let every user of this machine in, under any name. Loopback only.",
)
@click.option("--as", "name", default="", help="With --allow-anonymous: the first name.")
@click.option("--group", "groups", multiple=True, help="With --as: a group of this person.")
@profile_option
@verbose_option
def inbox(
    host: str,
    port: int,
    public_url: str,
    temporal_ui: str,
    title: str,
    profile: str | None,
    verbose: bool,
    **who: Any,
) -> None:
    """Serve the inbox: requests that wait for people, of all agents of a namespace.

    Two secrets come from the environment: A2A_INBOX_SECRET signs session cookies and is the same
    for all processes of an inbox; A2A_INBOX_OIDC_SECRET is the client secret at the OpenID
    provider.
    """
    configure_logging(verbose=verbose)
    authenticator = _authenticator(host, who)
    try:
        from a2a_temporal.inbox import create_inbox
    except ImportError as error:
        raise _missing("inbox", error) from None

    async def main(stop: asyncio.Event) -> None:
        client = await connect_now_or_later(profile=profile)
        try:
            app = create_inbox(
                client,
                authenticator=authenticator,
                secret=_from_environment("A2A_INBOX_SECRET") or secrets.token_urlsafe(32),
                temporal_ui=temporal_ui,
                public_url=public_url,
                title=title,
            )
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        listener = listen(host, port)
        logger.info(
            "the inbox is at %s, Temporal %s",
            public_url or url_of(listener),
            client.service_client.config.target_host,
        )
        # Client addresses must be those of the connection: proxies are recognised by them.
        await run_app(app, listener=listener, stop=stop, verbose=verbose, believe_proxies=False)

    run(main)


def laptop_inbox(
    client: Client, *, name: str, groups: Sequence[str], temporal_ui: str
) -> Starlette | None:
    """Return the inbox of ``a2a-temporal dev``; None when its packages are not installed.

    Anybody at this machine is let in, under the name they give.
    """
    try:
        from a2a_temporal.inbox import Anonymous, create_inbox
    except ImportError:
        return None
    return create_inbox(
        client,
        authenticator=Anonymous(name, groups),
        secret=_from_environment("A2A_INBOX_SECRET"),
        temporal_ui=temporal_ui,
    )


def _authenticator(host: str, who: dict[str, Any]) -> Any:
    try:
        from a2a_temporal.inbox import Anonymous, BearerTokens, ProxyHeaders
        from a2a_temporal.inbox.authenticators import is_loopback_name
    except ImportError as error:
        raise _missing("inbox", error) from None
    chosen = [
        name
        for name in ("tokens", "trust_proxy", "oidc_issuer", "allow_anonymous")
        if who.get(name)
    ]
    if len(chosen) != 1:
        found = f"not {len(chosen)} of them" if chosen else "it is open to nobody otherwise"
        raise click.UsageError(
            f"Say how people sign in, by one of {_WAYS}, or --allow-anonymous ({found})."
        )
    try:
        match chosen[0]:
            case "tokens":
                return BearerTokens.from_file(who["tokens"])
            case "trust_proxy":
                return ProxyHeaders(
                    who["trust_proxy"],
                    user_header=who["user_header"],
                    groups_header=who["groups_header"],
                )
            case "oidc_issuer":
                return _oidc(who)
            case _:
                if not is_loopback_name(host):
                    raise click.UsageError(
                        f"--allow-anonymous serves this machine only, and --host {host} is "
                        f"reachable from others. Use --host 127.0.0.1, or one of {_WAYS}."
                    )
                logger.warning(
                    "anybody at this machine may decide, under any name; put no proxy before this "
                    "inbox: one that sets no X-Forwarded-... header lets everybody in"
                )
                return Anonymous(who["name"], who["groups"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _oidc(who: dict[str, Any]) -> Any:
    if not who["oidc_client_id"]:
        raise click.UsageError("--oidc-issuer needs --oidc-client-id.")
    try:
        from a2a_temporal.inbox.oidc import OpenIdConnect
    except ImportError as error:
        raise _missing("oidc", error) from None
    return OpenIdConnect(
        issuer=who["oidc_issuer"],
        client_id=who["oidc_client_id"],
        client_secret=_from_environment("A2A_INBOX_OIDC_SECRET"),
        name_claim=who["oidc_name_claim"],
        groups_claim=who["oidc_groups_claim"],
        unverified_email=who["oidc_unverified_email"],
    )


def _missing(extra: str, error: ImportError) -> click.ClickException:
    return click.ClickException(f"{error}. Install it: pip install 'a2a-temporal[{extra}]'")


def _from_environment(name: str) -> str:
    return os.environ.get(name, "")
