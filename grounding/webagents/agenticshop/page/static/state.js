// What is shown: the index of tasks, the filters, the chosen task. A task's own data are read when it is looked at.
const page = JSON.parse(byId("data").textContent);
const text = (tag, words, more) => el(tag, more || {}, [words]);
const FILTERS = { judge: "0", scenario: "", outcome: "", dimension: "", class: "", flag: "", error: "", user: "", sort: "", q: "" };
const state = { filters: { ...FILTERS }, shown: [], current: 0, product: 0, item: "", segment: 0, box: null, found: null };
const DIMENSIONS = ["brand_preferences", "price_sensitivity", "review_sensitivity", "functional_requirements",
  "aesthetic_preferences", "purchase_preferences"];
const plain = (name) => name.replaceAll("_", " ");
const judgeName = (place) => {
  const one = page.judges[place];
  return one.condition === "full" ? one.name : `${one.name} (${one.condition})`;
};

const read = new Map();
function detailOf(place) {
  if (!read.has(place)) {
    const node = byId(`task-${place}`);
    read.set(place, JSON.parse(node.textContent));
    // Pictures are the most of it: only the last few tasks stay in memory.
    if (read.size > 24) read.delete(read.keys().next().value);
  }
  return read.get(place);
}

// How far down a node stands in a box that scrolls, whatever is positioned how.
const within = (node, box) => node.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
function scrollInto(node, box) {
  const top = within(node, box);
  if (top < box.scrollTop || top + node.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
}
const small = (segment) => (segment && segment.small !== undefined && segment.small !== null ? byId(`picture-${segment.small}`).textContent : "");

// Satisfied of all, by the chosen judge, in the chosen dimension or in all.
function shareOf(row) {
  const found = (row.shares || [])[Number(state.filters.judge)];
  if (!found) return null;
  const parts = state.filters.dimension ? [found[state.filters.dimension]] : Object.values(found);
  let k = 0, n = 0;
  for (const part of parts) if (part) { k += part[0]; n += part[1]; }
  return n ? { k, n, share: k / n } : null;
}
const percent = (one) => (one ? `${(100 * one.share).toFixed(0)} %` : "-");

const terms = (q) => [...q.toLowerCase().matchAll(/"([^"]+)"?|[^\s"]+/g)].map((found) => found[1] || found[0]);
function passes(row) {
  const { scenario, outcome, dimension, class: kind, flag, error, user, q } = state.filters;
  if (scenario && row.scenario !== scenario) return false;
  if (outcome && row.outcome !== outcome) return false;
  if (user && row.user !== user) return false;
  if (kind && !(row.classes || []).includes(kind)) return false;
  if (flag && !(row.flags || []).includes(flag)) return false;
  if (error && !(row.errors || []).includes(error)) return false;
  if (dimension && page.judges.length && !shareOf(row)) return false;
  return !q || terms(q).every((term) => row.words.includes(term));
}

function select() {
  const shown = [];
  page.tasks.forEach((row, at) => { if (passes(row)) shown.push(at); });
  const sort = state.filters.sort;
  if (sort) {
    const sign = sort === "worst" ? 1 : -1;
    const worth = new Map(shown.map((at) => [at, shareOf(page.tasks[at])]));
    // Tasks without a share go to the end, whichever way it is sorted.
    const key = (at) => (worth.get(at) ? sign * worth.get(at).share : Infinity);
    shown.sort((x, y) => (key(x) === key(y) ? x - y : key(x) - key(y)));
  }
  state.shown = shown;
}

function readAddress() {
  const found = {};
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    try { found[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1)); } catch { /* not an address of ours */ }
  }
  for (const name of Object.keys(FILTERS)) if (found[name] !== undefined) state.filters[name] = found[name];
  if (!page.judges[Number(state.filters.judge)]) state.filters.judge = "0";
  return found.task;
}
function writeAddress() {
  const parts = [];
  const at = state.shown[state.current];
  if (at !== undefined) parts.push(["task", page.tasks[at].id]);
  for (const [name, value] of Object.entries(state.filters)) if (value !== FILTERS[name]) parts.push([name, value]);
  const wanted = "#" + parts.map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%2F", "/")}`).join("&");
  if (wanted !== location.hash) history.replaceState(null, "", wanted);
}
