// Keys, the choice of runs, and the page that follows a run.
const KEYS = [["j, ↓", "next step", () => move(1)], ["k, ↑", "previous step", () => move(-1)],
  ["PgDn, PgUp", "ten steps on or back"], ["n", "next step that is wrong", () => jump(1)], ["p", "previous step that is wrong", () => jump(-1)],
  ["f", "only flips, where two runs are shown", () => { if (beside()) setFilter("flip", state.filters.flip === "any" ? "" : "any"); }],
  ["w", "only what is wrong", () => setFilter("outcome", state.filters.outcome === "wrong" ? "" : "wrong")],
  ["s", "next order of the list", () => setFilter("sort", { "": "far", far: "near", near: "" }[state.filters.sort])],
  ["+, =", "zoom the picture in", () => zoomed.by(STEP)], ["-", "zoom out", () => zoomed.by(1 / STEP)], ["z", "the whole picture", () => zoomed.whole()],
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
  if (event.key === "=") act = ACTIONS.get("+");
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

let asking = false, trouble_ = false;
async function refresh(now) {
  if (asking && !now) return;
  asking = true;
  try {
    const versions = page.runs.map((each) => each.version).join(".");
    const reply = await fetch(`live.json?have=${encodeURIComponent(versions)}`, { cache: "no-store" });
    if (!reply.ok) throw new Error(await reply.text());
    const typing = document.activeElement && ["note", "labeller", "filter-q"].includes(document.activeElement.id);
    const news = await reply.json(), fresh = news.page;
    if (news.live) {
      const hidden = news.live.writer !== "at work";
      if (byId("live").hidden !== hidden) trouble_ = true;
      byId("live").hidden = hidden;
      live.show(news.live);
    }
    if (trouble_) showHead();
    trouble_ = false;
    if (!fresh || (typing && !now)) return;
    const chosen = state.chosen < 0 ? undefined : run().idOf(state.chosen);
    const top = steps_.top;
    await unpack(fresh);
    // The steps of a large run stay as they are until the page is loaded again.
    const about = ({ marks = [], mark_facts = [], warnings = [], version }) => ({ marks, mark_facts, warnings, version });
    page = { ...fresh, runs: fresh.runs.map((news, at) => (page.runs[at].large && !news.large ? { ...page.runs[at], ...about(news) } : news)) };
    prepare();
    showAll(chosen);
    steps_.go(top);
  } catch (error) {
    trouble_ = true;
    byId("status").textContent = `can't be brought up to date: ${error instanceof TypeError ? "grounding view has ended" : error.message}`;
  } finally {
    asking = false;
  }
}

function begin() {
  prepare();
  state.ready = true;
  showAll(readAddress(), true);
}
if (page.runs.some((one) => one.packed)) {
  // The figures stand on the page before the steps are unpacked.
  readAddress();
  showHead(); showPlots();
  byId("count").textContent = "The steps are being unpacked …";
  requestAnimationFrame(() => setTimeout(() => unpack(page).then(begin).catch((error) => { byId("count").textContent = error.message; })));
} else begin();
if (page.token && state.ready) refresh(false);
if (page.token) setInterval(() => { if (!document.hidden && state.ready) refresh(false); }, 2000);
