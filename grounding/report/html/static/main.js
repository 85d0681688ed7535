// Keys, the choice of runs, and the page that follows a run.
const KEYS = [["j, ↓", "next step", () => move(1)], ["k, ↑", "previous step", () => move(-1)],
  ["PgDn, PgUp", "ten steps on or back"], ["n", "next step that is wrong", () => jump(1)], ["p", "previous step that is wrong", () => jump(-1)],
  ["f", "only flips, where two runs are shown", () => { if (beside()) setFilter("flip", state.filters.flip === "any" ? "" : "any"); }],
  ["w", "only what is wrong", () => setFilter("outcome", state.filters.outcome === "wrong" ? "" : "wrong")],
  ["s", "next order of the list", () => setFilter("sort", { "": "far", far: "near", near: "" }[state.filters.sort])],
  ["g", "go to the steps", () => { byId("gallery").scrollIntoView(); list.focus({ preventScroll: true }); }],
  ["/", "search", () => byId("filter-q").focus()], ["x", "clear all filters", () => { state.filters = { ...FILTERS }; showFilters(); refilter(); }],
  ["1 … 5, 0", "label the step, withdraw the label (in grounding view)"], ["Esc", "leave a field"], ["?", "these keys", () => byId("help").showModal()]];
const ACTIONS = new Map(KEYS.filter(([, , act]) => act).map(([keys, , act]) => [keys[0], act]));

function setFilter(name, value) {
  state.filters[name] = value;
  showFilters();
  refilter();
}
function jump(by) {
  let place = state.shown.indexOf(state.chosen) + by;
  while (place >= 0 && place < state.shown.length && !WRONG.has(run().outcome(state.shown[place]))) place += by;
  if (place >= 0 && place < state.shown.length) select(state.shown[place]);
}
document.addEventListener("keydown", (event) => {
  if (!state.ready || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const field = event.target.closest("input, textarea, select");
  if (field) { if (event.key === "Escape") { field.blur(); list.focus({ preventScroll: true }); } return; }
  const inList = document.activeElement === list || document.activeElement === byId("gallery");
  let act = ACTIONS.get(event.key);
  if (event.key === "ArrowDown" && inList) act = ACTIONS.get("j");
  if (event.key === "ArrowUp" && inList) act = ACTIONS.get("k");
  if (event.key === "PageDown" && inList) act = () => move(10);
  if (event.key === "PageUp" && inList) act = () => move(-10);
  if (page.token && /^[0-9]$/.test(event.key)) {
    const label = event.key === "0" ? "withdrawn" : page.labels[Number(event.key) - 1];
    if (label) act = () => label_(label);
  }
  if (!act) return;
  event.preventDefault();
  act();
});
byId("help-open").addEventListener("click", () => byId("help").showModal());
byId("keys").replaceChildren(...KEYS.flatMap(([keys, words]) => [el("dt", {}, keys), el("dd", {}, words)]));
for (const [id, name] of [["run-a", "a"], ["run-b", "b"]]) {
  byId(id).addEventListener("change", (event) => {
    const before = state.chosen < 0 ? undefined : run().idOf(state.chosen);
    state[name] = Number(event.target.value);
    if (state.b === state.a) state.b = -1;
    showAll(before);
  });
}
window.addEventListener("hashchange", () => {
  const wanted = state.ready ? readAddress() : undefined;
  if (wanted === undefined) return;
  const at = run().placeOf(wanted);
  showHead(); showFilters();
  if (at >= 0) state.chosen = at;
  refilter();
  if (at >= 0) select(at, { scroll: true });
});

function showAll(wanted, scroll = false) {
  showHead(); showLegend(); showStrips(); showPlots(); showFilters();
  const at = wanted === undefined ? -1 : run().placeOf(wanted);
  // Who opens the page to see what went wrong finds the first wrong step chosen.
  let first = 0;
  while (first < run().size && !WRONG.has(run().outcome(first))) first += 1;
  state.chosen = at >= 0 ? at : first < run().size ? first : run().size ? 0 : -1;
  refilter();
  if (at >= 0 && scroll) select(at, { scroll: true });
}

let asking = false;
async function refresh(now) {
  if (asking && !now) return;
  asking = true;
  try {
    const versions = page.runs.map((each) => each.version).join(".");
    const reply = await fetch(`page.json?have=${encodeURIComponent(versions)}`, { cache: "no-store" });
    if (reply.status === 204) { byId("status").removeAttribute("title"); return; }
    if (!reply.ok) throw new Error(await reply.text());
    const typing = document.activeElement && ["note", "labeller", "filter-q"].includes(document.activeElement.id);
    const fresh = await reply.json();
    if (typing && !now) return;
    const chosen = state.chosen < 0 ? undefined : run().idOf(state.chosen);
    const top = steps_.top;
    if (takeNews) { takeNews(fresh); return; }
    page = fresh;
    prepare();
    showAll(chosen);
    steps_.go(top);
  } catch (error) {
    byId("status").textContent = `can't be brought up to date: ${error.message}`;
  } finally {
    asking = false;
  }
}

function begin() {
  prepare();
  state.ready = true;
  showAll(readAddress(), true);
}
if (unpack) {
  // The figures stand on the page before the steps are unpacked.
  readAddress();
  showHead(); showPlots();
  byId("count").textContent = "The index of the steps is being unpacked …";
  requestAnimationFrame(() => setTimeout(() => unpack().then(begin).catch((error) => { byId("count").textContent = error.message; })));
} else begin();
if (page.token) setInterval(() => { if (!document.hidden && state.ready) refresh(false); }, 2000);
