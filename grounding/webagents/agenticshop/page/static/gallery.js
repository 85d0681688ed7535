// Tables on top, filters, and the list of tasks.
const outcomeBadge = (outcome) => text("span", outcome, { class: `badge ${outcome.replaceAll(" ", "-")}` });

function summary(one) {
  const cells = (row, tag) => row.map((cell, place) => text(place ? tag : "th", cell, place ? { class: "num" } : { scope: tag === "td" ? "row" : "col" }));
  return el("div", { class: one.heads.length > 5 ? "wide" : "" }, [text("h3", one.title), el("div", { class: "scroll" }, [el("table", {}, [
    el("thead", {}, [el("tr", {}, cells(one.heads, "th"))]), el("tbody", {}, one.rows.map((row) => el("tr", {}, cells(row, "td"))))])]),
    one.note ? text("p", one.note, { class: "muted" }) : null]);
}

function option(value, words) { return text("option", words, { value }); }
function filter(name, label, values, words) {
  const node = el("select", { id: `filter-${name}`, onchange: (event) => filtered(name, event.target.value) },
    values.map((value) => option(value, words ? words(value) : plain(value) || "all")));
  return el("label", {}, [label, node]);
}
function filtered(name, value) {
  const at = state.shown[state.current];
  state.filters[name] = value;
  state.item = "";
  drawList(at);
}
const seen = (of) => ["", ...new Set(page.tasks.flatMap(of))].sort();

function drawFilters() {
  const judges = page.judges.map((_, place) => String(place));
  const dimensions = ["", ...DIMENSIONS];
  byId("filters").replaceChildren(...[
    el("label", {}, ["words", el("input", { id: "filter-q", type: "search", oninput: (event) => filtered("q", event.target.value) })]),
    judges.length > 1 ? filter("judge", "judge", judges, (place) => judgeName(Number(place))) : null,
    filter("scenario", "scenario", seen((row) => row.scenario)),
    filter("outcome", "outcome", seen((row) => row.outcome)),
    filter("dimension", "dimension", dimensions),
    filter("class", "page class", seen((row) => row.classes || [])),
    filter("flag", "flag", seen((row) => row.flags || [])),
    filter("error", "error", seen((row) => row.errors || [])),
    filter("user", "user", seen((row) => row.user), (user) => user || "all"),
    filter("sort", "order", ["", "worst", "best"], (value) => ({ "": "as in the data", worst: "least satisfied first", best: "most satisfied first" }[value])),
  ].filter(Boolean));
  for (const [name, value] of Object.entries(state.filters)) { const node = byId(`filter-${name}`); if (node) node.value = value; }
}

function drawList(keep) {
  select();
  const again = keep === undefined ? -1 : state.shown.indexOf(keep);
  state.current = Math.max(0, again);
  byId("count").textContent = `${number(state.shown.length)} of ${number(page.tasks.length)} tasks`;
  byId("list").replaceChildren(...state.shown.map((at, place) => {
    const row = page.tasks[at];
    return el("div", { class: "item", role: "option", id: `item-${place}`, onclick: () => choose(place) }, [
      el("div", { class: "top" }, [outcomeBadge(row.outcome), text("b", percent(shareOf(row))), text("span", plain(row.scenario)), text("span", row.user)]),
      text("div", row.query, { class: "words" })]);
  }));
  choose(state.current, again >= 0);
}

function choose(place, same) {
  state.current = Math.max(0, Math.min(place, state.shown.length - 1));
  if (!same) Object.assign(state, { product: 0, item: "", segment: 0, box: null, found: null });
  byId("list").querySelectorAll("[aria-selected]").forEach((item) => item.removeAttribute("aria-selected"));
  const item = byId(`item-${state.current}`);
  if (item) {
    item.setAttribute("aria-selected", "true");
    byId("list").setAttribute("aria-activedescendant", item.id);
    // Not scrollIntoView: that would move the whole page, too.
    scrollInto(item, byId("list"));
  }
  drawDetail();
  writeAddress();
}
