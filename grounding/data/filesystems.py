"""File systems of fsspec, and what goes wrong with them and with huggingface_hub told in one way."""

import glob
import os
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from grounding.data.address import HUB, Address, is_loopback
from grounding.errors import UserError, install

# Set to anything but 0: what was fetched before is used as it is, and nothing is asked of any server.
OFFLINE = "GROUNDING_OFFLINE"
_TIMEOUT_S = 120.0
_PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), ("s3fs", "s3")),
    **dict.fromkeys(("gs", "gcs"), ("gcsfs", "gs")),
    "hf": ("huggingface_hub", "remote"),
}  # The package behind a file system, and the extra of ours that brings it.


def is_set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


def check_packages(address: Address) -> None:
    """See that what reads an address is installed. Raises UserError: it is not; says what to install."""
    schemes = [link.partition("://")[0].lower() for link in address.url.split("::")]
    for package, extra in (("fsspec", "remote"), *(_PACKAGES[one] for one in schemes if one in _PACKAGES)):
        if find_spec(package) is None:
            where = "there is no such folder here, and a data set of the hub" if address.is_bare else "what lies there"
            raise UserError(
                f"{address.shown}: {where} is read with {package}, which is not installed: "
                f"{install(extra)} (or pip install {package})"
            )


def file_system(address: Address) -> tuple[Any, str]:
    """The file system of an address, and the path in it. Raises UserError: a package is missing, or fsspec knows no
    such file system.
    """
    check_packages(address)
    from fsspec.core import url_to_fs

    given: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    if urlsplit(address.url).scheme.lower() in ("http", "https"):
        import aiohttp

        # What is packed on the way has another size than the file; a listing's text is no list of links, its <a> are.
        given |= {"headers": {"Accept-Encoding": "identity"}, "simple_links": False, "get_client": _client}
        limits = aiohttp.ClientTimeout(total=None, connect=30, sock_read=_TIMEOUT_S)
        given["client_kwargs"] = {"timeout": limits}
    try:
        fs, path = url_to_fs(address.url, **given)
    except (ImportError, ValueError) as error:
        raise UserError(
            f"{address.shown}: fsspec can't open it: {_words(address, error)}. Expected s3://bucket/folder, "
            "gs://bucket/folder, https://host/folder/, an archive (.zip, .tar.gz) at such an address, or zip::URL"
        ) from error
    return fs, str(path)


def is_http(fs: Any) -> bool:
    """Whether it is a web server, which lists no files and may send no parts of them."""
    return "http" in ((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol)


async def _client(**given: Any) -> Any:
    """A session that follows no redirection from https to plain http."""
    import aiohttp

    async def check(_session: Any, _context: Any, params: Any) -> None:
        target = urlsplit(params.response.headers.get("Location", ""))
        if target.scheme == "http" and not is_loopback(target.hostname or ""):
            raise aiohttp.ClientError(f"the server of {params.url.host} leads on to plain http, which is not followed")

    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(check)
    return aiohttp.ClientSession(trace_configs=[trace], **given)


def hub_path(address: Address) -> Path:
    """Where huggingface_hub keeps a data set, a folder of one or an archive; what is missing is fetched."""
    check_packages(address)
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    found = HUB.fullmatch(address.url)
    assert found is not None
    inner = (found["inner"] or "").strip("/")
    revision = None if found["revision"] is None else unquote(found["revision"])
    common: dict[str, Any] = {"repo_type": "dataset", "revision": revision, "local_files_only": is_set(OFFLINE)}
    wanted = address.wanted or (f"{glob.escape(inner)}/*" if inner else None)
    with ExitStack() as stack:
        if not sys.stderr.isatty() and not are_progress_bars_disabled():
            disable_progress_bars()
            stack.callback(enable_progress_bars)
        if address.kind != "hub":
            return Path(hf_hub_download(found["repository"], inner, **common)).resolve()
        folder = Path(snapshot_download(found["repository"], allow_patterns=wanted, **common)) / inner
    if not folder.is_dir():
        raise UserError(f"{address.shown}: there is no folder {inner} in it")
    return folder


def again(call: Callable[[], Any]) -> Any:
    """Call, and again where a connection broke or the server was overloaded."""
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

    waits = wait_random_exponential(multiplier=0.5, max=5)
    return Retrying(retry=retry_if_exception(_is_transient), stop=stop_after_attempt(4), wait=waits, reraise=True)(call)


def failures() -> tuple[type[Exception], ...]:
    """What file systems raise when a server can't be reached or says no, of the libraries that are loaded."""
    found: list[type[Exception]] = [OSError]
    for module, names in {
        "aiohttp": ("ClientError",),
        "botocore.exceptions": ("BotoCoreError", "ClientError"),
        "google.auth.exceptions": ("GoogleAuthError",),
        "gcsfs.retry": ("HttpError",),
        "huggingface_hub.errors": ("EntryNotFoundError", "HFValidationError", "XetDownloadError"),
        "httpx2": ("HTTPError",),
    }.items():
        found += [getattr(sys.modules[module], name) for name in names if module in sys.modules]
    return tuple(found)


_UNREACHED = re.compile(
    r"Client(Connect|OS|Payload).*|ServerDisconnected.*|.*Connect(ion|ionClosed)?Error|.*Timeout(Error)?|TransportError"
    r"|IncompleteReadError|LocalEntryNotFoundError|IncompleteSnapshotError"
)  # Names of the errors of the libraries behind fsspec where nobody answered, or the answer was cut off.


def is_unreachable(error: BaseException) -> bool:
    if _status(error) is not None or any("Credentials" in name for name in _names(error)):
        return False
    return any(map(_UNREACHED.fullmatch, _names(error)))


def _is_transient(error: BaseException) -> bool:
    """Whether the same request may well be answered in a moment."""
    status = _status(error)
    return is_unreachable(error) if status is None else status in (408, 425, 429) or status >= 500


def told(address: Address, error: BaseException) -> UserError:
    """A failure in words: what can't be read, why, and what to do. Nothing secret of the URL is in it."""
    names, status, words = set(_names(error)), _status(error), _words(address, error)
    if "GatedRepoError" in names:
        advice = "it is gated: ask for access on its page, then log in with `hf auth login` or set HF_TOKEN"
    elif "RevisionNotFoundError" in names:
        advice = "the data set has no such revision: see to what stands behind the @"
    elif names & {"RepositoryNotFoundError", "HFValidationError"}:
        advice = (
            "the hub has no such data set, or it is private: see to the spelling (hf://datasets/OWNER/NAME), or log in "
            "with `hf auth login` or HF_TOKEN"
        )
    elif names & {"LocalEntryNotFoundError", "IncompleteSnapshotError", "OfflineModeIsEnabled"}:
        offline = next((one for one in (OFFLINE, "HF_HUB_OFFLINE") if is_set(one)), "")
        why = f"{offline} is set" if offline else f"nobody answers at {os.environ.get('HF_ENDPOINT', 'huggingface.co')}"
        advice = f"{why}, and the cache of huggingface_hub has no complete copy. {_download(address)}"
    elif status in (401, 403) or "PermissionError" in names or any("Credentials" in name for name in names):
        advice = (
            f"it may not be read ({words}): see to the credentials of this machine (AWS_PROFILE or AWS_ACCESS_KEY_ID, "
            "FSSPEC_S3_ANON=true for a public bucket; GOOGLE_APPLICATION_CREDENTIALS for Google)"
        )
    elif is_unreachable(error):
        advice = f"nobody answers: {words}"
    elif status in (404, 410) or (status is None and "FileNotFoundError" in names):
        advice = "there is nothing there, or nothing in it: see to the spelling"
    else:
        advice = f"it can't be read: {words}{'' if status is None else f' (status {status})'}"
    bare = "there is no such folder here, and as a data set on the Hugging Face hub: " if address.is_bare else ""
    return UserError(f"{address.shown}: {bare}{advice}")


def _download(address: Address) -> str:
    found = HUB.match(address.url)
    if found is None:
        return "Fetch it where there is a network"
    repository, revision = found["repository"], found["revision"]
    only = (f" --revision {revision}" if revision else "") + (
        f" --include '{address.wanted}'" if address.wanted else ""
    )
    folder = repository.partition("/")[2]
    return (
        f"Where there is a network: hf download {repository} --repo-type dataset{only} --local-dir {folder}; then run "
        f"with --data-dir {folder}"
    )


def _status(error: BaseException) -> int | None:
    for one in _chain(error):
        response = getattr(one, "response", None)
        status = getattr(response, "status_code", getattr(one, "status", None))
        if isinstance(response, dict):
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if isinstance(status, int):
            return status
    return None


def _words(address: Address, error: BaseException) -> str:
    """An error's words without what is secret of the URL: libraries quote whole URLs in them."""
    # Some say "not found" of everything; what they were told themselves is more to the point.
    error = next((one for one in _chain(error) if _UNREACHED.fullmatch(type(one).__name__)), error)
    if address.has_secrets:
        return f"{type(error).__name__} (its words are left out: they may quote what is secret of the URL)"
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _names(error: BaseException) -> list[str]:
    return [kind.__name__ for one in _chain(error) for kind in type(one).__mro__]


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        one = one.__cause__ or one.__context__
    return found
