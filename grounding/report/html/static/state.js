// What is shown: the data, the chosen runs, the filters and the chosen step. The address after # holds what can be shared.
let page = JSON.parse(byId("data").textContent);
if (page.runs.some((one) => one.packed)) byId("data").remove();
const WRONG = new Set(["miss", "unparsed", "error", "missing"]);
const FILTERS = { outcome: "", participant: "", failure: "", group: "", off: "", label: "", flip: "", sort: "", q: "" };
const state = { a: 0, b: -1, chosen: -1, shown: [], ready: false, filters: { ...FILTERS } };

function prepare() {
  for (const one of page.runs) {
    prepareRun(one);
    collectMarks(one);
    one.hasDistance = false;
    for (let at = 0; at < one.size && !one.hasDistance; at += 1) one.hasDistance = one.distanceOf(at) > 0;
  }
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
// The same step in the run beside; null where there is none.
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
      one.taskName(step), ...(step.groups || []), ...(step.notes || []).map((note) => note.text)].join("\n").toLowerCase();
  }
  return step.haystack;
}
// Words, or what stands between quotation marks as a whole.
const terms = (q) => [...q.toLowerCase().matchAll(/"([^"]+)"?|[^\s"]+/g)].map((found) => found[1] || found[0]);
// How far a click may be beside the region: more than the first and at most the second, which may be left out.
const ends = (off) => { const [low, high] = off.split("-"); return [Number(low) || 0, high ? Number(high) : Infinity]; };
// All filters but the search for words.
function passesFacts(at) {
  const one = run(), { participant, failure, group, off, label, flip } = state.filters;
  const outcome = state.filters.outcome, own = one.outcome(at);
  if (outcome === "" ? own === "none" : outcome === "wrong" ? !WRONG.has(own) : outcome !== "all" && own !== outcome) return false;
  if (participant && one.participant(at) !== participant) return false;
  if (failure && one.failure(at) !== failure) return false;
  if (group && one.inGroup && !group.split("\n").every((name) => one.inGroup(at, name))) return false;
  if (off) {
    const [low, high] = ends(off), far = one.distanceOf(at) ?? -1;
    if (far <= low || far > high) return false;
  }
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
// Steps without a distance go to the end, whichever way it is sorted.
function byDistance(places, distance) {
  const sign = state.filters.sort === "far" ? -1 : 1, none = (at) => distance(at) === undefined || distance(at) === null;
  places.sort((x, y) => none(x) - none(y) || (none(x) ? 0 : sign * (distance(x) - distance(y))) || x - y);
}

// Of a large run the steps stand in the page as deflated JSON in base64.
async function unpack(some) {
  for (const one of some.runs.filter((each) => each.packed)) {
    if (!("DecompressionStream" in window)) throw new Error("This browser is too old for this page: it can't inflate (DecompressionStream).");
    const letters = atob(one.packed), bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    Object.assign(one, await new Response(text).json(), { packed: "", large: true });
  }
}
function prepareRun(one) {
  const place = new Map(one.steps.map((step, at) => [step.id, at]));
  one.size = one.steps.length;
  one.outcome = (at) => one.steps[at].outcome;
  one.failure = (at) => one.steps[at].failure || "";
  one.participant = (at) => one.steps[at].participant;
  one.distanceOf = (at) => one.steps[at].distance;
  one.idOf = (at) => one.steps[at].id;
  one.placeOf = (id) => (place.has(id) ? place.get(id) : -1);
  one.row = (at) => one.steps[at];
  one.shotOf = (at) => one.shots[one.steps[at].shot];
  one.toldOf = (at) => one.told[at];
  one.taskName = (step) => one.tasks[step.task].name;
  one.taskSteps = (step) => one.tasks[step.task].steps;
  const tally = (values) => {
    const found = new Map();
    for (const value of values) if (value) found.set(value, (found.get(value) || 0) + 1);
    return [...found];
  };
  one.tallies = {
    outcome: tally(one.steps.map((step) => step.outcome)),
    participant: tally(one.steps.map((step) => step.participant)),
    failure: tally(one.steps.map((step) => step.failure)),
    group: tally(one.steps.flatMap((step) => step.groups || [])),
  };
  one.inGroup = (at, name) => (one.steps[at].groups || []).includes(name);
}
function otherAt(at) {
  const two = beside();
  return two ? two.placeOf(run().idOf(at)) : -1;
}
function passes(at) {
  const { q } = state.filters;
  return passesFacts(at) && (!q || terms(q).every((term) => haystack(run(), run().row(at)).includes(term)));
}
function choose() {
  const steps = run().steps;
  const shown = [];
  steps.forEach((step, at) => { if (passes(at)) shown.push(at); });
  if (state.filters.sort) byDistance(shown, run().distanceOf);
  state.shown = shown;
}
