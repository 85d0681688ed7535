"""What a page may reach and how much of everything it may take."""

from __future__ import annotations

import ipaddress

import msgspec

from grounding.errors import UserError
from grounding.records import Record

MIB = 1 << 20


class WebPolicy(Record, frozen=True, kw_only=True):
    """The rules of one run. All sizes are in bytes, all times in seconds of the wall clock.

    ``hosts`` maps names of a data set's own shops to the loopback address and port that serves them; every other name
    has to resolve to public addresses only. Without ``open_web`` the names of ``hosts`` are all that can be reached.
    ``ports`` are those that may stand in an address. ``max_document_bytes`` bounds the page itself,
    ``max_response_bytes`` any one answer or tunnel, ``max_page_bytes`` all of a page together, ``max_session_bytes``
    all that an agent's session loads. ``max_redirects`` counts all changes of the address before the page is still.
    ``max_loaded_bytes`` bounds what a page unpacks to. ``navigation_s`` is for the document to come, ``script_s`` for
    the page to answer one question of ours, ``max_total_s`` for one page with everything.
    """

    hosts: dict[str, tuple[str, int]] = msgspec.field(default_factory=dict)
    open_web: bool = True
    ports: tuple[int, ...] = (80, 443)
    max_document_bytes: int = 10 * MIB
    max_response_bytes: int = 25 * MIB
    max_page_bytes: int = 80 * MIB
    max_loaded_bytes: int = 200 * MIB
    max_session_bytes: int = 800 * MIB
    max_requests: int = 3000
    max_connections: int = 64
    max_redirects: int = 10
    connect_s: float = 10.0
    idle_s: float = 20.0
    navigation_s: float = 20.0
    quiet_s: float = 5.0
    script_s: float = 10.0
    max_total_s: float = 60.0
    max_segments: int = 12
    max_scrolls: int = 24
    max_text_chars: int = 200_000
    max_html_bytes: int = 8 * MIB

    def checked(self) -> WebPolicy:
        """The same policy, found to be sound.

        Raises:
            UserError: a host is mapped to something that is not on this machine, or a bound is not above nought.
        """
        for name, (address, port) in self.hosts.items():
            try:
                loopback = ipaddress.ip_address(address).is_loopback
            except ValueError:
                loopback = False
            if not loopback or not 0 < port < 65536:
                raise UserError(
                    f"the host {name} is mapped to {address}:{port}: expected a loopback address such as 127.0.0.1 and "
                    "a port from 1 to 65535"
                )
            if name != name.lower().rstrip("."):
                raise UserError(f"the host {name!r} must be written in lower case and without a dot at its end")
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
                raise UserError(f"{field.name} is {value}: expected a number above 0")
        return self
