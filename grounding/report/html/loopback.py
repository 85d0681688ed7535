"""What every page that is served to its own machine keeps to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grounding.errors import UserError

if TYPE_CHECKING:
    from aiohttp import web

LOOPBACK = "127.0.0.1"


def own_hosts(port: int) -> frozenset[str]:
    """The names under which a browser of this machine asks."""
    return frozenset((f"{LOOPBACK}:{port}", f"localhost:{port}"))


def only_this_machine(port: int) -> Any:
    """The aiohttp middleware of a page for its own machine: no other name, no frames, no guessed types."""
    from aiohttp import web

    hosts = own_hosts(port)

    @web.middleware
    async def only_here(request: web.Request, handler: web.Handler) -> web.StreamResponse:  # type: ignore[name-defined]
        # Another site's name that points here (DNS rebinding) is refused.
        if request.host not in hosts:
            raise web.HTTPForbidden(text="this page is served to its own machine only\n")
        try:
            response: web.StreamResponse = await handler(request)
        except UserError as error:
            raise web.HTTPConflict(text=f"{error}\n") from error
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["X-Frame-Options"] = "DENY"
        return response

    return only_here
