"""Small copies of the public sets' layouts, made from the steps of the bundled sample: what the loaders must read back.

Every builder takes the sample's scored steps, writes files as the release has them, and returns nothing: what is right
is known from the steps themselves.
"""

from __future__ import annotations

import gzip
import json
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grounding.data import load_dataset
from grounding.records import Box, Step

PLATFORMS = ("desktop", "mobile", "web")


def sample_steps(count: int) -> list[Step]:
    """Scored steps of the sample, several over some screenshots, each with one box."""
    sessions = load_dataset("sample-web").sessions
    found = [step for session in sessions for step in session.steps if step.region and len(step.region.boxes) == 1]
    return found[:count]


def box_of(step: Step) -> Box:
    assert step.region is not None
    return step.region.boxes[0]


def xywh(step: Step) -> list[float]:
    box = box_of(step)
    return [box.left_px, box.top_px, box.right_px - box.left_px, box.bottom_px - box.top_px]


def xyxy(step: Step) -> list[float]:
    box = box_of(step)
    return [box.left_px, box.top_px, box.right_px, box.bottom_px]


def relative(step: Step) -> list[float]:
    size = step.screenshot.size
    return [value / side for value, side in zip(xyxy(step), [size.width, size.height] * 2, strict=True)]


def picture_into(folder: Path, step: Step) -> str:
    """Copy a step's screenshot; returns its name, the same for the same picture."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{step.screenshot.sha256[:12]}{Path(step.screenshot.path).suffix}"
    if not (folder / name).exists():
        shutil.copyfile(step.screenshot.path, folder / name)
    return name


def write_json(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value), encoding="utf-8")


def ui_type(position: int) -> str:
    """Every third is an icon."""
    return "icon" if position % 3 == 0 else "text"


def screenspot(folder: Path, steps: Sequence[Step], *, suffix: str = "", boxes: Any = xywh) -> None:
    images = folder / ("screenspotv2_image" if suffix else "screenspot_imgs")
    for number, platform in enumerate(PLATFORMS):
        mine = steps[number :: len(PLATFORMS)]
        items = [
            {
                "img_filename": picture_into(images, step),
                "bbox": boxes(step),
                "instruction": step.instruction,
                "data_type": ui_type(position),
                "data_source": {"desktop": "windows", "mobile": "ios", "web": "shop"}[platform],
            }
            for position, step in enumerate(mine)
        ]
        write_json(folder / f"screenspot_{platform}{suffix}.json", items)


def screenspot_pro(folder: Path, steps: Sequence[Step], *, negatives: int = 0, boxes: Any = xyxy) -> None:
    for number, (application, platform, group) in enumerate(
        [("excel", "macos", "Office"), ("blender", "windows", "Creative")]
    ):
        items = []
        for position, step in enumerate(steps[number::2]):
            size = step.screenshot.size
            item: dict[str, Any] = {
                "img_filename": f"{application}/{picture_into(folder / 'images' / application, step)}",
                "bbox": boxes(step),
                "instruction": step.instruction,
                "instruction_cn": f"点击 {position}",
                "id": f"{application}_{platform}_{position}",
                "application": application,
                "platform": platform,
                "img_size": [size.width, size.height],
                "ui_type": ui_type(position),
                "group": group,
            }
            if position < negatives:
                del item["bbox"]
                item["gt_type"] = "negative"
            items.append(item)
        write_json(folder / "annotations" / f"{application}_{platform}.json", items)


def osworld_g(folder: Path, steps: Sequence[Step]) -> None:
    """A third boxes, a third polygons (the box's corners), a third refusals."""
    items = []
    classified: dict[str, list[dict[str, str]]] = {"text_matching": [], "layout_understanding": [], "refusal": []}
    for position, step in enumerate(steps):
        left, top, right, bottom = xyxy(step)
        kind = ("bbox", "polygon", "refusal")[position % 3]
        coordinates = {
            "bbox": xywh(step),
            "polygon": [left, top, right, top, right, bottom, left, bottom],
            "refusal": [-1, -1, -1, -1],
        }[kind]
        number = f"SAMPLE-{position}"
        items.append(
            {
                "id": number,
                "image_path": picture_into(folder / "images", step),
                "image_size": [step.screenshot.size.width, step.screenshot.size.height],
                "instruction": step.instruction,
                "box_type": kind,
                "box_coordinates": coordinates,
                "GUI_types": ["Button"],
            }
        )
        for name in (
            ("refusal",) if kind == "refusal" else ("text_matching", "layout_understanding")[: 1 + position % 2]
        ):
            classified[name].append({"id": number})
    write_json(folder / "OSWorld-G.json", items)
    write_json(
        folder / "OSWorld-G_refined.json",
        [{**item, "instruction": f"In detail: {item['instruction']}"} for item in items],
    )
    write_json(folder / "classification_result.json", {"classified": classified})


def omniact(folder: Path, steps: Sequence[Step]) -> None:
    """Desktop and web in turn, the web ones with the released files' other names; every fifth script only types."""
    items = {}
    for position, step in enumerate(steps):
        platform = ("desktop", "web")[position % 2]
        name = f"screen_{position}" if platform == "desktop" else f"screen{position}"
        image = folder / f"data/data/{platform}/app/{name}{Path(step.screenshot.path).suffix}"
        image.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(step.screenshot.path, image)
        task = folder / f"data/tasks/{platform}/app/task_{position}.1.txt"
        task.parent.mkdir(parents=True, exist_ok=True)
        center = box_of(step).center
        call = 'write("x")' if position % 5 == 4 else f"click({center.x_px},{center.y_px})"
        task.write_text(f"Task: {step.instruction}\nOutput Script:\npyautogui.{call}\n", encoding="utf-8")
        left, top, right, bottom = xyxy(step)
        size = step.screenshot.size
        elements = {
            "0": {"label": "page", "top_left": [0, 0], "bottom_right": [size.width, size.height]},
            "1": {"label": "target", "top_left": [left, top], "bottom_right": [right, bottom], "valid": 1},
        }
        boxes = f"screen_{position}.json" if platform == "desktop" else f"screen{position}_boxes.json"
        write_json(folder / f"data/metadata/{platform}/boxes/app/{boxes}", elements)
        items[str(position)] = {
            "task": f"data/tasks/{platform}/app/task_{position}.1.txt",
            "image": f"data/data/{platform}/app/screen_{position}{image.suffix}",
            "box": f"data/metadata/{platform}/boxes/app/screen_{position}.json",
        }
    write_json(folder / "test.json", items)


def mind2web(folder: Path, steps: Sequence[Step]) -> None:
    """Episodes of three rows, written backwards; the last row of each has no drawn candidate."""
    import pyarrow
    import pyarrow.parquet

    rows: dict[str, list[dict[str, Any]]] = {"test_task": [], "test_website": []}
    for position, step in enumerate(steps):
        episode, index = divmod(position, 3)
        rect = "-1,-1,-1,-1" if index == 2 else ",".join(str(number) for number in xywh(step))
        attributes = json.dumps({"backend_node_id": "7", "bounding_box_rect": rect})
        rows[("test_task", "test_website")[episode % 2]].append(
            {
                "action_uid": f"uid-{position}",
                "raw_html": "<html>",
                "operation": json.dumps({"original_op": "CLICK", "value": "", "op": ("CLICK", "TYPE")[index % 2]}),
                "pos_candidates": [json.dumps({"tag": "a", "attributes": attributes})],
                "website": "shop",
                "domain": "Shopping",
                "annotation_id": f"task-{episode}",
                "confirmed_task": f"Buy {episode} things",
                "screenshot": {"bytes": Path(step.screenshot.path).read_bytes(), "path": None},
                "action_reprs": [f"[link] {episode}.{number} -> CLICK" for number in range(3)],
                "target_action_index": str(index),
            }
        )
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for split, listed in rows.items():
        table = pyarrow.Table.from_pylist(listed[::-1])
        pyarrow.parquet.write_table(table, folder / "data" / f"{split}-00000-of-00001-abc.parquet")


def androidcontrol(folder: Path, steps: Sequence[Step]) -> None:
    """Episodes of three steps: a click, a scroll, a click; the last episode is of the training split."""
    folder.mkdir(parents=True, exist_ok=True)
    episodes = [steps[start : start + 3] for start in range(0, len(steps), 3)]
    with gzip.open(folder / "android_control-00000-of-00020", "wb") as file:
        for number, listed in enumerate(episodes):
            file.write(record(episode(number, listed)))
    write_json(
        folder / "splits.json",
        {"train": [len(episodes) - 1], "validation": [], "test": list(range(len(episodes) - 1))},
    )
    write_json(folder / "test_subsplits.json", {"IDD": [0], "app_unseen": [0, 1], "task_unseen": []})


def episode(number: int, steps: Sequence[Step]) -> bytes:
    actions = []
    for index, step in enumerate(steps):
        center = box_of(step).center
        click = {"action_type": "click", "x": int(center.x_px), "y": int(center.y_px)}
        actions.append({"action_type": "scroll", "direction": "down"} if index == 1 else click)
    pictures = [Path(step.screenshot.path).read_bytes() for step in (*steps, steps[-1])]
    return example(
        {
            "episode_id": [number],
            "goal": [f"Do thing {number}".encode()],
            "screenshots": pictures,
            "accessibility_trees": [forest(step) for step in (*steps, steps[-1])],
            "screenshot_widths": [step.screenshot.size.width for step in (*steps, steps[-1])],
            "actions": [json.dumps(action).encode() for action in actions],
            "step_instructions": [step.instruction.encode() for step in steps],
        }
    )


def forest(step: Step) -> bytes:
    """A window with the whole screen, the target, and an invisible node inside the target."""
    left, top, right, bottom = (int(number) for number in xyxy(step))
    size = step.screenshot.size
    nodes = [
        node((-3, 0, size.width, size.height), visible=True),
        node((left, top, right, bottom), visible=True),
        node((left + 1, top + 1, right - 1, bottom - 1), visible=False),
    ]
    tree = b"".join(field(1, content) for content in nodes)
    return field(1, number_field(3, 1) + field(11, tree))


def node(edges: tuple[int, int, int, int], *, visible: bool) -> bytes:
    # Zero is not written, as in every proto3 message.
    bounds = b"".join(number_field(number, edge) for number, edge in enumerate(edges, start=1) if edge)
    return field(2, bounds) + field(3, b"android.widget.Button") + (number_field(23, 1) if visible else b"")


def record(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + b"\0" * 4 + content + b"\0" * 4


def example(features: dict[str, list[Any]]) -> bytes:
    entries = b""
    for name, values in features.items():
        if values and isinstance(values[0], bytes):
            feature = field(1, b"".join(field(1, value) for value in values))
        else:
            feature = field(3, field(1, b"".join(varint(value) for value in values)))
        entries += field(1, field(1, name.encode()) + field(2, feature))
    return field(1, entries)


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def mmbench_gui(folder: Path, steps: Sequence[Step]) -> None:
    """Boxes from 0 to 1, but for every fifth in pixels."""
    items = []
    for position, step in enumerate(steps):
        platform = ("os_windows", "os_web", "os_ios")[position % 3]
        size = step.screenshot.size
        items.append(
            {
                "index": position,
                "image_path": picture_into(folder / "offline_images" / platform, step),
                "instruction": step.instruction,
                "bbox": xyxy(step) if position % 5 == 4 else relative(step),
                "image_size": [size.width, size.height],
                "data_type": ui_type(position // 6),
                "platform": platform,
                "app_name": ("calendar", "mail")[position % 2],
                "grounding_type": ("basic", "advanced")[position // 3 % 2],
            }
        )
    write_json(folder / "L2_annotations.json", items)


def ui_vision(folder: Path, steps: Sequence[Step]) -> None:
    """Every fourth box has its corners the other way round."""
    for number, task in enumerate(("basic", "functional", "spatial")):
        items = []
        for position, step in enumerate(steps[number::3]):
            left, top, right, bottom = xyxy(step)
            size = step.screenshot.size
            items.append(
                {
                    "image_path": f"element_grounding/{picture_into(folder / 'images/element_grounding', step)}",
                    "image_size": [size.width, size.height],
                    "prompt_to_evaluate": step.instruction,
                    "bbox": [right, bottom, left, top] if position % 4 == 3 else [left, top, right, bottom],
                    "element_type": ui_type(position),
                    "platform": ("GIMP", "Anki")[position % 2],
                    "category": ("Creativity", "Education")[position % 2],
                }
            )
        write_json(folder / f"annotations/element_grounding/element_grounding_{task}.json", items)


def venusbench_gd(folder: Path, steps: Sequence[Step]) -> None:
    """Three of the six tasks; what the last asks for is not there."""
    for number, task in enumerate(("element_grounding", "spatial_grounding", "refusal_spatial")):
        items = []
        for position, step in enumerate(steps[number::3]):
            platform = ("web", "mobile", "desktop")[position % 3]
            items.append(
                {
                    "img_filename": f"{platform}/{picture_into(folder / 'images' / platform, step)}",
                    "instruction": step.instruction,
                    "instruction_zh": f"点击 {position}",
                    "bbox": [-1, -1, -1, -1] if task == "refusal_spatial" else xyxy(step),
                    "ui_type": ui_type(position),
                }
            )
        write_json(folder / f"instruction/{task}.json", items)


def in_parquet(folder: Path, items: Sequence[dict[str, Any]], steps: Sequence[Step], name: str) -> None:
    """Items with their pictures in one column, as the hub packs them."""
    import pyarrow
    import pyarrow.parquet

    rows = [
        {**item, "image": {"bytes": Path(step.screenshot.path).read_bytes(), "path": f"{number}.png"}}
        for number, (item, step) in enumerate(zip(items, steps, strict=True))
    ]
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for part in range(2):
        table = pyarrow.Table.from_pylist(rows[part::2])
        pyarrow.parquet.write_table(table, folder / f"data/{name}-0000{part}-of-00002.parquet")


def screenspot_parquet(folder: Path, steps: Sequence[Step], *, boxes: Any = relative, name: str = "file_name") -> None:
    items = [
        {
            name: f"{position}.png",
            "bbox": boxes(step),
            "instruction": step.instruction,
            "data_type": ui_type(position),
            "data_source": ("macos", "android", "gitlab")[position % 3],
        }
        for position, step in enumerate(steps)
    ]
    in_parquet(folder, items, steps, "test")


def screenspot_pro_parquet(folder: Path, steps: Sequence[Step]) -> None:
    items = [
        {
            "id": f"excel_macos_{position}",
            "img_filename": f"excel/{position}.png",
            "bbox": xyxy(step),
            "instruction": step.instruction,
            "application": "excel",
            "platform": "macos",
            "img_size": [step.screenshot.size.width, step.screenshot.size.height],
            "ui_type": ui_type(position),
            "group": "Office",
        }
        for position, step in enumerate(steps)
    ]
    in_parquet(folder, items, steps, "train")
