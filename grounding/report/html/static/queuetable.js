// The table of runs. A cell is only made anew where what it says has changed, so that nobody's place or selection is lost.
const ORDERS = {
  "": ["as they are run", null],
  state: ["by state", (a, b) => Object.keys(STATES).indexOf(a.state) - Object.keys(STATES).indexOf(b.state)],
  name: ["by name", (a, b) => a.name.localeCompare(b.name, "en", { numeric: true })],
  accuracy: ["best first", (a, b) => (b.accuracy ? b.accuracy.value : -1) - (a.accuracy ? a.accuracy.value : -1)],
  errors: ["most errors first", (a, b) => (b.counts.error || 0) - (a.counts.error || 0)],
  spent: ["dearest first", (a, b) => (b.spent_usd || 0) - (a.spent_usd || 0)],
  left: ["longest to go first", (a, b) => (b.left_s || 0) - (a.left_s || 0)],
};
const chosen = { state: "", find: "", sort: "" };
const rowsByKey = new Map();

const COLUMNS = [
  ["run", "name", (run) => [
    run.link ? el("a", { href: run.link }, run.name) : el("b", {}, run.name),
    run.server && !run.name.includes(run.server) && el("div", { class: "sub" }, `server ${run.server}`),
    run.problem && el("div", { class: "problem", tabindex: run.problem.length > 300 ? 0 : null }, run.problem),
  ]],
  ["state", "state-cell", (run) => el("span", { class: `state ${run.state}` }, STATES[run.state])],
  ["progress", "progress", (run) => {
    const done = doneOf(run);
    const words = !run.steps ? [`${whole(done)} steps`] : !done || done >= run.steps ? [`${done ? "all " : ""}${whole(run.steps)} steps`]
      : [`${whole(done)} of ${whole(run.steps)}`, share(done, run.steps)];
    if (run.reading !== undefined && run.reading !== null) words.push(`reading what was answered: ${Math.floor(100 * run.reading)} %`);
    return [outcomeBar(run.counts, run.steps, `progress of ${run.name}`), el("div", { class: "sub" }, words.filter(Boolean).join(" · "))];
  }],
  ["step accuracy", "num", (run) => run.accuracy && [
    el("div", {}, percent(run.accuracy.value)),
    el("div", { class: "sub" }, [interval(run.accuracy), run.accuracy.is_final ? "" : " so far"].join("")),
  ]],
  ["errors", "num", (run) => {
    const errors = run.counts.error || 0, odd = (run.counts.unparsed || 0);
    return (errors || odd) ? [errors ? el("div", { class: "has-errors" }, whole(errors)) : el("div", {}, "0"), odd && el("div", { class: "sub" }, `${whole(odd)} unparsed`)] : null;
  }],
  ["time", "num", (run) => {
    if (run.state === "running") {
      return [run.left_s ? el("div", {}, `${span(run.left_s)} left`) : null, perSecond(run.rate_per_s) && el("div", { class: "sub" }, perSecond(run.rate_per_s))];
    }
    return run.wall_s ? [el("div", {}, span(run.wall_s)), doneOf(run) && run.state === "complete" ? el("div", { class: "sub" }, perSecond(doneOf(run) / run.wall_s)) : null] : null;
  }],
  ["money", "num", (run) => [
    run.spent_usd !== undefined && run.spent_usd !== null ? el("div", {}, dollars(run.spent_usd)) : null,
    run.unreported_usd ? el("div", { class: "sub" }, `+ up to ${dollars(run.unreported_usd)}`) : null,
  ]],
];

// Columns that no run has anything for are left out.
function columnsFor(runs) {
  return COLUMNS.filter(([name, , make]) => !["errors", "time", "money"].includes(name) || runs.some((run) => [make(run)].flat().some(Boolean)));
}
let shownColumns = "";
let tableBody = null;

function drawTable(runs) {
  const columns = columnsFor(runs);
  const wanted = columns.map(([name]) => name).join("|");
  if (wanted !== shownColumns) {
    shownColumns = wanted;
    rowsByKey.clear();
    tableBody = el("tbody");
    byId("runs-part").replaceChildren(el("table", { class: "runs" }, [
      el("thead", {}, el("tr", {}, columns.map(([name, kind]) => el("th", { scope: "col", class: kind === "num" ? "num" : null }, name)))), tableBody]));
  }
  const shown = runs.filter(isShown);
  const order = ORDERS[chosen.sort][1];
  if (order) shown.sort((a, b) => order(a, b) || a.key - b.key);
  const nodes = shown.map((run) => rowOf(run, columns));
  const same = nodes.length === tableBody.children.length && nodes.every((node, at) => tableBody.children[at] === node);
  if (!same) {
    const focused = document.activeElement;
    tableBody.replaceChildren(...nodes);
    if (focused && focused !== document.activeElement && tableBody.contains(focused)) focused.focus({ preventScroll: true });
  }
  byId("count").textContent = shown.length === runs.length ? "" : `${whole(shown.length)} of ${whole(runs.length)} runs`;
  byId("count").hidden = shown.length === runs.length;
}
function isShown(run) {
  if (chosen.state && run.state !== chosen.state) return false;
  const hay = `${run.name} ${run.server || ""} ${run.problem || ""}`.toLowerCase();
  return chosen.find.toLowerCase().split(/\s+/).every((word) => hay.includes(word));
}
function rowOf(run, columns) {
  let row = rowsByKey.get(run.key);
  if (!row) {
    row = { node: el("tr"), cells: columns.map(() => null), said: columns.map(() => null) };
    columns.forEach(([name, kind], at) => {
      row.cells[at] = at === 0 ? el("th", { scope: "row", class: kind }) : el("td", { class: kind, "data-name": name });
      row.node.append(row.cells[at]);
    });
    rowsByKey.set(run.key, row);
  }
  columns.forEach(([, , make], at) => {
    const made = [make(run)].flat().filter(Boolean);
    const said = made.map((node) => node.outerHTML).join("");
    if (said === row.said[at]) return;
    row.said[at] = said;
    row.cells[at].replaceChildren(...made);
  });
  return row.node;
}
