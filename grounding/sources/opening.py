"""fsspec's file systems: opened here and nowhere else, and their failures told in one way."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

from grounding.errors import UserError
from grounding.records import Record
from grounding.sources.address import Address

OFFLINE = "GROUNDING_OFFLINE"
"""Set to anything but 0: what was fetched before is used as it is, and nothing is asked of any server."""

_TIMEOUT_S = 120.0
_NEEDS = {
    **{"s3": ("s3fs", "s3"), "s3a": ("s3fs", "s3"), "gs": ("gcsfs", "gs"), "gcs": ("gcsfs", "gs")},
}
"""The package behind a file system, and the extra of ours that brings it."""

_UNREACHED = {
    *("ClientConnectionError", "ClientConnectorError", "ServerDisconnectedError", "ClientOSError"),
    *("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "TransportError"),
    *("ConnectionClosedError", "ClientConnectorDNSError", "ServerTimeoutError"),
}


class Opened(Record, frozen=True, kw_only=True):
    """A file system, and the path in it that a URL names. ``is_async`` ones take several requests at once."""

    fs: Any
    path: str
    is_async: bool

    @property
    def is_http(self) -> bool:
        """Whether it is a web server, which lists no files and may send no ranges."""
        protocol = self.fs.protocol
        return "http" in ((protocol,) if isinstance(protocol, str) else protocol)


def is_offline() -> bool:
    """Whether the user asked for nothing to be fetched."""
    return os.environ.get(OFFLINE, "") not in ("", "0")


def open_address(address: Address) -> Opened:
    """The file system of an address.

    Raises:
        UserError: a package is missing, or fsspec knows no such file system.
    """
    if find_spec("fsspec") is None:
        raise UserError(
            f"{address.shown}: data is read from elsewhere through fsspec, which is not installed: "
            'pip install "grounding[remote]" (or pip install fsspec)'
        )
    from fsspec.core import url_to_fs

    links = address.url.split("::")
    schemes = [link.partition("://")[0].lower() for link in links if "://" in link or "/" not in link]
    for scheme in schemes:
        package, extra = _NEEDS.get(scheme, ("", ""))
        if package and find_spec(package) is None:
            raise UserError(
                f"{address.shown}: {scheme}:// is read with {package}, which is not installed: "
                f'pip install "grounding[{extra}]" (or pip install {package})'
            )
    given: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    if len(links) == 1 and schemes and schemes[0] in ("http", "https"):
        given |= _http_options()
    try:
        fs, path = url_to_fs(address.url, **given)
    except ImportError as error:
        raise UserError(f"{address.shown}: a package is missing to read it: {error}") from error
    except ValueError as error:
        raise UserError(
            f"{address.shown}: fsspec can't open it: {_without(address, error)}. Expected s3://bucket/folder, "
            "gs://bucket/folder, https://host/folder/, an archive (.zip, .tar.gz) at such an address, or zip::URL"
        ) from error
    except failures() as error:
        raise told(address, error) from error
    return Opened(fs=fs, path=str(path), is_async=bool(getattr(fs, "async_impl", False)))


def _http_options() -> dict[str, Any]:
    import aiohttp

    # What is packed on the way has another size than the file; a listing's text is no list of links, its <a> are.
    return {
        "headers": {"Accept-Encoding": "identity"},
        "simple_links": False,
        "get_client": _client,
        "client_kwargs": {"timeout": aiohttp.ClientTimeout(total=None, connect=30, sock_read=_TIMEOUT_S)},
    }


async def _client(**given: Any) -> Any:
    """A session that follows no redirection from https to plain http."""
    import aiohttp
    from yarl import URL

    from grounding.sources.address import is_loopback

    async def check(session: Any, context: Any, params: Any) -> None:  # noqa: ARG001 - aiohttp's own signature
        target = params.response.headers.get("Location", "")
        if target.startswith("http://") and not is_loopback(URL(target).host or ""):
            raise aiohttp.ClientError(f"the server of {params.url.host} leads on to plain http, which is not followed")

    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(check)
    return aiohttp.ClientSession(trace_configs=[trace], **given)


def failures() -> tuple[type[Exception], ...]:
    """What file systems raise when a server can't be reached or says no, of the libraries that are loaded."""
    found: list[type[Exception]] = [OSError]
    for module, names in {
        "aiohttp": ("ClientError",),
        "botocore.exceptions": ("BotoCoreError", "ClientError"),
        "google.auth.exceptions": ("GoogleAuthError",),
        "gcsfs.retry": ("HttpError",),
    }.items():
        loaded = sys.modules.get(module)
        found += [getattr(loaded, name) for name in names if hasattr(loaded, name)]
    return tuple(found)


def is_unreachable(error: BaseException) -> bool:
    """Whether nobody answered at all, so that a copy from before is the best there is."""
    names = {type(one).__name__ for one in _chain(error)}
    if _status(error) is not None or names & {"NoCredentialsError", "PermissionError", "DefaultCredentialsError"}:
        return False
    return bool(names & _UNREACHED) or any(isinstance(one, ConnectionError | TimeoutError) for one in _chain(error))


def is_transient(error: BaseException) -> bool:
    """Whether the same request may well be answered in a moment."""
    status = _status(error)
    cut_off = any(type(one).__name__ in ("ClientPayloadError", "IncompleteReadError") for one in _chain(error))
    return status in (408, 425, 429) or (status is not None and status >= 500) or cut_off or is_unreachable(error)


def told(address: Address, error: BaseException) -> UserError:
    """A failure in words: what can't be read, why, and what to do. Nothing secret of the URL is in it."""
    words, status = _without(address, error), _status(error)
    if status in (401, 403) or any(
        isinstance(one, PermissionError) or "Credentials" in type(one).__name__ for one in _chain(error)
    ):
        advice = (
            f"it may not be read ({words}): see to the credentials of this machine (AWS_PROFILE or AWS_ACCESS_KEY_ID, "
            "FSSPEC_S3_ANON=true for a public bucket; GOOGLE_APPLICATION_CREDENTIALS for Google)"
        )
    elif is_unreachable(error):
        advice = f"nobody answers: {words}"
    elif isinstance(error, FileNotFoundError) and status in (None, 404, 410):
        advice = "there is nothing there, or nothing in it: see to the spelling"
    else:
        advice = f"it can't be read: {words}{'' if status is None else f' (status {status})'}"
    return UserError(f"{address.shown}: {advice}")


def _status(error: BaseException) -> int | None:
    """The HTTP status that a server answered with, if one did; of S3's library as well."""
    for one in _chain(error):
        status = getattr(one, "status", None)
        if isinstance(status, int) and type(one).__name__ == "ClientResponseError":
            return status
        response = getattr(one, "response", None)
        if isinstance(response, dict):
            found = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            return found if isinstance(found, int) else None
    return None


def _without(address: Address, error: BaseException) -> str:
    """An error's words without what is secret of the URL: libraries quote whole URLs in them."""
    # Some say "not found" of everything; what they were told themselves is more to the point.
    told_first = [one for one in _chain(error) if type(one).__name__ in _UNREACHED or isinstance(one, ConnectionError)]
    error = told_first[0] if told_first else error
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if address.has_secrets:
        text = f"{type(error).__name__} (its words are left out: they may quote what is secret of the URL)"
    return " ".join(text.split())[:300]


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        one = one.__cause__ or one.__context__
    return found
