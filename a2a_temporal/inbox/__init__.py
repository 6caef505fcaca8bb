"""The inbox: a page on which people decide and answer what waits for them, across all agents.

::

    app = create_inbox(client, authenticator=BearerTokens({"<token>": Person("ann", ("finance",))}))

The result is a Starlette application: serve it alone (``a2a-temporal inbox``) or mount it under a
prefix. It holds no state but a signed cookie in each browser. Needs the extra ``inbox``.
"""

import importlib.util

if not all(importlib.util.find_spec(name) for name in ("itsdangerous", "jinja2")):
    raise ImportError("The inbox needs two more packages: pip install 'a2a-temporal[inbox]'")

from a2a_temporal._server.waiting import Person
from a2a_temporal.inbox._app import create_inbox
from a2a_temporal.inbox.authenticators import (
    Anonymous,
    Authenticator,
    BearerTokens,
    FormSignIn,
    ProxyHeaders,
    RedirectSignIn,
    SignInError,
    SignInField,
)

__all__ = [
    "Anonymous",
    "Authenticator",
    "BearerTokens",
    "FormSignIn",
    "Person",
    "ProxyHeaders",
    "RedirectSignIn",
    "SignInError",
    "SignInField",
    "create_inbox",
]
