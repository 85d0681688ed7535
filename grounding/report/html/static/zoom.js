// The large picture zooms by the wheel about the pointer, by a click, by keys and by buttons, and is moved by dragging.
const CLOSEST = 16, STEP = 1.6;
let zoomed = { by: () => {}, whole: () => {} };
// A wheel that is scrolling the page goes on doing so when a picture comes under the pointer.
let scrolledAt = -Infinity;
addEventListener("wheel", (event) => { if (!event.defaultPrevented) scrolledAt = event.timeStamp; }, { passive: true });

function zoomable(node, shot, rects) {
  let view = whole(shot), drag = null;
  const place = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(node.getScreenCTM().inverse());
  const middle = () => ({ x: view.x + view.width / 2, y: view.y + view.height / 2 });
  // From the whole picture keys and buttons lead to what is to be seen.
  const aim = () => {
    if (view.width < shot.width || !rects.length) return middle();
    const found = around(rects, shot, 1);
    return { x: found.x + found.width / 2, y: found.y + found.height / 2 };
  };
  const look = (x, y, width) => {
    const height = (width * shot.height) / shot.width;
    view = { x: clampTo(x, 0, shot.width - width), y: clampTo(y, 0, shot.height - height), width, height };
    node.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    // Marks keep their size on the page.
    for (const mark of node.querySelectorAll(".mark")) {
      const { x: left, y: top } = mark.dataset;
      mark.setAttribute("transform", `translate(${left} ${top}) scale(${width / shot.width}) translate(${-left} ${-top})`);
    }
    node.classList.toggle("zoomed", width < shot.width);
  };
  const by = (factor, at = aim()) => {
    const width = clampTo(view.width / factor, shot.width / CLOSEST, shot.width), rest = width / view.width;
    look(at.x - (at.x - view.x) * rest, at.y - (at.y - view.y) * rest, width);
  };
  node.addEventListener("wheel", (event) => {
    const scrolling = event.timeStamp - scrolledAt < 300 && !event.ctrlKey;
    if (scrolling || (event.deltaY > 0 && view.width >= shot.width) || !event.deltaY) return;
    event.preventDefault();
    by(1.002 ** clampTo(-event.deltaY * (event.deltaMode ? 30 : 1), -300, 300), place(event));
  }, { passive: false });
  node.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    drag = { x: event.clientX, y: event.clientY, left: view.x, top: view.y, moved: false };
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const right = event.clientX - drag.x, down = event.clientY - drag.y, pixel_ = 1 / node.getScreenCTM().a;
    drag.moved = drag.moved || Math.hypot(right, down) > 4;
    if (drag.moved) look(drag.left - right * pixel_, drag.top - down * pixel_, view.width);
  });
  node.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) by(event.shiftKey || event.altKey ? 1 / STEP : STEP, place(event));
    drag = null;
  });
  node.addEventListener("pointercancel", () => { drag = null; });
  node.addEventListener("keydown", (event) => {
    const [right, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] || [0, 0];
    if ((!right && !down) || view.width >= shot.width) return;
    event.preventDefault();
    look(view.x + right * view.width * 0.15, view.y + down * view.height * 0.15, view.width);
  });
  put(node, { tabindex: 0 });
  node.classList.add("zoom");
  zoomed = { by, whole: () => look(0, 0, shot.width) };
  return node;
}
function zoomButtons() {
  const button = (text, words, act) => el("button", { type: "button", title: words, "aria-label": words, onclick: act }, text);
  return [button("+", "zoom in (+)", () => zoomed.by(STEP)), button("−", "zoom out (-)", () => zoomed.by(1 / STEP)), button("⤢", "the whole picture (z)", () => zoomed.whole())];
}
