// Tables on top, filters, the list of tasks, and one task: its user, products, verdicts, evidence and what the agent did.
const page = JSON.parse(byId("data").textContent);
const text = (tag, words, more) => el(tag, more || {}, [words]);
const plain = (name) => name.replaceAll("_", " ");
const NOWHERE = { segment: 0, box: null, quote: "" };
const state = { judge: 0, filters: { q: "", scenario: "", outcome: "", class: "" }, shown: [], current: 0, product: 0, item: "", ...NOWHERE };
const judgeName = (at) => page.judges[at].name + (page.judges[at].shown === "full" || page.judges[at].name.endsWith(page.judges[at].shown) ? "" : ` (${page.judges[at].shown})`);
const badge = (words) => text("span", words, { class: `badge ${words.replaceAll(" ", "-")}` });
const pairs = (values, more) => el("dl", { class: "facts", ...(more || {}) },
  values.filter(([, words]) => words).flatMap(([name, words]) => [text("dt", name), text("dd", words)]));
const failed = (one) => (one ? `${one.kind}: ${one.message}` : "");

// A task's own data are read when it is looked at.
const read = new Map();
function detailOf(place) {
  if (!read.has(place)) {
    const found = JSON.parse(byId(`task-${place}`).textContent);
    for (const item of found.task.checklist) item.id = `${item.dimension}/${item.number}`;
    for (const one of found.products) one.seen = one.extraction || {};
    read.set(place, found);
  }
  return read.get(place);
}

function summary(one) {
  const cells = (row, tag) => row.map((cell, at) => text(at ? tag : "th", cell, at ? { class: "num" } : {}));
  return el("div", { class: one.heads.length > 5 ? "wide" : "" }, [text("h3", one.title), el("div", { class: "scroll" }, [el("table", {}, [
    el("thead", {}, [el("tr", {}, cells(one.heads, "th"))]), el("tbody", {}, one.rows.map((row) => el("tr", {}, cells(row, "td"))))])])]);
}

function chooser(name, label, values, words, change) {
  return el("label", {}, [label, el("select", { id: `filter-${name}`, onchange: (event) => change(event.target.value) },
    values.map((value) => text("option", words(value), { value })))]);
}
function drawFilters() {
  const set = (name) => (value) => { state.filters[name] = value; drawList(state.shown[state.current]); };
  const one = (name, label, of) => chooser(name, label, ["", ...new Set(page.tasks.flatMap(of))], (value) => plain(value) || "all", set(name));
  byId("filters").append(
    el("label", {}, ["words", el("input", { id: "filter-q", type: "search", oninput: (event) => set("q")(event.target.value) })]),
    one("scenario", "scenario", (row) => row.scenario), one("outcome", "outcome", (row) => row.outcome),
    one("class", "page class", (row) => row.classes));
  if (page.judges.length > 1) {
    byId("filters").append(chooser("judge", "judge", page.judges.map((_, at) => at), judgeName, (at) => { state.judge = Number(at); drawList(state.shown[state.current]); }));
  }
}
function passes(row) {
  const { q, scenario, outcome, class: kind } = state.filters;
  return (!scenario || row.scenario === scenario) && (!outcome || row.outcome === outcome) && (!kind || row.classes.includes(kind))
    && q.toLowerCase().split(/\s+/).every((word) => row.words.includes(word));
}
function shareOf(row) {
  const [yes, of] = row.shares[state.judge] || [0, 0];
  return of ? `${yes} of ${of} satisfied (${(100 * yes / of).toFixed(0)} %)` : "";
}
function drawList(keep) {
  state.shown = [...page.tasks.keys()].filter((at) => passes(page.tasks[at]));
  byId("count").textContent = `${number(state.shown.length)} of ${number(page.tasks.length)} tasks`;
  byId("list").replaceChildren(...state.shown.map((at, place) => {
    const row = page.tasks[at];
    return el("div", { class: "item", role: "option", id: `item-${place}`, onclick: () => choose(place) }, [
      el("div", { class: "top" }, [badge(row.outcome), text("b", shareOf(row)), text("span", plain(row.scenario)), text("span", row.user)]),
      text("div", row.query, { class: "words" })]);
  }));
  choose(Math.max(0, state.shown.indexOf(keep)), state.shown.includes(keep));
}
function choose(place, same) {
  state.current = Math.max(0, Math.min(place, state.shown.length - 1));
  if (!same) Object.assign(state, { product: 0, item: "", ...NOWHERE });
  byId("list").querySelectorAll("[aria-selected]").forEach((item) => item.removeAttribute("aria-selected"));
  const item = byId(`item-${state.current}`);
  if (item) { item.setAttribute("aria-selected", "true"); scrollInto(item, byId("list")); }
  drawDetail();
}
// Not scrollIntoView: that would move the whole page, too.
function scrollInto(node, box) {
  const top = node.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
  if (top < box.scrollTop || top + node.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
}

// --- a product's evidence: its address, pictures, facts and text ---
const address = (url) => (/^https?:\/\/[^/\s][^\s]*$/.test(url || "") && url.length <= 2000
  ? el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, [url]) : text("span", url || "no address"));
// Names of files of evidence lead nowhere else.
const kept = (file) => (/^[A-Za-z0-9][\w.-]{0,199}$/.test(file || "") ? `evidence/${file}` : "");
const segmentsOf = (product) => (product.seen.page && product.seen.page.segments) || [];
function took(call, requests, seconds) {
  const time = seconds || (call && call.seconds), usage = call && call.usage, usd = call && call.cost_usd;
  return [time && `${time.toFixed(1)} s`, requests && `${requests} requests`, usage && `${number((usage.input_tokens || 0) + (usage.output_tokens || 0))} tokens`,
    usd !== undefined && usd !== null && `$${usd.toFixed(4)}`].filter(Boolean).join(" · ");
}
// The chosen segment in full, with the place that a verdict rests on.
function viewer(product, view, turn) {
  const segments = segmentsOf(product);
  if (!segments.length) return text("p", "No pictures of this page were kept.", { class: "muted" });
  const at = Math.min(view.segment, segments.length - 1), { size, file, top_px: top } = segments[at], box = view.box;
  const region = box && svg("rect", { class: "region", x: box.left_px, y: box.top_px, width: Math.max(1, box.right_px - box.left_px), height: Math.max(1, box.bottom_px - box.top_px) });
  const thumbs = segments.map((each, place) => el("button", { type: "button", class: "thumb", "aria-pressed": String(place === at), "aria-label": `Part ${place + 1}`, onclick: () => turn(place) },
    [el("img", { src: kept(each.file), alt: "", loading: "lazy" })]));
  return el("figure", { class: "viewer" }, [segments.length > 1 ? el("div", { class: "thumbs" }, thumbs) : null,
    svg("svg", { class: "picture", viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": `Part ${at + 1} of the page` }, [
      kept(file) ? svg("image", { ...size, preserveAspectRatio: "none", href: kept(file) }) : null, region]),
    text("figcaption", `part ${at + 1} of ${segments.length}, from ${number(top)} px`)]);
}
function factRows(product) {
  if (!product.facts.length) return text("p", "No facts of a product were read from this page.", { class: "muted" });
  return el("table", { class: "read" }, [el("tbody", {}, product.facts.map(([name, words, source, quote]) => el("tr", {}, [
    text("th", name, { scope: "row" }), el("td", { class: "long" }, [text("span", words)]),
    el("td", { class: "from" }, [source, quote && quote !== words ? text("q", ` ${quote}`) : null])])))]);
}
// Where a quote stands in a text: blanks, letters' case and the kind of quotation marks don't count.
const straight = (words) => words.replace(/[\u2018\u2019]/g, "'").replace(/[\u201c\u201d]/g, '"').replace(/[\u2010\u2011\u2013\u2014]/g, "-");
function findQuote(shown, quote) {
  const words = straight(quote || "").split(/\s+/).filter(Boolean).map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return words.length ? new RegExp(words.join("\\s+"), "i").exec(straight(shown)) : null;
}
function pageText(product, quote) {
  if (!product.text) return text("p", "No text of this page was kept.", { class: "muted" });
  const found = findQuote(product.text, quote), [start, end] = found ? [found.index, found.index + found[0].length] : [0, 0];
  return el("pre", { class: "pagetext", tabindex: "0" }, [product.text.slice(0, start), found ? text("mark", product.text.slice(start, end)) : null, product.text.slice(end),
    product.text_more ? ` … ${number(product.text_more)} characters are not shown` : null]);
}
function visited(product) {
  const one = product.seen.page || {}, lost = failed(one.failure || product.seen.failure);
  return el("div", {}, [el("p", { class: "where" }, [address(product.url)]),
    pairs([["led to", one.final_url !== one.url ? one.final_url : ""], ["status", one.status ? String(one.status) : ""], ["title", one.title], ["fetched", one.fetched_at],
      ["closed", (one.dismissed || []).join(", ")], ["refused requests", one.blocked_requests ? String(one.blocked_requests) : ""], ["document", one.html_file]]),
    lost ? text("p", lost, { class: "wrong" }) : null]);
}

// --- one task ---
const MARKS = { yes: ["✓", "satisfied"], no: ["✗", "not satisfied"], none: ["·", "nothing said"] };
const verdictsOf = (product, item) => product.judgements.map((one) => ({ judge: one.judge, verdict: (one.verdicts || []).find((each) => each.item === item) }));
const decided = (verdict) => !!verdict && !(verdict.flags || []).some((flag) => flag === "undecided" || flag === "missing");
function mark({ judge, verdict }) {
  const flags = (verdict && verdict.flags) || [], kind = !decided(verdict) ? "none" : verdict.satisfied ? "yes" : "no";
  return el("span", { class: `mark ${kind}`, title: [judgeName(judge), MARKS[kind][1], ...flags].join(", ") },
    [MARKS[kind][0], flags.some((flag) => flag !== "undecided") ? text("sup", "!") : null]);
}
function explained(product, item) {
  return verdictsOf(product, item).map(({ judge, verdict }) => el("div", { class: "said-by" }, [
    el("p", { class: "top" }, [mark({ judge, verdict }), text("b", judgeName(judge)), ((verdict && verdict.flags) || []).map((flag) => text("span", flag, { class: "tag error" }))]),
    verdict && verdict.reasoning ? text("p", verdict.reasoning) : null,
    verdict && verdict.quote ? el("p", {}, [text("q", verdict.quote), findQuote(product.text, verdict.quote) ? null : text("span", " not in the page's text as it is shown here", { class: "muted" })]) : null]));
}
// Opens what is said of an item, with the quote and the place of the chosen judge, or of the first that has any.
function openItem(product, at, item) {
  if (state.product === at && state.item === item) { pick({ item: "", ...NOWHERE }); return; }
  const placed = (verdict) => verdict && verdict.place && segmentsOf(product)[verdict.place.segment] && verdict.place;
  const said = verdictsOf(product, item).filter(({ verdict }) => verdict && (findQuote(product.text, verdict.quote) || placed(verdict)));
  const { verdict } = said.find((one) => one.judge === state.judge) || said[0] || {}, where = placed(verdict);
  pick({ product: at, item, ...NOWHERE, quote: (verdict && verdict.quote) || "", ...(where ? { segment: where.segment, box: where.box } : {}) });
}
function matrix(task, products) {
  let dimension = "";
  const rows = task.checklist.flatMap((item) => {
    const head = item.dimension === dimension ? [] : [el("tr", { class: "group" }, [text("th", plain(item.dimension), { colspan: products.length + 1 })])];
    dimension = item.dimension;
    const open = item.id === state.item && products[state.product];
    return [...head, el("tr", { class: open ? "open" : "" }, [text("td", item.text), products.map((product, at) => el("td", { class: "num" }, [product.judgements.length
      ? el("button", { type: "button", class: "marks", "aria-label": `Product ${product.rank + 1}: ${item.text}`, onclick: () => openItem(product, at, item.id) }, verdictsOf(product, item.id).map(mark)) : "-"]))]),
    ...(open ? [el("tr", { class: "why" }, [el("td", { colspan: products.length + 1 }, explained(open, item.id))])] : [])];
  });
  const head = el("tr", {}, [text("th", "checklist"), products.map((one) => text("th", `${one.rank + 1}.`, { class: "num" }))]);
  return el("table", { class: "matrix" }, [el("thead", {}, [head]), el("tbody", {}, rows)]);
}
function card(product, at) {
  const said = product.judgements.find((one) => one.judge === state.judge), first = segmentsOf(product)[0];
  const items = said && !said.failure ? (said.verdicts || []).filter(decided) : [];
  return el("button", { type: "button", class: "card", id: `product-${at}`, "aria-selected": String(at === state.product), onclick: () => pick({ product: at, item: "", ...NOWHERE }) }, [
    first ? el("img", { src: kept(first.file), alt: "", loading: "lazy" }) : text("span", "no picture", { class: "nopicture" }),
    el("span", { class: "what" }, [el("span", { class: "top" }, [`${product.rank + 1}.`, badge(product.class || "not fetched"),
      items.length ? text("b", `${items.filter((one) => one.satisfied).length}/${items.length}`) : null, product.rank < 3 ? null : text("span", "not counted", { class: "tag" })]),
    text("span", product.name || product.url, { class: "name" }), product.errors.map((error) => text("span", error, { class: "tag error" }))])]);
}
function evidence(product) {
  const judged = product.judgements.map((one) => [judgeName(one.judge), [failed(one.failure), took(one.call, one.requests),
    one.reported && `says itself: ${one.reported.satisfaction_percentage ?? "–"} % satisfied; ${one.reported.reason || ""}`].filter(Boolean).join(" · ")]);
  return el("div", { id: "evidence" }, [
    el("div", { class: "top" }, [badge(product.class || "not fetched"), text("span", product.seen.class_reason || "", { class: "muted" }), text("span", product.seen.extractor ? `read by ${product.seen.extractor}` : "", { class: "muted" })]),
    visited(product), product.reasoning ? [text("h3", "why the agent chose it"), text("p", product.reasoning, { class: "muted" })] : null,
    el("div", { class: "twofold" }, [viewer(product, state, (at) => pick({ segment: at, box: null })), pageText(product, state.quote)]),
    text("h3", "facts"), factRows(product), pairs(judged),
    product.seen.raw ? el("details", {}, [text("summary", "the extractor's own words"), text("pre", product.seen.raw)]) : null]);
}
function trace(curation) {
  const steps = curation.trace || [];
  if (!steps.length && !curation.raw) return null;
  return el("details", { class: "trace" }, [text("summary", `what the agent did: ${steps.length} steps${curation.ended ? `, ended: ${curation.ended}` : ""}`),
    el("ol", {}, steps.map((one) => el("li", {}, [
      el("p", {}, [text("code", one.action), " ", one.kind ? text("span", plain(one.kind), { class: "tag" }) : null]),
      one.url ? el("p", {}, [address(one.url)]) : null, one.thought ? text("p", one.thought) : null, one.observation ? text("pre", one.observation) : null,
      one.cited_urls ? text("p", one.cited_urls.join(" · "), { class: "muted" }) : null,
      kept(one.screenshot) ? el("a", { href: kept(one.screenshot), target: "_blank" }, [el("img", { src: kept(one.screenshot), alt: "What the agent saw", loading: "lazy", width: 320 })]) : null]))),
    curation.raw ? text("pre", curation.raw) : null]);
}
function drawDetail() {
  const at = state.shown[state.current];
  if (at === undefined) { byId("detail").replaceChildren(text("p", "No task is left by the filters.", { class: "muted" })); return; }
  const row = page.tasks[at], { task, products, curation: found } = detailOf(at), curation = found || {}, target = task.target || {};
  const context = Object.entries(task.context).map(([name, words]) => [plain(name), words]);
  byId("detail").replaceChildren(...[
    el("div", { class: "top" }, [badge(row.outcome), text("span", plain(row.scenario), { class: "tag" }), text("span", shareOf(row)), text("span", row.id, { class: "muted" })]),
    text("p", row.query, { class: "said" }), task.situation && task.situation !== row.query ? text("p", task.situation, { class: "muted" }) : null,
    pairs([["looks for", task.product_type], ["budget", task.budget], ["made of", [target.title, target.brand].filter(Boolean).join(" · ")],
      ["agent", [took(curation.call, curation.requests, curation.seconds), failed(curation.failure)].filter(Boolean).join(" · ")]]),
    context.length ? el("details", {}, [text("summary", "what is told of the user"), pairs(context)]) : null,
    products.length ? el("div", { class: "cards" }, products.map(card)) : text("p", "The agent named no product.", { class: "muted" }),
    matrix(task, products), products.length ? evidence(products[state.product]) : null, trace(curation)].filter(Boolean));
}
function pick(changes) {
  Object.assign(state, changes);
  drawDetail();
  const found = byId("detail").querySelector(".pagetext mark");
  if (found) scrollInto(found, found.parentNode);
}

byId("title").textContent = page.title;
byId("status").textContent = page.status;
byId("tables").append(...page.tables.map(summary));
byId("facts").replaceWith(pairs(page.facts, { id: "facts" }));
drawFilters();
drawList();
