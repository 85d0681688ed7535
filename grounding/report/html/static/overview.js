// The page over several runs: what is above the table, the table, and the following of runs that go on.
const { STATES, whole, known, doneOf, dollars, perSecond, span, atTime, share, interval, scoreText, setIfNew } = live;
let page = JSON.parse(byId("data").textContent);
const chosen = { state: "", find: "", dataset: "", model: "", scoring: "", sort: "", up: true, columns: new Set(), ticked: new Set() };
// What the runs' first metric is called; where they have different ones each says its own.
const scoreName = (runs = page.runs) => { const names = new Set(runs.filter((run) => run.score).map((run) => run.score.name)); return names.size === 1 ? [...names][0] : "score"; };
const there = () => Object.keys(STATES).filter((name) => page.runs.some((run) => run.state === name));

function headline() {
  if (page.writer === "at work") return page.is_live ? "runs are at work" : "runs were at work when this page was made";
  if (page.writer === "gone") return "broken off";
  return page.runs.every((run) => run.state === "complete") ? "all runs are complete" : "nothing is at work";
}
function showHead() {
  byId("title").textContent = `${page.title} · ${page.runs.length === 1 ? "1 run" : `${whole(page.runs.length)} runs`}`;
  const status = page.is_live ? headline() : `${headline()} · ${atTime(new Date(page.taken_at))}`;
  // Only news is read out.
  if (byId("status").textContent !== status) byId("status").textContent = status;
  const all = live.sums(page.runs);
  document.title = `${page.writer === "at work" && all.steps ? `${Math.floor((100 * all.done) / all.steps)} % ` : ""}${page.title}`;
  const gone = page.writer === "gone" && el("li", {}, ["The command that these runs belong to is no longer at work. What was answered is kept: the same command goes on from here. ",
    page.command && el("code", {}, page.command)]);
  const failed = page.runs.filter((run) => run.state === "failed").length;
  setIfNew("warnings", [gone, failed && el("li", {}, failed === 1 ? "A run failed: its reason stands in the table." : `${failed} runs failed: their reasons stand in the table.`),
    (page.warnings || []).map((text) => el("li", {}, text))]);
}
function showServers() {
  const names = [...new Set(page.runs.map((run) => run.server).filter(Boolean))];
  byId("servers-part").hidden = !names.length;
  setIfNew("servers", names.map((name) => {
    const runs = page.runs.filter((run) => run.server === name), all = live.sums(runs);
    const items = live.itemsOf(runs);
    return el("div", { class: "server" }, [el("b", {}, name), all.steps ? live.plainBar(all.done / all.steps) : null,
      el("div", { class: "more muted" }, [live.stateWords(runs), all.steps ? `${whole(all.done)} / ${whole(all.steps)} ${items}` : "", perSecond(all.rate, items)].filter(Boolean).join(" · "))]);
  }));
}
// Planners down, grounders across, on one data set; none where there is one of each, or far too many.
function showMatrix() {
  const among = page.runs.filter((run) => !chosen.dataset || run.dataset === chosen.dataset);
  const planners = [...new Set(among.map((run) => run.planner).filter(Boolean))], grounders = [...new Set(among.map((run) => run.grounder).filter(Boolean))];
  const hidden = planners.length * grounders.length < 2 || Math.max(planners.length, grounders.length) > 60 || new Set(among.map((run) => run.dataset).filter(Boolean)).size > 1;
  byId("matrix-part").hidden = hidden;
  if (hidden) return;
  const named = scoreName(among.filter((run) => run.planner));
  byId("h-matrix").textContent = `${named[0].toUpperCase()}${named.slice(1)} by planner and grounder`;
  const values = among.filter((run) => run.planner && run.score).map((run) => run.score.value), low = Math.min(...values), high = Math.max(...values);
  const cell = (planner, grounder) => {
    const runs = among.filter((run) => run.planner === planner && run.grounder === grounder), scored = runs.filter((run) => run.score);
    if (!runs.length) return el("td", { class: "none", title: "there is no such run" }, "–");
    if (!scored.length) return el("td", { class: "none" }, STATES[runs[0].state]);
    const best = Math.max(...scored.map((run) => run.score.value));
    const node = el("td", { title: scored.map((run) => `${run.name}: ${scoreText(run.score)} ${interval(run.score)}`).join("\n") }, [
      scored.slice(0, 4).map((run) => el("div", { class: run.score.is_final ? null : "so-far" }, [
        run.link ? el("a", { href: run.link }, run.score.value.toFixed(1)) : run.score.value.toFixed(1), run.score.is_final ? "" : " …"])),
      scored.length > 4 && el("div", { class: "so-far" }, `and ${scored.length - 4} more`)]);
    if (high > low) node.style.background = `rgb(var(--heat) / ${(4 + 17 * ((best - low) / (high - low))).toFixed(0)}%)`;
    return node;
  };
  setIfNew("matrix", [
    el("thead", {}, el("tr", {}, [el("th", { scope: "col" }, "planner \\ grounder"), grounders.map((name) => el("th", { scope: "col" }, name))])),
    el("tbody", {}, planners.map((planner) => el("tr", {}, [el("th", { scope: "row" }, planner), grounders.map((grounder) => cell(planner, grounder))]))),
  ]);
  const open = among.some((run) => run.score && !run.score.is_final);
  byId("matrix-words").textContent = `Per cent of steps; the stronger the colour, the better.${open ? " Figures with … are of the steps so far, which need not be like those to come." : ""}`;
}

const cachedPlans = (count) => `${whole(count)} ${count === 1 ? "plan" : "plans"} cached`;
const sub = (...words) => { const said = words.filter(Boolean).join(" · "); return said && el("div", { class: "sub" }, said); };
// The signature by its keys, without hashes: what a run was asked, in a word each.
const partsOf = (run) => run.parts || (run.parts = Object.fromEntries((run.signature || "").split("|").filter(Boolean).map((part) => [part.slice(0, part.indexOf(":")), part.slice(part.indexOf(":") + 1).replace(/@.*$/, "")])));
const modelsOf = (run) => ["planner", "grounder", "agent", "model"].map((key) => partsOf(run)[key]).filter((name) => name && name !== "none");
const failuresOf = (run) => [(run.counts.miss || 0) + (run.counts.unparsed || 0) + (run.counts.missing || 0) + (run.counts.wrong || 0), run.counts.error || 0];
const scored = (score, name) => score && [el("div", {}, scoreText(score)), sub(`${interval(score)}${score.is_final ? "" : " so far"}`, name && score.name)];
// A column: its heading, its kind, what a cell shows, and what it is sorted by.
const DATASET = ["data set", "dataset", (run) => run.dataset || "–", (run) => run.dataset || ""];
const BEFORE = [
  ["run", "name", (run) => [run.link ? el("a", { href: run.link }, run.name) : el("b", {}, run.name),
    run.server && !run.name.includes(run.server) && sub(`server ${run.server}`),
    run.problem && el("div", { class: "problem", tabindex: run.problem.length > 300 ? 0 : null }, run.problem)], (run) => run.name],
  ["state", "state-cell", (run) => [el("span", { class: `state ${run.state}` }, STATES[run.state]), run.cached && sub(cachedPlans(run.cached))], (run) => String(Object.keys(STATES).indexOf(run.state))],
  ["progress", "progress", (run) => {
    const done = doneOf(run), open = done && done < run.steps;
    const words = !run.steps ? `${whole(done)} ${run.items}` : open ? `${whole(done)} of ${whole(run.steps)} · ${share(done, run.steps)}` : `${done ? "all " : ""}${whole(run.steps)} ${run.items}`;
    return [live.outcomeBar(run.counts, run.steps, `progress of ${run.name}`, run.items), sub(words, run.doing)];
  }, (run) => (run.steps ? doneOf(run) / run.steps : -1)],
];
const AFTER = [
  ["failures", "num", (run) => {
    const [wrong, error] = failuresOf(run);
    return (error || wrong) && [wrong ? el("div", {}, run.link ? el("a", { href: `${run.link}#outcome=wrong`, title: "look at what went wrong, and label it" }, `${whole(wrong)} wrong`) : `${whole(wrong)} wrong`) : null,
      error ? el("div", { class: "has-errors" }, `${whole(error)} error${error > 1 ? "s" : ""}`) : null, run.counts.unparsed && sub(`${whole(run.counts.unparsed)} unparsed`)];
  }, (run) => failuresOf(run)[1] * 1e9 + failuresOf(run)[0]],
  ["time", "num", (run) => {
    if (run.state !== "running") return run.wall_s ? [el("div", {}, span(run.wall_s)), run.state === "complete" && sub(perSecond(doneOf(run) / run.wall_s, run.items))] : null;
    if (known(run.waiting_s)) return el("div", {}, `waiting for the server, ${span(run.waiting_s)}`);
    return run.rate_per_s && [run.steps > doneOf(run) && el("div", {}, `${span((run.steps - doneOf(run)) / run.rate_per_s)} left`), sub(perSecond(run.rate_per_s, run.items))];
  }, (run) => run.wall_s || 0],
  ["money", "num", (run) => [known(run.spent_usd) && el("div", {}, dollars(run.spent_usd)), run.unreported_usd && sub(`+ up to ${dollars(run.unreported_usd)}`)], (run) => run.spent_usd || 0],
];
// Each metric has a column where all these runs have the same ones; else each run says its first.
function scoreColumns(runs) {
  const names = new Set(runs.filter((run) => run.scores && run.scores.length).map((run) => run.scores.map((score) => score.name).join("|")));
  const first = (run) => (run.score ? run.score.value : -Infinity);
  if (names.size !== 1) return runs.some((run) => run.score) ? [[scoreName(runs), "num", (run) => scored(run.score, scoreName(runs) === "score"), first]] : [];
  const find = (run, name) => (run.scores || []).find((score) => score.name === name) || (run.score && run.score.name === name ? run.score : null);
  return [...names][0].split("|").map((name) => [name, "num", (run) => scored(find(run, name)), (run) => { const found = find(run, name); return found ? found.value : -Infinity; }]);
}
const OWN = new Set(["dataset", "planner", "grounder", "agent", "model", "version"]);
const partColumn = (key) => [key, "part", (run) => partsOf(run)[key] || "–", (run) => partsOf(run)[key] || ""];
const rows = new Map();
let shownColumns = "", body = null;

function listed() {
  const words = chosen.find.toLowerCase().split(/\s+/);
  return page.runs.filter((run) => (!chosen.state || run.state === chosen.state) && (!chosen.dataset || run.dataset === chosen.dataset)
    && (!chosen.model || modelsOf(run).includes(chosen.model)) && (!chosen.scoring || partsOf(run).scoring === chosen.scoring)
    && words.every((word) => `${run.dataset || ""} ${run.name} ${run.server || ""} ${run.problem || ""}`.toLowerCase().includes(word)));
}
const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
// A cell is only made anew where what it says has changed.
function showTable() {
  const shown = listed(), among = page.runs.filter((run) => !chosen.dataset || run.dataset === chosen.dataset), filled = (make) => among.some((run) => [make(run)].flat(9).some(Boolean));
  const several = new Set(page.runs.map((run) => run.dataset).filter(Boolean)).size > 1;
  const columns = [...(several ? [DATASET] : []), ...BEFORE, ...scoreColumns(among), ...AFTER, ...[...chosen.columns].map(partColumn)]
    .filter(([, kind, make]) => kind !== "num" || filled(make)), heading = columns.map(([name]) => name).join("|");
  if (heading !== shownColumns) {
    shownColumns = heading;
    rows.clear();
    body = el("tbody");
    byId("runs-part").replaceChildren(el("table", { class: "runs" }, [el("thead", {}, el("tr", {}, [page.is_live && el("td"),
      columns.map(([name, kind, , by]) => el("th", { scope: "col", class: kind === "num" ? "num" : null },
        el("button", { type: "button", "data-name": name, onclick: () => { chosen.up = chosen.sort === name ? !chosen.up : typeof by(page.runs[0]) !== "number"; chosen.sort = name; showTable(); } }, name)))])), body]));
  }
  for (const button of byId("runs-part").querySelectorAll("thead button")) {
    const order = button.dataset.name === chosen.sort ? (chosen.up ? "ascending" : "descending") : null;
    if (order) button.parentNode.setAttribute("aria-sort", order); else button.parentNode.removeAttribute("aria-sort");
  }
  const sorted = columns.find(([name]) => name === chosen.sort);
  if (sorted) shown.sort((a, b) => (chosen.up ? 1 : -1) * compare(sorted[3](a), sorted[3](b)) || a.key - b.key);
  else if (several) shown.sort((a, b) => compare(DATASET[3](a), DATASET[3](b)) || a.key - b.key);
  const nodes = shown.map((run) => rowOf(run, columns));
  if (nodes.length !== body.children.length || nodes.some((node, at) => body.children[at] !== node)) {
    const focused = document.activeElement;
    body.replaceChildren(...nodes);
    if (focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
  }
  byId("count").textContent = `${whole(shown.length)} of ${whole(page.runs.length)} runs`;
  byId("count").hidden = shown.length === page.runs.length;
}
function tick(run) {
  return el("td", { class: "tick" }, run.link && run.state !== "running" ? el("input", { type: "checkbox", "aria-label": `compare ${run.dataset || ""} ${run.name}`, checked: chosen.ticked.has(run.key),
    onchange: (event) => { chosen.ticked[event.target.checked ? "add" : "delete"](run.key); showCompare(); } }) : null);
}
function showCompare() {
  const runs = page.runs.filter((run) => chosen.ticked.has(run.key)), sets = new Set(runs.map((run) => run.dataset));
  byId("compare").hidden = runs.length < 1;
  byId("compare").replaceChildren(runs.length < 2 ? "tick another run to compare" : sets.size > 1 ? "runs on different data sets can't be compared"
    : el("a", { href: `compare/${runs.map((run) => run.key).join("+")}/` }, `compare ${runs.length} runs`));
}
function rowOf(run, columns) {
  if (!rows.has(run.key)) {
    const cells = columns.map(([name, kind]) => (kind === "name" ? el("th", { scope: "row", class: kind }) : el("td", { class: kind, "data-name": name })));
    rows.set(run.key, { cells, said: [], node: el("tr", {}, [page.is_live && tick(run), cells]) });
  }
  const row = rows.get(run.key);
  columns.forEach(([, , make], at) => {
    const made = [make(run)].flat(9).filter(Boolean), said = made.map((node) => node.outerHTML || node).join("");
    if (said !== row.said[at]) row.cells[at].replaceChildren(...made);
    row.said[at] = said;
  });
  return row.node;
}
function showFilters() {
  if (chosen.state && !there().includes(chosen.state)) chosen.state = "";
  const button = (name, words, runs) => el("button", { type: "button", "aria-pressed": String(chosen.state === name), "data-state": name }, `${words} ${whole(runs.length)}`);
  const focused = document.activeElement && byId("states").contains(document.activeElement) ? document.activeElement.dataset.state : undefined;
  setIfNew("states", [button("", "all", page.runs), there().map((name) => button(name, STATES[name], page.runs.filter((run) => run.state === name)))]);
  const choices = { dataset: page.runs.map((run) => run.dataset), model: page.runs.flatMap(modelsOf), scoring: page.runs.map((run) => partsOf(run).scoring) };
  for (const [name, all] of Object.entries(choices)) {
    const names = [...new Set(all.filter(Boolean))].sort(compare);
    byId(name).parentNode.hidden = names.length < 2;
    setIfNew(name, [el("option", { value: "" }, "all"), names.map((each) => el("option", { value: each }, each))]);
    byId(name).value = chosen[name];
  }
  const keys = [...new Set(page.runs.flatMap((run) => Object.keys(partsOf(run))))].filter((key) => !OWN.has(key));
  byId("columns-part").hidden = !keys.length;
  setIfNew("columns", keys.map((key) => el("label", {}, [el("input", { type: "checkbox", value: key, checked: chosen.columns.has(key) }), ` ${key}`])));
  const again = focused === undefined ? null : byId("states").querySelector(`[data-state="${focused}"]`);
  if (again && again !== document.activeElement) again.focus({ preventScroll: true });
}
function showFacts() {
  const facts = [["folder", page.folder], ["command", page.command], ["started", atTime(new Date(page.started_at || NaN))], ["as of", atTime(new Date(page.taken_at))],
    ["score so far", "hits of the steps that are through, with Wilson's 95 % interval, which takes steps for independent of each other and so is too narrow where they are not"],
    ["final score", "as in the run's summary.json, with the same interval"],
    ["money", "what servers reported; what may have been charged besides, for tries without a reply, stands behind the plus sign and counts against the limit"]];
  setIfNew("facts", facts.filter(([, text]) => text).map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
}
function showAll() {
  showHead(); live.show(page); showServers(); showMatrix(); showFilters(); showTable(); showFacts();
}

for (const name of ["dataset", "model", "scoring"]) byId(name).addEventListener("change", (event) => { chosen[name] = event.target.value; showMatrix(); showTable(); });
byId("find").addEventListener("input", (event) => { chosen.find = event.target.value.trim(); showTable(); });
byId("columns").addEventListener("change", (event) => { chosen.columns[event.target.checked ? "add" : "delete"](event.target.value); showTable(); });
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("states").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  chosen.state = chosen.state === button.dataset.state ? "" : button.dataset.state;
  showFilters(); showTable();
});

async function refresh() {
  try {
    if (!document.hidden) {
      const reply = await fetch("live.json", { cache: "no-store" });
      if (!reply.ok) throw new Error((await reply.text()).trim());
      page = (await reply.json()).live;
      showAll();
    }
  } catch (error) {
    byId("status").textContent = `can't be brought up to date: ${error instanceof TypeError ? "grounding view has ended" : error.message}`;
  }
  setTimeout(refresh, 2000);
}
showAll();
if (page.comparison) {
  byId("compare").hidden = false;
  byId("compare").append(el("a", { href: page.comparison }, "paired differences between these runs"));
}
if (page.is_live) setTimeout(refresh, 1000);
