"""What a run's data set is called where it is not the release that its card describes: in tables, pages, signatures.

``departs`` is what shows it, as :func:`grounding.data.registry.departures` gives it; nothing where it is the release,
as far as its card can tell. Pure.
"""

from collections.abc import Sequence


def data_name(name: str, departs: Sequence[str]) -> str:
    """What the data set of a run is called: by its name, or ``realwebassist(264 of 2,524 steps, not the release)``."""
    return f"{name}({departs[0]}, not the release)" if departs else name


def release_mark(departs: Sequence[str]) -> str:
    """What stands behind the name of a run beside published figures."""
    return ", not the release" if departs else ""


def departure_warnings(name: str, departs: Sequence[str]) -> tuple[str, ...]:
    """What a reader must know of a run's figures; none where the data set is the release, as far as its card tells."""
    if not departs:
        return ()
    return (
        f"{name} is not the release that its card describes ({'; '.join(departs)}): figures are not comparable with "
        "published ones",
    )
