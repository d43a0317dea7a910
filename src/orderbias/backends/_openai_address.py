"""Where a server is and with which key it is asked; neither is ever shown, stored or put into an error.

The key comes from the environment alone. What is stored of the address is a hash of its host.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from orderbias.errors import ArgumentError
from orderbias.signature import text_hash

#: Where the key is looked for, and where the server.
KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
OPENAI_URL = "https://api.openai.com/v1"

#: What a server of one's own is sent where there is no key.
NO_KEY = "none"
#: Characters of a server's message that are kept, and that are looked at.
_MOST_SAID = 300
_MOST_READ = 4_000
#: A key of fewer characters, or of letters alone, may be a word that a reply has for its own reasons.
_SHORTEST_SECRET = 8
#: Keys that a message may hold, whole or half hidden.
_KEYS = re.compile(r"\b(sk|pk|hf|gsk|xai|ghp)[-_][\w*.-]{6,}|\bBearer\s+\S+")


@dataclass(frozen=True, slots=True)
class Address:
    """A server's base URL and the key for it; see :func:`find_address`."""

    url: str = field(repr=False)
    key: str = field(repr=False)
    key_variable: str = KEY_VARIABLE

    @property
    def root(self) -> str:
        """The URL without its version: where a server keeps what the API does not know."""
        return re.sub(r"/v\d+$", "", self.url)

    @property
    def host(self) -> str:
        """The host's name; one name for this machine, whatever it is called."""
        host = (urlsplit(self.url).hostname or "").lower()
        try:
            local = ipaddress.ip_address(host).is_loopback
        except ValueError:
            local = host == "localhost"
        return "localhost" if local else host

    @property
    def hash(self) -> str:
        """What is stored of the address: two servers of other hosts are not the same."""
        return text_hash(self.host)

    @property
    def key_advice(self) -> str:
        """What to do about a key that is not taken."""
        have = "is not set" if self.key == NO_KEY else "holds a key that it does not know"
        return f"The environment variable {self.key_variable} {have}: set it, or name another with --key-env."

    def without_key(self, data: str) -> str:
        """Return a reply, in JSON, without the key: a server may repeat what it was sent, and texts are stored.

        Examples
        --------
        >>> Address("http://10.0.0.1:8000/v1", "sk-abc/123").without_key(r'{"text": "sk-abc\\/123, A"}')
        '{"text": "***, A"}'
        """
        if self.key == NO_KEY or len(self.key) < _SHORTEST_SECRET or self.key.isalpha():
            return data
        for spelled in (self.key, json.dumps(self.key)[1:-1], self.key.replace("/", "\\/")):
            data = data.replace(spelled, "***")
        return data

    def clean(self, text: str) -> str:
        """Return a server's words without the key and the address, on one line, not too long.

        Examples
        --------
        >>> Address("http://10.0.0.1:8000/v1", "sk-abc123").clean("no sk-abc123 at http://10.0.0.1:8000/v1/x")
        'no *** at ***'
        """
        if self.key != NO_KEY:
            text = text.replace(self.key, "***")
        text = re.sub(r"\w+://\S+", "***", text[:_MOST_READ]).replace(urlsplit(self.url).netloc, "***")
        text = " ".join(_KEYS.sub("***", text).split())
        return text if len(text) <= _MOST_SAID else text[: _MOST_SAID - 3] + "..."


def find_address(base_url: str | None = None, key_env: str | None = None) -> Address:
    """Return the server to ask, and the key from the environment.

    Parameters
    ----------
    base_url
        Up to and with the version: ``http://localhost:8000/v1``. Default: ``OPENAI_BASE_URL``, else OpenAI's own.
    key_env
        The environment variable that holds the key. Default: ``OPENAI_API_KEY``.

    Raises
    ------
    ArgumentError
        If the URL is none or holds a password, or there is no key where one is needed.
    """
    url = (base_url or os.environ.get(URL_VARIABLE) or OPENAI_URL).strip().rstrip("/")
    try:
        parts = urlsplit(url)
        _ = parts.port  # read only when asked for
    except ValueError as e:
        # What was given is not repeated: it may hold a key.
        raise ArgumentError("--base-url must be a URL such as http://localhost:8000/v1. Got no sound host.") from e
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentError(
            "--base-url must be a URL such as http://localhost:8000/v1. Got one without scheme or host."
        )
    if parts.username or parts.password or parts.query:
        raise ArgumentError(
            "--base-url must hold no name, password or query: they would be a key on the command line. Put the key "
            f"into the environment variable {key_env or KEY_VARIABLE}."
        )
    variable = key_env or KEY_VARIABLE
    if not re.fullmatch(r"[A-Za-z_]\w*", variable):
        # A key given in place of a variable's name must not be repeated.
        raise ArgumentError("--key-env must be the name of an environment variable, never a key itself.")
    key = os.environ.get(variable, "").strip()
    if not key and (key_env is not None or url == OPENAI_URL):
        raise ArgumentError(
            f"The environment variable {variable} must hold the key. It is not set. A server of your own, which needs "
            "none, is named by --base-url alone."
        )
    if not (key.isascii() and key.isprintable()):
        raise ArgumentError(f"The environment variable {variable} must hold a key of plain characters. It has others.")
    return Address(url, key or NO_KEY, variable)
