// The list of steps, their filters, and the step that is chosen.
const ROW_PX = 76;
const list = byId("list"), rows = byId("rows");
const steps_ = new Tall(list, rows, (place) => drawRow(place));

function showFilters() {
  const one = run(), marks = one.marks || [];
  const tally = (found) => found.map(([name, n]) => [name, `${name} (${many(n)})`]);
  const outcomes = tally(one.tallies.outcome).map(([name, text]) => [name, text.replace(name, outcomeWord(name))]);
  const wrong = one.tallies.outcome.reduce((sum, [name, n]) => sum + (WRONG.has(name) ? n : 0), 0);
  const fields = [
    ["outcome", "outcome", [["", word("all", "all with a click")], ["wrong", `all that are wrong (${many(wrong)})`], ...outcomes, ["all", `everything (${many(one.size)})`]]],
    ["participant", "participant", [["", "all"], ...tally(one.tallies.participant)]],
    ["failure", "failure", [["", "all"], ...tally(one.tallies.failure).map(([name, text]) =>
      [name, name === "near" ? text.replace("near", `near, at most ${page.near_px ?? 50} px off`) : text])]],
    ...(one.hasDistance ? [["off", "px beside", [["", "all"], ...offChoices().map((off) => [off, off.endsWith("-") ? `over ${off.slice(0, -1)}` : off.replace("-", " to ")])]]] : []),
    ["sort", "order", [["", "as it happened"], ["far", "farthest first"], ["near", "nearest first"]]],
  ];
  if (one.inGroup) fields.splice(2, 0, ...groupFields(one.tallies.group));
  if (!one.tallies.participant.length) fields.splice(1, 1);
  if (page.token || marks.length) {
    const labels = [...new Set([...page.labels, ...marks.map((mark) => mark.label)])];
    fields.push(["label", "label", [["", "all"], ["none", "not labelled"], ["disputed", "disputed"], ...labels.map((name) => [name, name.replace("-", " ")])]]);
  }
  if (beside()) fields.push(["flip", "two runs", [["", "all"], ["any", "only flips"], ["won", "right only in the second"], ["lost", "right only in the first"]]]);
  byId("filters").replaceChildren(
    ...fields.map(([name, words, options]) => {
      const select = el("select", { name, id: `filter-${name}` }, options.map(([value, text]) => el("option", { value }, text)));
      select.value = filterOf(name);
      if (select.selectedIndex < 0) { select.value = ""; setPart(name, ""); }
      return el("label", {}, [words, select]);
    }),
    el("label", {}, ["search", el("input", { type: "search", name: "q", id: "filter-q", value: state.filters.q, placeholder: "words, ids, \"a phrase\"" })]),
  );
}
const OFF = ["0-3", "3-10", "10-30", "30-100", "100-300", "300-1000", "1000-"];
const offChoices = () => (OFF.includes(state.filters.off) || !state.filters.off ? OFF : [...OFF, state.filters.off]);
// A field for each kind of group. What is chosen of all kinds stands in one filter, a line each.
function groupFields(found) {
  const kinds = new Map();
  for (const [name, n] of found) {
    const kind = name.slice(0, name.indexOf(": "));
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind).push([name, `${name.slice(kind.length + 2)} (${many(n)})`]);
  }
  return [...kinds].map(([kind, options]) => [`group:${kind}`, kind, [["", "all"], ...options]]);
}
const groupParts = () => state.filters.group.split("\n").filter(Boolean);
const isOf = (name, part) => part.startsWith(`${name.slice(6)}: `);
const filterOf = (name) => (name.startsWith("group:") ? groupParts().find((part) => isOf(name, part)) || "" : state.filters[name]);
function setPart(name, value) {
  if (!name.startsWith("group:")) { state.filters[name] = value; return; }
  state.filters.group = [...groupParts().filter((part) => !isOf(name, part)), value].filter(Boolean).join("\n");
}
// Numbers of five digits and more can be read only in groups.
const many = (n) => (n < 10000 ? String(n) : number(n));
let typing = 0;
byId("filters").addEventListener("input", (event) => {
  setPart(event.target.name, event.target.value);
  clearTimeout(typing);
  if (run().size > 5000 && event.target.name === "q") typing = setTimeout(refilter, 250);
  else refilter();
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());

function refilter() {
  choose();
  showFound();
}
function showFound() {
  showCount();
  if (!state.shown.includes(state.chosen)) state.chosen = state.shown.length ? state.shown[0] : -1;
  steps_.fill(state.shown.length, ROW_PX);
  reveal();
  showDetail();
  markStrip();
  showMaps();
  writeAddress();
}
function showCount() {
  const one = run(), skipped = one.tallies.outcome.find(([name]) => name === "none");
  const scored = one.size - (skipped ? skipped[1] : 0);
  byId("count").textContent = state.shown.length
    ? `${number(state.shown.length)} of ${number(scored)} scored steps`
    : `None of ${number(scored)} scored steps fits these filters.`;
}
steps_.shown = () => {
  for (const [place, row] of steps_.made) {
    const chosen = state.shown[place] === state.chosen;
    row.classList.toggle("chosen", chosen);
    row.setAttribute("aria-selected", String(chosen));
  }
  if (state.chosen >= 0) list.setAttribute("aria-activedescendant", `row-${state.chosen}`);
  else list.removeAttribute("aria-activedescendant");
};
const badge = (outcome, prefix = "") => el("span", { class: `badge ${outcome}` }, `${prefix}${outcomeWord(outcome)}`);
const offText = (step) => (step.distance ? `${number(step.distance)} px off` : "");
function drawRow(place) {
  const one = run(), at = state.shown[place], there = otherAt(at), step = one.row(at), two = other(at);
  const marks = one.marksOf.get(at) || [];
  return el("div", { class: "row", id: `row-${at}`, role: "option", "data-at": at,
    "aria-setsize": state.shown.length, "aria-posinset": place + 1 }, [
    picture(one.shotOf(at), step, two, whole(one.shotOf(at)), { small: true }),
    el("div", {}, [
      el("div", { class: "top" }, [el("span", { class: "id" }, one.idOf(at)), badge(one.outcome(at)), there >= 0 && badge(beside().outcome(there), "2: "), offText(step), marks.length ? el("span", { class: "tag" }, marks[0].label.replace("-", " ") + (marks.length > 1 ? ` +${marks.length - 1}` : "")) : ""]),
      el("div", { class: "words" }, step.instruction),
    ]),
  ]);
}
rows.addEventListener("click", (event) => {
  const row = event.target.closest(".row");
  if (row) select(Number(row.dataset.at), { scroll: narrow() ? "detail" : false });
});
const narrow = () => matchMedia("(max-width: 820px)").matches;

function reveal() {
  const place = state.shown.indexOf(state.chosen);
  if (place >= 0) steps_.reveal(place);
}
function select(at, { scroll = false } = {}) {
  if (!state.shown.includes(at)) {
    // A step that the filters hide is wanted: they give way.
    state.filters = { ...FILTERS, outcome: run().outcome(at) === "none" ? "all" : "" };
    showFilters();
    state.chosen = at;
    refilter();
  }
  state.chosen = at;
  reveal();
  steps_.show();
  showDetail();
  markStrip();
  writeAddress();
  if (scroll) byId(scroll === "detail" ? "detail" : "gallery").scrollIntoView({ block: "start" });
}
function move(by) {
  if (!state.shown.length) return;
  const place = Math.max(0, state.shown.indexOf(state.chosen));
  select(state.shown[Math.min(state.shown.length - 1, Math.max(0, place + by))]);
}
