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
  const there = new Set(run().tallies.outcome.map(([name]) => name));
  byId("legend").replaceChildren(
    ...Object.keys(OUTCOMES).filter((name) => there.has(name)).map((name) => el("span", {}, [el("i", { class: `cell ${name}` }), OUTCOMES[name]])),
    el("span", {}, stripWords));
}
byId("strips").addEventListener("mouseover", (event) => {
  const at = event.target.dataset && event.target.dataset.at;
  if (at === undefined || event.target.title) return;
  const step = run().row(Number(at));
  const words = `${run().idOf(Number(at))} · ${OUTCOMES[run().outcome(Number(at))]}`;
  if (step) event.target.title = `${words}\n${step.instruction}`;
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
