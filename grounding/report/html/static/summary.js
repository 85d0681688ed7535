// The upper part of the page: figures, warnings, a strip for each task, diagrams.
const OUTCOMES = { hit: "hit", miss: "miss", unparsed: "reply without a point", error: "error", missing: "no answer",
  pending: "still to come", none: "no click made" };

function showHead() {
  const one = run();
  byId("title").textContent = page.title;
  byId("status").textContent = page.runs.map((each) => each.status === "started" ? "going on" : each.status).join(" · ");
  byId("runs").hidden = page.runs.length < 2;
  const options = (empty) => [empty && el("option", { value: -1 }, empty),
    page.runs.map((each, at) => el("option", { value: at }, `${at + 1}: ${each.name}`))];
  byId("run-a").replaceChildren(...[options("")].flat(9).filter(Boolean));
  byId("run-b").replaceChildren(...[options("none")].flat(9).filter(Boolean));
  byId("run-a").value = state.a;
  byId("run-b").value = state.b;
  const warnings = page.runs.flatMap((each, at) => each.warnings.map((text) => page.runs.length > 1 ? `run ${at + 1}: ${text}` : text));
  byId("warnings").replaceChildren(...warnings.map((text) => el("li", {}, text)));
  byId("summary").replaceChildren(el("div", { class: "tables" }, [one, beside()].filter(Boolean).map(table)));
}
function table(one) {
  const cells = (metric) => [el("th", { scope: "row" }, metric.name), el("td", { class: "num" }, metric.value),
    el("td", { class: "num" }, metric.count), el("td", { class: "num" }, metric.interval)];
  const facts = (list) => el("dl", { class: "facts" }, list.flatMap((fact) => [el("dt", {}, fact.name), el("dd", {}, fact.text)]));
  const first = new Set(["steps", "time", "cost", "intervals", "transcript"]);
  return el("div", {}, [
    page.runs.length > 1 && el("h3", {}, `${page.runs.indexOf(one) + 1}: ${one.name}`),
    el("table", {}, [
      el("thead", {}, el("tr", {}, ["score", "value", "k/n", "95 % interval"].map((name, at) => el("th", { scope: "col", class: at ? "num" : null }, name)))),
      el("tbody", {}, one.metrics.map((metric) => el("tr", {}, cells(metric)))),
    ]),
    facts([...one.facts.filter((fact) => first.has(fact.name)), ...(one.mark_facts || [])]),
    el("details", {}, [el("summary", {}, "signature, command, folder"), facts(one.facts.filter((fact) => !first.has(fact.name)))]),
  ]);
}
function showLegend() {
  const there = new Set(run().steps.map((step) => step.outcome));
  byId("legend").replaceChildren(
    ...Object.keys(OUTCOMES).filter((name) => there.has(name)).map((name) => el("span", {}, [el("i", { class: `cell ${name}` }), OUTCOMES[name]])),
    el("span", {}, "One cell a step, in order; choose one to see it."));
}
function showStrips() {
  const one = run();
  const people = new Set(one.tasks.map((task) => task.participant)).size > 1;
  byId("h-strips").textContent = one.independent ? "Hits and misses" : "Where tasks die";
  // So many strips are laid out only where they are in sight.
  byId("strips").classList.toggle("many", one.tasks.length > 200);
  byId("strips").replaceChildren(...one.tasks.map((task) => {
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
        task.steps.map((at) => el("i", { class: `cell ${(other(one.steps[at]) || { outcome: "none" }).outcome}`, "data-at": at }))),
    ]);
  }));
}
byId("strips").addEventListener("mouseover", (event) => {
  const at = event.target.dataset && event.target.dataset.at;
  if (at === undefined || event.target.title) return;
  const step = run().steps[at];
  event.target.title = `${step.id} · ${OUTCOMES[step.outcome]}\n${step.instruction}`;
});
byId("strips").addEventListener("click", (event) => {
  const at = event.target.dataset && event.target.dataset.at;
  if (at !== undefined) select(Number(at), { scroll: true });
});
function showPlots() {
  // The drawings were made by this package from numbers alone.
  const draw = (diagram) => {
    const found = new DOMParser().parseFromString(diagram.svg, "image/svg+xml").documentElement;
    put(found, { role: "img", "aria-label": `${diagram.title}. ${diagram.words}` });
    return el("figure", {}, [el("figcaption", {}, el("b", {}, diagram.title)), document.importNode(found, true), el("figcaption", {}, diagram.words)]);
  };
  const shown = run().diagrams;
  byId("plots").replaceChildren(...shown.map(draw));
  byId("plots").parentElement.hidden = !shown.length;
}
