// Screenshots with what was right and where the click went, in pixels of the original.
function shapes(gold) {
  const found = [];
  for (const box of (gold && gold.boxes) || []) {
    const at = { x: box.left_px, y: box.top_px, width: box.right_px - box.left_px, height: box.bottom_px - box.top_px };
    found.push(svg("rect", { ...at, class: "halo" }), svg("rect", { ...at, class: "gold" }));
  }
  for (const polygon of (gold && gold.polygons) || []) {
    const points = polygon.points.map((point) => `${point.x_px},${point.y_px}`).join(" ");
    found.push(svg("polygon", { points, class: "halo" }), svg("polygon", { points, class: "gold" }));
  }
  return found;
}
function bounds(gold) {
  const xs = [], ys = [], rects = [];
  const add = (left, top, right, bottom) => rects.push({ left, top, right, bottom });
  for (const box of (gold && gold.boxes) || []) add(box.left_px, box.top_px, box.right_px, box.bottom_px);
  for (const polygon of (gold && gold.polygons) || []) {
    xs.length = ys.length = 0;
    for (const point of polygon.points) { xs.push(point.x_px); ys.push(point.y_px); }
    add(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys));
  }
  return rects;
}
const clampTo = (value, low, high) => Math.min(high, Math.max(low, value));
const within = (click, shot) => click && click.x_px >= 0 && click.y_px >= 0 && click.x_px <= shot.width && click.y_px <= shot.height;
// A click beyond the screenshot is drawn at its edge, where one can see it.
const seen = (click, shot) => ({ x: clampTo(click.x_px, 0, shot.width), y: clampTo(click.y_px, 0, shot.height) });

// What an answer is measured against: the recorded points, else the region.
const spot = (point) => ({ left: point.x_px, right: point.x_px, top: point.y_px, bottom: point.y_px });
const targets = (step) => ((step.recorded || []).length ? step.recorded.slice(0, 1).map(spot) : bounds(step.gold));
function nearest(step, click) {
  let best = null;
  for (const rect of targets(step)) {
    const x = clampTo(click.x_px, rect.left, rect.right), y = clampTo(click.y_px, rect.top, rect.bottom);
    const off = Math.hypot(click.x_px - x, click.y_px - y);
    if (!best || off < best.off) best = { x, y, off, rect };
  }
  return best;
}
function marker(click, shot, r, extra) {
  const { x, y } = seen(click, shot);
  const cross = `M${x - 1.7 * r},${y}H${x - 0.4 * r}M${x + 0.4 * r},${y}H${x + 1.7 * r}M${x},${y - 1.7 * r}V${y - 0.4 * r}M${x},${y + 0.4 * r}V${y + 1.7 * r}`;
  return svg("g", { class: "mark", "data-x": x, "data-y": y }, [
    svg("circle", { cx: x, cy: y, r, class: "halo" }), svg("path", { d: cross, class: "halo" }),
    svg("circle", { cx: x, cy: y, r, class: `click ${extra}` }), svg("path", { d: cross, class: `click ${extra}` }),
  ]);
}
// Points in order, and the way between them, as of a drag.
function trail(points, shot, r, extra, from) {
  if (!points || !points.length) return "";
  const way = (from ? [from, ...points] : points).map((point) => { const { x, y } = seen(point, shot); return `${x},${y}`; });
  return [way.length > 1 && [svg("polyline", { points: way.join(" "), class: "halo" }), svg("polyline", { points: way.join(" "), class: `click ${extra}` })],
    points.map((point) => marker(point, shot, r, extra))];
}
// The crops that a grounder looked at after its first answer, and the answers before the last.
function looks(step, shot, r) {
  const seen_ = step.looks || [];
  return [seen_.filter((look) => look.crop).map(({ crop }) => {
    const at = { x: crop.left_px, y: crop.top_px, width: crop.right_px - crop.left_px, height: crop.bottom_px - crop.top_px };
    return [svg("rect", { ...at, class: "halo" }), svg("rect", { ...at, class: "look" })];
  }), seen_.slice(0, -1).filter((look) => look.click).map((look) => marker(look.click, shot, 0.7 * r, "earlier"))];
}
// view: {x, y, width, height}; small: the small picture, where there is one; wide: about how many pixels of the page it takes.
function picture(shot, step, two, view, options = {}) {
  if (!shot) return "";
  const size = { x: 0, y: 0, width: shot.width, height: shot.height, preserveAspectRatio: "none" };
  // The mark is of one size on the page, however far the picture is zoomed.
  const radius = ((options.small ? 4 : 9) * view.width) / (options.wide || 96);
  const clicks = [[step.click, ""], [two && two.click, "b"]].filter(([click]) => click);
  const lines = options.small ? [] : clicks.map(([click, extra]) => {
    const near = nearest(step, click);
    if (!near || !near.off) return null;
    const at = seen(click, shot);
    return svg("line", { x1: at.x, y1: at.y, x2: near.x, y2: near.y, class: `gap ${extra}` });
  });
  const images = [];
  if (shot.thumb) images.push(svg("image", { ...size, href: shot.thumb }));
  if (shot.full && !(options.small && shot.thumb)) {
    const full = svg("image", { ...size, href: shot.full });
    full.addEventListener("error", () => { full.remove(); if (options.lost) options.lost(); });
    images.push(full);
  }
  return svg("svg", {
    viewBox: `${view.x} ${view.y} ${view.width} ${view.height}`, class: options.small ? null : "picture", role: "img",
    preserveAspectRatio: "xMidYMid meet", "aria-label": options.label || "screenshot",
  }, [images, options.small ? "" : looks(step, shot, radius), shapes(step.gold), trail(step.recorded, shot, radius, "recorded"), trail((step.points || []).slice(1), shot, radius, "", step.click),
    two && trail((two.points || []).slice(1), shot, radius, "b", two.click), lines, clicks.map(([click, extra]) => marker(click, shot, radius, extra))]);
}
const whole = (shot) => shot && ({ x: 0, y: 0, width: shot.width, height: shot.height });

function around(rects, shot, least) {
  let left = Math.min(...rects.map((r) => r.left)), right = Math.max(...rects.map((r) => r.right));
  let top = Math.min(...rects.map((r) => r.top)), bottom = Math.max(...rects.map((r) => r.bottom));
  const margin = Math.max(24, 0.12 * Math.max(right - left, bottom - top));
  let width = Math.max(least, right - left + 2 * margin), height = Math.max(least * 0.6, bottom - top + 2 * margin);
  if (width / height > 2.2) height = width / 2.2;
  if (height / width > 1) width = height;
  width = Math.min(width, shot.width); height = Math.min(height, shot.height);
  const x = clampTo((left + right) / 2 - width / 2, 0, shot.width - width);
  const y = clampTo((top + bottom) / 2 - height / 2, 0, shot.height - height);
  return { x, y, width, height };
}
// One crop where gold and click are near each other, else one around each.
function crops(shot, step, two) {
  if (!shot) return [];
  const least = Math.max(220, shot.width / 6), gold = (step.recorded || []).length ? word("recorded", "gold") : "gold";
  const point = (click) => { const { x, y } = seen(click, shot); return { left: x, right: x, top: y, bottom: y }; };
  const clicks = [[step.click, `at ${two ? "the first run's" : "the"} ${word("click", "click")}`], [two && two.click, `at the second run's ${word("click", "click")}`]]
    .filter(([click]) => click);
  const golds = clicks.length ? clicks.map(([click]) => nearest(step, click)).filter(Boolean).map((near) => near.rect) : targets(step).slice(0, 1);
  const all = [...golds, ...clicks.map(([click]) => point(click))];
  if (!all.length) return [];
  const joint = around(all, shot, least);
  if (joint.width * joint.height < 0.3 * shot.width * shot.height || !golds.length || !clicks.length) {
    return [{ view: joint, words: golds.length && clicks.length ? `around ${gold} and ${word("click", "click")}` : golds.length ? `around ${gold}` : `around the ${word("click", "click")}` }];
  }
  return [{ view: around(golds.slice(0, 1), shot, least), words: `at ${(step.recorded || []).length ? gold : "the gold region"}` },
    ...clicks.map(([click, words]) => ({ view: around([point(click)], shot, least), words }))];
}
