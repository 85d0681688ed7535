"""ScreenSpot and ScreenSpot-v2: a folder of the release in; a data set out, or everything that is wrong with it.

::

    screenspot_desktop.json     screenspot_desktop_v2.json     a JSON list, one item per instruction
    screenspot_mobile.json      screenspot_mobile_v2.json
    screenspot_web.json         screenspot_web_v2.json
    screenspot_imgs/            screenspotv2_image/            the screenshots that img_filename names

An item has ``img_filename``, ``instruction``, ``bbox`` (left, top, width, height in pixels), ``data_type`` (text or
icon) and ``data_source``. The layout is that of the authors of ScreenSpot (njucckevin/SeeClick) and ScreenSpot-v2
(OS-Copilot/ScreenSpot-v2, whose pictures may stay in their archive); mirrors keep the annotations in ``annotations`` or
``metadata`` and the pictures in ``images``. Each annotation file is a participant, called as the platform.

Copies in parquet hold the pictures in ``image``: rootsautomation/ScreenSpot and HongxinLi/ScreenSpot_v2 with the two
corners from 0 to 1, lmms-lab/ScreenSpot-v2 with the authors' numbers. Their platform is that of ``data_source``, as
GUI-Actor (``eval/screenSpot_v2.py``) and lmms-eval (``tasks/screenspot``) read them.
"""

from collections import Counter
from collections.abc import Iterator

from grounding.data.layouts import Release, samples_layout
from grounding.data.samples import Sample, are_relative
from grounding.errors import UserError

PLATFORMS = ("desktop", "mobile", "web")
PLATFORM_OF = {"windows": "desktop", "macos": "desktop", "ios": "mobile", "android": "mobile"}
"""By ``data_source``; the others (tool, shop, gitlab, forum) are of the web."""


@samples_layout("screenspot", convention="xywh")
def load(release: Release) -> Iterator[Sample]:
    return _read(release, "")


@samples_layout("screenspot-v2", convention="xywh")
def load_v2(release: Release) -> Iterator[Sample]:
    return _read(release, "_v2")


def _read(release: Release, suffix: str) -> Iterator[Sample]:
    names = [f"screenspot_{platform}{suffix}.json" for platform in PLATFORMS]
    files = release.find(*names, "*.parquet", what="an annotation file of this release")
    packed = [file for file in files if file.suffix == ".parquet"]
    missing = sorted(set(names) - {file.name for file in files})
    if missing and not packed and not release.participants:
        raise UserError(
            f"--data-dir {release.folder}: {', '.join(missing)} is missing beside {files[0].name}; download it too"
        )
    pictures = release.pictures(
        files[0], "screenspot_imgs", "screenspotv2_image", "images", archive="screenspotv2_image.zip"
    )
    counts: Counter[str] = Counter()
    for file in packed or files:
        for fields in release.items(file):
            ui_type = fields.text("data_type", "write text or icon")
            source = fields.text("data_source", "name the source")
            platform = PLATFORM_OF.get(source, "web")
            if not packed:
                platform = file.stem.removesuffix(suffix).removeprefix("screenspot_")
            counts[platform] += 1
            if release.wants(platform):
                yield from release.sample(
                    fields,
                    pictures,
                    platform,
                    image="img_filename",
                    instruction="instruction",
                    box="bbox",
                    number=counts[platform] - 1,
                    convention="xyxy_rel" if packed and are_relative(fields.values.get("bbox")) else None,
                    groups={
                        "platform": platform,
                        "type": ui_type,
                        "platform and type": f"{platform} {ui_type}",
                        "source": source,
                    },
                )
