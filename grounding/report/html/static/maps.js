// Where wrong clicks went: on one screenshot that several steps share, and of all steps in the list together.
const MOST_DOTS = 4000, RINGS_PX = [10, 100, 1000];
// Of many things in a drawing one can be reached by Tab, the others from there by the arrow keys.
function roving(drawing, items, act) {
  const go = (item) => { for (const each of items) each.setAttribute("tabindex", each === item ? 0 : -1); item.focus({ preventScroll: true }); };
  items.forEach((item, place) => put(item, { role: "button", tabindex: place ? -1 : 0 }));
  drawing.addEventListener("keydown", (event) => {
    const place = items.indexOf(event.target);
    if (place < 0) return;
    const next = { ArrowLeft: place - 1, ArrowUp: place - 1, ArrowRight: place + 1, ArrowDown: place + 1 }[event.key];
    if (next !== undefined) { event.preventDefault(); event.stopPropagation(); if (items[next]) go(items[next]); }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(event.target); }
  });
}
const hasGone = (at) => { const step = run().row(at); return WRONG.has(step.outcome) && step.click ? step : null; };
const stepWords = (at, step) => `step ${run().idOf(at)}${step.distance ? `, ${offText(step)}` : ""}: ${step.instruction}`;

// All steps on the screenshot of a step, drawn when it is asked for.
function sharedMap(at) {
  const one = run();
  if (!one.shotOf(at)) return "";
  one.onShot = one.onShot || Map.groupBy(one.steps.keys(), (each) => one.steps[each].shot);
  const all = one.onShot.get(one.steps[at].shot).filter((each) => one.outcome(each) !== "none"), wrong = all.filter(hasGone);
  if (all.length < 2) return "";
  const words = `${all.length} steps on this screenshot, ${wrong.length} wrong ${wrong.length === 1 ? "click" : "clicks"}`;
  const draw = () => {
    const shot = one.shotOf(at), radius = (7 * shot.width) / Math.max(200, byId("detail").clientWidth - 34);
    const node = picture({ ...shot }, {}, null, whole(shot), { label: `${words}, over where each step was right` });
    const marks = wrong.map((each) => {
      const step = one.row(each), near = nearest(step, step.click), to = seen(step.click, shot);
      return svg("g", { class: each === at ? "going own" : "going", "data-at": each, "aria-label": stepWords(each, step) }, [svg("title", {}, stepWords(each, step)),
        near && svg("line", { x1: near.x, y1: near.y, x2: to.x, y2: to.y, class: "gap" }), svg("circle", { cx: to.x, cy: to.y, r: radius, class: "dot" })]);
    });
    node.append(...all.flatMap((each) => shapes(one.row(each).gold)), ...marks);
    put(node, { role: "group" });
    const act = (mark) => select(Number(mark.dataset.at), { scroll: "detail" });
    node.addEventListener("click", (event) => { const mark = event.target.closest("[data-at]"); if (mark) act(mark); });
    roving(node, marks, act);
    return node;
  };
  return el("details", { ontoggle: (event) => { const part = event.target; if (part.open && part.children.length < 2) part.append(draw()); } }, el("summary", {}, words));
}

// Every wrong click of the listed steps, as the screen has it and as it lies to the region.
function showMaps() {
  for (const old of document.querySelectorAll("#plots .map")) old.remove();
  const gone = beside() ? [] : state.shown.filter(hasGone), drawn = gone.slice(0, MOST_DOTS);
  if (!drawn.length) return;
  const shot = run().shotOf(drawn[0]), tall = (1000 * shot.height) / shot.width;
  const boxes = [], screen = [], rose = [], reach = Math.log10(1 + RINGS_PX[2]);
  for (const at of drawn) {
    const step = run().row(at), { width, height } = run().shotOf(at), near = nearest(step, step.click), to = seen(step.click, { width, height });
    const x = (px) => (1000 * px) / width, y = (px) => (tall * px) / height, words = stepWords(at, step);
    for (const rect of bounds(step.gold)) boxes.push(svg("rect", { class: "region", x: x(rect.left), y: y(rect.top), width: x(rect.right - rect.left), height: y(rect.bottom - rect.top) }));
    const dot = (cx, cy) => svg("circle", { class: "dot", cx: cx.toFixed(1), cy: cy.toFixed(1), r: 7, "data-at": at, "aria-label": words }, svg("title", {}, words));
    screen.push(dot(x(to.x), y(to.y)));
    if (!near || !near.off) continue;
    // The way from the middle of the region, as far as the click is from its edge.
    const right = step.click.x_px - (near.rect.left + near.rect.right) / 2, down = step.click.y_px - (near.rect.top + near.rect.bottom) / 2;
    const far = Math.min(1.02, Math.log10(1 + near.off) / reach) * 480 / (Math.hypot(right, down) || 1);
    rose.push(dot(500 + right * far, 500 + down * far));
  }
  const rings = RINGS_PX.map((px) => (480 * Math.log10(1 + px)) / reach);
  const map = (title, words, box, behind, dots) => {
    const node = svg("svg", { viewBox: box, role: "group", "aria-label": `${title}. ${words}` }, [behind, dots]);
    const act = (dot) => select(Number(dot.dataset.at), { scroll: true });
    node.addEventListener("click", (event) => { if (event.target.dataset.at) act(event.target); });
    roving(node, dots, act);
    return el("figure", { class: "map" }, [el("figcaption", {}, el("b", {}, title)), node, el("figcaption", {}, words)]);
  };
  const more = `${gone.length > drawn.length ? `The first ${number(drawn.length)} of ` : ""}${number(gone.length)} of the listed steps; choose one to see it.`;
  byId("plots").append(map("Wrong clicks on the screen", `Dots over where these clicks were right, all screens at one size. ${more}`, `-8 -8 1016 ${tall + 16}`,
    [svg("rect", { class: "ring", width: 1000, height: tall }), boxes], screen));
  if (rose.length) byId("plots").append(map("Wrong clicks as seen from the region", `The middle is the edge of what was right; rings at ${RINGS_PX.join(", ")} px from it. ${more}`, "-8 -8 1016 1016",
    [rings.map((r) => svg("circle", { class: "ring", cx: 500, cy: 500, r })), svg("path", { class: "ring", d: "M490,500H510M500,490V510" }),
      RINGS_PX.map((px, at) => svg("text", { x: 504, y: 496 - rings[at] + (at === 2 ? 34 : 0) }, `${px} px`))], rose));
}
