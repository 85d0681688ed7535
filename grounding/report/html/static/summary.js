// The upper part of the page: figures, warnings, a strip for each task, diagrams.
const OUTCOMES = { hit: "hit", miss: "miss", unparsed: "reply without a point", error: "error", missing: "no answer",
  pending: "still to come", none: "no click made" };
// What a page says, in the words of its benchmark.
const word = (name, usual) => (run().words && run().words[name]) || usual;
const outcomeWord = (outcome) => word(outcome, OUTCOMES[outcome]);

function showHead() {
  const one = run();
  byId("title").textContent = page.title;
  byId("status").textContent = [...new Set(page.runs.map((each) => each.status.replace(/^started/, "going on")))].join(" · ");
  byId("runs").hidden = page.runs.length < 2;
  const options = (empty) => [empty && el("option", { value: -1 }, empty),
    page.runs.map((each, at) => el("option", { value: at }, `${at + 1}: ${each.name}`))];
  byId("run-a").replaceChildren(...[options("")].flat(9).filter(Boolean));
  byId("run-b").replaceChildren(...[options("none")].flat(9).filter(Boolean));
  byId("run-a").value = state.a;
  byId("run-b").value = state.b;
  // Of a run at work the bar below says how far it is.
  const atWork = !byId("live").hidden, said = (text) => !atWork || !/^the run is (going on|partial)/.test(text);
  const warnings = page.runs.flatMap((each, at) => each.warnings.filter(said).map((text) => page.runs.length > 1 ? `run ${at + 1}: ${text}` : text));
  byId("warnings").replaceChildren(...warnings.map((text) => el("li", {}, text)));
  byId("summary").replaceChildren(el("div", { class: "tables" }, [one, beside()].filter(Boolean).map(table)), ...(page.paired || []).map((found) => showTable(found, true)));
}
function table(one) {
  const cells = (metric) => [el("th", { scope: "row" }, metric.name), el("td", { class: "num" }, metric.value),
    el("td", { class: "num" }, metric.count), el("td", { class: "num" }, metric.interval)];
  const facts = (list) => el("dl", { class: "facts" }, list.flatMap((fact) => [el("dt", {}, fact.name), el("dd", {}, fact.text)]));
  const later = new Set(["tokens", "", "started", "command", "signature", "folder"]);
  const first = new Set(one.facts.map((fact) => fact.name).filter((name) => !later.has(name)));
  return el("div", {}, [
    page.runs.length > 1 && el("h3", {}, `${page.runs.indexOf(one) + 1}: ${one.name}`),
    el("table", {}, [
      el("thead", {}, el("tr", {}, ["score", "value", "k/n", "95 % interval"].map((name, at) => el("th", { scope: "col", class: at ? "num" : null }, name)))),
      el("tbody", {}, one.metrics.map((metric) => el("tr", {}, cells(metric)))),
    ]),
    (one.tables || []).map((found) => showTable(found)),
    facts([...one.facts.filter((fact) => first.has(fact.name)), ...(one.mark_facts || [])]),
    el("details", {}, [el("summary", {}, "signature, command, folder"), facts(one.facts.filter((fact) => !first.has(fact.name)))]),
  ]);
}
// The list below shows the steps that were chosen; chosen again, all others, too. null where that filters nothing.
function groupFilter(kind, group) {
  const one = run();
  if (!one.tallies) return null;  // Not before the steps are unpacked.
  const own = kind === "participant" ? ["participant", group.slice(kind.length + 2)] : [`group:${kind}`, group];
  return one.tallies[kind === "participant" ? kind : "group"].some(([found]) => found === own[1]) ? own : null;
}
function showOnly([name, value]) {
  setPart(name, filterOf(name) === value ? "" : value);
  showFilters();
  refilter();
  byId("gallery").scrollIntoView();
}
function groupButton(kind, name) {
  const own = groupFilter(kind, `${kind}: ${name}`);
  return own ? el("button", { type: "button", class: "group", onclick: () => showOnly(own) }, name) : name;
}
function showTable(found, open = false) {
  return el("details", { open }, [el("summary", {}, found.title), el("table", {}, [
    el("thead", {}, el("tr", {}, found.heads.map((name, at) => el("th", { scope: "col", class: at ? "num" : null }, name)))),
    el("tbody", {}, found.rows.map(([name, ...cells]) => el("tr", {}, [el("th", { scope: "row" }, found.group ? groupButton(found.group, name) : name), cells.map((cell) => el("td", { class: "num" }, cell))]))),
  ]), found.note && el("p", { class: "muted" }, found.note)]);
}
function showLegend() {
  const there = new Set(run().tallies.outcome.map(([name]) => name));
  byId("legend").replaceChildren(
    ...Object.keys(OUTCOMES).filter((name) => there.has(name)).map((name) => el("span", {}, [el("i", { class: `cell ${name}` }), outcomeWord(name)])),
    el("span", {}, `One cell a step, in order; choose one to see it.${run().tasks.length > MOST_STRIPS ? ` The first ${number(MOST_STRIPS)} of ${number(run().tasks.length)} tasks.` : ""}`));
}
byId("strips").addEventListener("mouseover", (event) => {
  const at = event.target.dataset && event.target.dataset.at;
  if (at === undefined || event.target.title) return;
  const step = run().row(Number(at));
  const words = `${run().idOf(Number(at))} · ${outcomeWord(run().outcome(Number(at)))}`;
  if (step) event.target.title = `${words}\n${step.instruction}`;
});
byId("strips").addEventListener("click", (event) => {
  const at = event.target.dataset && event.target.dataset.at;
  if (at !== undefined) select(Number(at), { scroll: true });
});
function partFilter(part) {
  if (part.group) return groupFilter(part.group.slice(0, part.group.indexOf(": ")), part.group);
  if (!part.off || !run().hasDistance) return null;
  const [low, high] = part.off;
  return high === 0 ? null : ["off", `${low}-${high ?? ""}`];
}
function showPlots() {
  // The drawings were made by this package from numbers alone.
  const draw = (diagram) => {
    const found = document.importNode(new DOMParser().parseFromString(diagram.svg, "image/svg+xml").documentElement, true);
    const act = (node) => showOnly(node.own), parts = [];
    for (const node of found.querySelectorAll("[data-part]")) {
      const part = diagram.parts[Number(node.dataset.part)];
      node.own = partFilter(part);
      if (!node.own) continue;
      parts.push(put(node, { class: "part", "aria-label": `show ${part.name}` }, svg("title", {}, `${part.name}: show these steps`)));
      node.addEventListener("click", () => act(node));
    }
    put(found, { role: parts.length ? "group" : "img", "aria-label": `${diagram.title}. ${diagram.words}` });
    roving(found, parts, act);
    return el("figure", {}, [el("figcaption", {}, el("b", {}, diagram.title)), found, el("figcaption", {}, diagram.words)]);
  };
  // Of two runs beside each other neither's diagrams say how they differ.
  const shown = beside() ? [] : run().diagrams;
  byId("plots").replaceChildren(...shown.map(draw));
  byId("plots").parentElement.hidden = !shown.length;
}
