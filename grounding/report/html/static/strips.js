// A strip for each task, a cell for each of its steps.
const MOST_STRIPS = 2000;
function showStrips() {
  const one = run();
  const people = new Set(one.tasks.map((task) => task.participant)).size > 1;
  byId("h-strips").textContent = one.independent ? "Hits and misses" : "Where tasks die";
  // So many strips are laid out only where they are in sight.
  byId("strips").classList.toggle("many", one.tasks.length > 200);
  byId("strips").replaceChildren(...one.tasks.slice(0, MOST_STRIPS).map((task) => {
    const scored = task.steps.filter((at) => one.steps[at].outcome !== "none");
    const hits = scored.filter((at) => one.steps[at].outcome === "hit").length;
    const first = scored.findIndex((at) => WRONG.has(one.steps[at].outcome));
    const name = people ? `${task.participant} · ${task.name}` : task.name;
    const words = `${name}: ${hits} of ${scored.length} hits${first >= 0 ? `, first wrong step is number ${first + 1}` : ""}`;
    return el("div", { class: "task" }, [
      el("span", { class: "name", title: name }, name),
      el("span", { class: "share" }, `${hits}/${scored.length}`),
      el("div", { class: "cells", role: "img", "aria-label": words },
        task.steps.map((at) => el("i", { class: `cell ${one.steps[at].outcome}`, "data-at": at }))),
      beside() && el("div", { class: "cells second", role: "img", "aria-label": "the same steps in the second run" },
        task.steps.map((at) => el("i", { class: `cell ${(other(at) || { outcome: "none" }).outcome}`, "data-at": at }))),
    ]);
  }));
}
function markStrip() {
  for (const cell of document.querySelectorAll(".cell.chosen")) cell.classList.remove("chosen");
  const cell = byId("strips").querySelector(`[data-at="${state.chosen}"]`);
  if (cell) cell.classList.add("chosen");
}
