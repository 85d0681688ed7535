// What is shown: the data, the chosen runs, the filters and the chosen step. The address after # holds what can be shared.
let page = JSON.parse(byId("data").textContent);
const WRONG = new Set(["miss", "unparsed", "error", "missing"]);
const FILTERS = { outcome: "", participant: "", failure: "", label: "", flip: "", sort: "", q: "" };
const state = { a: 0, b: -1, chosen: -1, shown: [], filters: { ...FILTERS } };

function prepare() {
  for (const run of page.runs) {
    run.place = new Map(run.steps.map((step, at) => [step.id, at]));
    run.marksOf = new Map();
    for (const mark of run.marks || []) {
      if (!run.marksOf.has(mark.step)) run.marksOf.set(mark.step, []);
      run.marksOf.get(mark.step).push(mark);
    }
  }
}
const run = () => page.runs[state.a];
const beside = () => (state.b >= 0 ? page.runs[state.b] : null);
const other = (step) => {
  const one = beside();
  const at = one ? one.place.get(step.id) : undefined;
  return at === undefined ? null : one.steps[at];
};

function readAddress() {
  const found = {};
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    try { found[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1)); } catch { /* not an address of ours */ }
  }
  for (const name of Object.keys(FILTERS)) state.filters[name] = found[name] || "";
  const a = Number(found.run || 0), b = found.beside === undefined ? -1 : Number(found.beside);
  if (page.runs[a]) state.a = a;
  state.b = page.runs[b] && b !== state.a ? b : (found.beside === undefined && page.runs.length === 2 ? 1 - state.a : -1);
  return found.step;
}
const shareable = (text) => encodeURIComponent(text).replaceAll("%2F", "/");
function address() {
  const step = run().steps[state.chosen];
  const parts = [];
  if (step) parts.push(["step", step.id]);
  if (state.a) parts.push(["run", state.a]);
  if (page.runs.length > 1 && !(page.runs.length === 2 && state.b === 1 - state.a)) parts.push(["beside", state.b]);
  for (const [name, value] of Object.entries(state.filters)) if (value) parts.push([name, value]);
  return "#" + parts.map(([name, value]) => `${name}=${shareable(String(value))}`).join("&");
}
function writeAddress() {
  const wanted = address();
  if (wanted !== location.hash) history.replaceState(null, "", wanted);
}

function flipOf(step) {
  const two = other(step);
  if (!two || step.outcome === "none" || two.outcome === "none") return "";
  if ((step.outcome === "hit") === (two.outcome === "hit")) return "same";
  return step.outcome === "hit" ? "lost" : "won";
}
function haystack(step) {
  if (step.haystack === undefined) {
    const task = run().tasks[step.task];
    step.haystack = [step.id, step.instruction, step.said || "", step.plan, step.raw, step.planner_raw, step.reason, task.name,
      ...(step.groups || [])].join("\n").toLowerCase();
  }
  return step.haystack;
}
// Words, or what stands between quotation marks as a whole.
const terms = (q) => [...q.toLowerCase().matchAll(/"([^"]+)"?|[^\s"]+/g)].map((found) => found[1] || found[0]);
function passes(step) {
  const { outcome, participant, failure, label, flip, q } = state.filters;
  if (outcome === "" ? step.outcome === "none" : outcome === "wrong" ? !WRONG.has(step.outcome)
    : outcome !== "all" && step.outcome !== outcome) return false;
  if (participant && step.participant !== participant) return false;
  if (failure && step.failure !== failure) return false;
  if (label) {
    const marks = run().marksOf.get(step.id) || [];
    if (label === "none" ? marks.length : label === "disputed" ? new Set(marks.map((m) => m.label)).size < 2
      : !marks.some((mark) => mark.label === label)) return false;
  }
  if (flip && beside()) {
    const found = flipOf(step);
    if (flip === "any" ? found !== "won" && found !== "lost" : found !== flip) return false;
  }
  return !q || terms(q).every((term) => haystack(step).includes(term));
}
function choose() {
  const steps = run().steps;
  const shown = [];
  steps.forEach((step, at) => { if (passes(step)) shown.push(at); });
  const sort = state.filters.sort;
  if (sort) {
    const sign = sort === "far" ? -1 : 1;
    const off = (at) => steps[at].distance;
    // Steps without a distance go to the end, whichever way it is sorted.
    shown.sort((x, y) => (off(x) === undefined) - (off(y) === undefined) || sign * ((off(x) || 0) - (off(y) || 0)) || x - y);
  }
  state.shown = shown;
}
