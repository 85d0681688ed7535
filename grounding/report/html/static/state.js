// What is shown: the data, the chosen runs, the filters and the chosen step. The address after # holds what can be shared.
let page = JSON.parse(byId("data").textContent);
const WRONG = new Set(["miss", "unparsed", "error", "missing"]);
const FILTERS = { outcome: "", participant: "", failure: "", group: "", label: "", flip: "", sort: "", q: "" };
const state = { a: 0, b: -1, chosen: -1, shown: [], ready: false, filters: { ...FILTERS } };

function prepare() {
  for (const one of page.runs) { prepareRun(one); collectMarks(one); }
}
function collectMarks(one) {
  one.marksOf = new Map();
  for (const mark of one.marks || []) {
    const at = one.placeOf(mark.step);
    if (!one.marksOf.has(at)) one.marksOf.set(at, []);
    one.marksOf.get(at).push(mark);
  }
}
const run = () => page.runs[state.a];
const beside = () => (state.b >= 0 ? page.runs[state.b] : null);
// The same step in the run beside; null where there is none or it is not here yet.
const other = (at) => {
  const there = otherAt(at);
  return there < 0 ? null : beside().row(there);
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
  const parts = [];
  if (state.chosen >= 0) parts.push(["step", run().idOf(state.chosen)]);
  if (state.a) parts.push(["run", state.a]);
  if (page.runs.length > 1 && !(page.runs.length === 2 && state.b === 1 - state.a)) parts.push(["beside", state.b]);
  for (const [name, value] of Object.entries(state.filters)) if (value) parts.push([name, value]);
  return "#" + parts.map(([name, value]) => `${name}=${shareable(String(value))}`).join("&");
}
function writeAddress() {
  const wanted = address();
  if (wanted !== location.hash) history.replaceState(null, "", wanted);
}

function flipOf(at) {
  const there = otherAt(at);
  if (there < 0) return "";
  const one = run().outcome(at), two = beside().outcome(there);
  if (one === "none" || two === "none") return "";
  if ((one === "hit") === (two === "hit")) return "same";
  return one === "hit" ? "lost" : "won";
}
function haystack(one, step) {
  if (step.haystack === undefined) {
    step.haystack = [step.id, step.instruction, step.said || "", step.plan, step.raw, step.planner_raw, step.reason,
      one.taskName(step), ...(step.groups || [])].join("\n").toLowerCase();
  }
  return step.haystack;
}
// Words, or what stands between quotation marks as a whole.
const terms = (q) => [...q.toLowerCase().matchAll(/"([^"]+)"?|[^\s"]+/g)].map((found) => found[1] || found[0]);
// All filters but the search for words.
function passesFacts(at) {
  const one = run(), { participant, failure, group, label, flip } = state.filters;
  const outcome = state.filters.outcome, own = one.outcome(at);
  if (outcome === "" ? own === "none" : outcome === "wrong" ? !WRONG.has(own) : outcome !== "all" && own !== outcome) return false;
  if (participant && one.participant(at) !== participant) return false;
  if (failure && one.failure(at) !== failure) return false;
  if (group && one.inGroup && !one.inGroup(at, group)) return false;
  if (label) {
    const marks = one.marksOf.get(at) || [];
    if (label === "none" ? marks.length : label === "disputed" ? new Set(marks.map((m) => m.label)).size < 2
      : !marks.some((mark) => mark.label === label)) return false;
  }
  if (flip && beside()) {
    const found = flipOf(at);
    if (flip === "any" ? found !== "won" && found !== "lost" : found !== flip) return false;
  }
  return true;
}
