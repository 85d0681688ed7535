// A strip for each of very many tasks: only those in sight exist.
const stripWords = "One cell a step, in order; in a task too long for its line a cell stands for several, as high as its share of hits. Choose one to see it.";
const stripRows = el("div", { class: "strip-rows" });
byId("strips").classList.add("tall");
byId("strips").replaceChildren(stripRows);
const strips_ = new Tall(byId("strips"), stripRows, (number) => drawStrip(number));
let stripPeople = false, stripCells = 60;

function showStrips() {
  const one = run();
  stripPeople = one.names.participants.length > 1;
  byId("h-strips").textContent = one.independent ? "Hits and misses" : "Where tasks die";
  measureStrips();
}
function measureStrips() {
  const room = narrow() ? stripRows.clientWidth : 0.66 * stripRows.clientWidth - 120;
  stripCells = Math.max(8, Math.floor(room / 15));
  strips_.fill(run().names.tasks.length, (narrow() ? 46 : 26) + (beside() ? 30 : 0));
}
let stripWidth = 0;
new ResizeObserver(() => {
  if (stripRows.clientWidth === stripWidth) return;
  stripWidth = stripRows.clientWidth;
  if (state.ready) measureStrips();
}).observe(stripRows);

function drawStrip(number_) {
  const one = run(), steps = one.stepsOfTask(number_), scored = steps.filter((at) => one.outcome(at) !== "none");
  let hits = 0, first = -1;
  scored.forEach((at, place) => {
    if (one.outcome(at) === "hit") hits += 1;
    if (first < 0 && WRONG.has(one.outcome(at))) first = place;
  });
  const task = one.names.tasks[number_];
  const name = stripPeople ? `${one.participant(steps[0])} · ${task}` : task;
  const words = `${name}: ${number(hits)} of ${number(scored.length)} hits${first >= 0 ? `, first wrong step is number ${number(first + 1)}` : ""}`;
  const second = beside();
  return el("div", { class: "task", style: `height:${strips_.rowPx}px` }, [
    el("span", { class: "name", title: name }, name),
    el("span", { class: "share" }, `${number(hits)}/${number(scored.length)}`),
    el("div", { class: "cells", role: "img", "aria-label": words }, stripCellsOf(steps, (at) => one.outcome(at))),
    second && el("div", { class: "cells second", role: "img", "aria-label": "the same steps in the second run" },
      stripCellsOf(steps, (at) => { const there = otherAt(at); return there < 0 ? "none" : second.outcome(there); })),
  ]);
}
function stripCellsOf(steps, outcome) {
  const each = Math.ceil(steps.length / stripCells), cells = [];
  if (each <= 1) return [...steps].map((at) => el("i", { class: `cell ${outcome(at)}`, "data-at": at }));
  for (let from = 0; from < steps.length; from += each) {
    const part = [...steps.subarray(from, from + each)].filter((at) => outcome(at) !== "none");
    if (!part.length) { cells.push(el("i", { class: "cell none", "data-at": steps[from] })); continue; }
    const hits = part.filter((at) => outcome(at) === "hit").length, wrong = part.find((at) => WRONG.has(outcome(at)));
    cells.push(el("i", { class: `cell ${hits === part.length ? "hit" : "miss"}`, "data-at": wrong === undefined ? part[0] : wrong,
      style: `height:${5 + Math.round((13 * hits) / part.length)}px`, title: `${number(hits)} of ${number(part.length)} hits` }));
  }
  return cells;
}
strips_.shown = markStrip;
function markStrip() {
  for (const cell of stripRows.querySelectorAll(".cell.chosen")) cell.classList.remove("chosen");
  const cell = stripRows.querySelector(`[data-at="${state.chosen}"]`);
  if (cell) cell.classList.add("chosen");
}
