// One task: its user, its products, the checklist with every judge's verdicts, the evidence, what the agent did.
const MARKS = { yes: "✓", no: "✗", none: "·" };

function verdictsOf(product, item) {
  return (product.judgements || []).map((one) => ({ judge: one.judge, verdict: (one.verdicts || []).find((each) => each.item === item) }));
}
function countOf(product, checklist) {
  const chosen = (product.judgements || []).find((one) => one.judge === Number(state.filters.judge));
  if (!chosen) return null;
  const yes = new Set((chosen.verdicts || []).filter((one) => one.satisfied).map((one) => one.item));
  const items = checklist.filter((item) => !state.filters.dimension || item.dimension === state.filters.dimension);
  return { k: items.filter((item) => yes.has(item.id)).length, n: items.length };
}

function card(product, place, task) {
  const count = countOf(product, task.checklist), first = (product.segments || [])[0];
  const source = first && (small(first) || first.full);
  return el("button", { type: "button", class: "card", role: "tab", id: `product-${place}`, "aria-selected": String(place === state.product), onclick: () => { pick({ product: place, item: "", segment: 0, box: null, found: null }); byId(`product-${place}`).focus(); } }, [
    source ? el("img", { src: source, alt: "", loading: "lazy" }) : el("span", { class: "nopicture" }, ["no picture"]),
    el("span", { class: "what" }, [
      el("span", { class: "top" }, [`${product.rank + 1}.`, classBadge(product.page_class || "not fetched"),
        count ? text("b", `${count.k}/${count.n}`) : null, product.counted === false ? text("span", "not counted", { class: "tag" }) : null]),
      text("span", product.name || product.url, { class: "name" }),
      (product.errors || []).map((error) => text("span", error, { class: "tag error" }))])]);
}

function mark({ judge, verdict }) {
  const kind = !verdict || (verdict.flags || []).includes("undecided") ? "none" : verdict.satisfied ? "yes" : "no";
  const said = { yes: "satisfied", no: "not satisfied", none: "nothing said" }[kind];
  const odd = verdict && (verdict.flags || []).some((flag) => flag !== "undecided");
  return el("span", { class: `mark ${kind}`, title: `${judgeName(judge)}: ${said}${verdict && verdict.flags ? ` (${verdict.flags.join(", ")})` : ""}` },
    [MARKS[kind], odd ? text("sup", "!") : null]);
}

function explained(product, item) {
  const said = verdictsOf(product, item);
  if (!said.length) return text("p", "No judge was asked about this product.", { class: "muted" });
  return said.map(({ judge, verdict }) => el("div", { class: "said-by" }, [
    el("p", { class: "top" }, [mark({ judge, verdict }), text("b", judgeName(judge)),
      ...((verdict && verdict.flags) || []).map((flag) => text("span", flag, { class: "tag error" }))]),
    verdict && verdict.reasoning ? text("p", verdict.reasoning) : null,
    verdict && verdict.quote ? el("p", {}, [text("q", verdict.quote), " ",
      verdict.found ? el("button", { type: "button", class: "small", onclick: () => { pick({ found: verdict.found }); showMark(); } }, ["in the text"])
        : text("span", "not in the page's text as it was kept", { class: "muted" })]) : null,
    verdict && verdict.segment !== undefined && verdict.segment !== null ? el("button", {
      type: "button", class: "small", onclick: () => { pick({ segment: verdict.segment, box: verdict.box, boxSegment: verdict.segment }); byId("pictures").scrollIntoView({ block: "nearest" }); },
    }, [`on the picture (part ${verdict.segment + 1})`]) : null,
    verdict ? null : text("p", "Nothing was said of this item.", { class: "muted" })]));
}
function showMark() {
  const found = document.querySelector("#detail mark");
  if (found) found.scrollIntoView({ block: "center" });
}

function choices(verdict) {
  const found = verdict && verdict.verdict;
  return { found: (found && found.found) || null, box: (found && found.box) || null,
    ...(found && found.segment !== undefined && found.segment !== null ? { segment: found.segment, boxSegment: found.segment } : {}) };
}
function openItem(product, place, item) {
  const same = state.product === place && state.item === item;
  if (same) { pick({ item: "", box: null, found: null }); return; }
  const said = verdictsOf(product, item);
  const ours = said.find((one) => one.judge === Number(state.filters.judge) && one.verdict && (one.verdict.found || one.verdict.box));
  const best = ours || said.find((one) => one.verdict && (one.verdict.found || one.verdict.box));
  pick({ product: place, item, segment: place === state.product ? state.segment : 0, box: null, found: null, ...choices(best) });
}

function matrix(task) {
  const products = task.products || [];
  const head = el("tr", {}, [text("th", "checklist"), products.map((one, place) => text("th", `${one.rank + 1}.`, { class: `num${place === state.product ? " here" : ""}` }))]);
  const rows = [];
  let dimension = "";
  for (const item of task.checklist) {
    if (state.filters.dimension && item.dimension !== state.filters.dimension) continue;
    if (item.dimension !== dimension) {
      dimension = item.dimension;
      rows.push(el("tr", { class: "group" }, [text("th", plain(dimension), { colspan: products.length + 1 })]));
    }
    rows.push(el("tr", { class: item.id === state.item ? "open" : "" }, [text("td", item.text, { class: "item-text" }), products.map((product, place) => el("td", { class: `num${place === state.product ? " here" : ""}` }, [
      product.judgements ? el("button", { type: "button", class: "marks", "aria-expanded": String(place === state.product && item.id === state.item), "aria-label": `Product ${product.rank + 1}: ${item.text}`,
        onclick: () => openItem(product, place, item.id) }, verdictsOf(product, item.id).map(mark)) : "-"]))]));
    if (item.id === state.item && products[state.product]) {
      rows.push(el("tr", { class: "why" }, [el("td", { colspan: products.length + 1 }, [explained(products[state.product], item.id)])]));
    }
  }
  return el("table", { class: "matrix" }, [el("thead", {}, [head]), el("tbody", {}, rows)]);
}

function judgementFacts(product) {
  const lines = (product.judgements || []).map((one) => ({ name: judgeName(one.judge),
    text: [one.failure, one.took, one.reported ? `says itself: ${one.reported}` : ""].filter(Boolean).join(" · ") })).filter((one) => one.text);
  return lines.length ? [text("h3", "what judging took"), pairs(lines)] : null;
}

function evidence(product) {
  return el("div", { id: "evidence", role: "tabpanel", "aria-labelledby": `product-${state.product}` }, [
    el("div", { class: "bar" }, [classBadge(product.page_class || "not fetched"),
      text("span", product.class_reason || (product.segments ? "" : "nobody looked at it"), { class: "muted" }), el("span", { class: "grow" }),
      product.extractor ? text("span", `read by ${product.extractor}`, { class: "muted" }) : null]),
    visited(product),
    product.reasoning ? [text("h3", "why the agent chose it"), text("p", product.reasoning, { class: "muted" })] : null,
    el("div", { class: "twofold" }, [
      el("div", { id: "pictures" }, [text("h3", "pictures"), viewer(product, state, (place) => pick({ segment: place }))]),
      el("div", {}, [text("h3", "text of the page"), pageText(product, state.found)])]),
    text("h3", "facts"), factRows(product), judgementFacts(product),
    product.raw ? el("details", {}, [text("summary", "the extractor's own words"), text("pre", product.raw)]) : null]);
}

function trace(task) {
  const steps = task.trace || [];
  if (!steps.length && !task.raw) return null;
  return el("details", { class: "trace" }, [text("summary", `what the agent did: ${steps.length} step${steps.length === 1 ? "" : "s"}${task.ended ? `, ended: ${task.ended}` : ""}`),
    el("ol", {}, steps.map((one) => el("li", {}, [
      el("p", {}, [text("code", one.action), " ", one.kind ? text("span", one.kind, { class: "tag" }) : null, one.seconds ? text("small", ` ${one.seconds.toFixed(1)} s`) : null]),
      one.url ? el("p", {}, [address(one.url, one.link)]) : null,
      one.thought ? text("p", one.thought) : null,
      one.observation ? text("pre", one.observation) : null,
      one.cited ? el("ul", {}, one.cited.map((url) => text("li", url))) : null,
      one.screenshot ? el("a", { href: one.screenshot, target: "_blank" }, [el("img", { src: one.screenshot, alt: "What the agent saw", loading: "lazy", width: 320 })]) : null]))),
    task.raw ? [text("h3", "its last words"), text("pre", task.raw)] : null]);
}

function drawDetail() {
  const at = state.shown[state.current];
  if (at === undefined) { byId("detail").replaceChildren(text("p", "No task is left by the filters.", { class: "muted" })); return; }
  const row = page.tasks[at], task = detailOf(at), products = task.products || [];
  state.product = Math.min(state.product, Math.max(0, products.length - 1));
  const share = shareOf(row), took = [task.took, task.failure].filter(Boolean).join(" · ");
  const open = byId("detail").querySelector("details.trace");
  byId("detail").replaceChildren(...[
    el("div", { class: "bar" }, [outcomeBadge(row.outcome), text("span", plain(row.scenario), { class: "tag" }),
      share ? text("span", `${share.k} of ${share.n} satisfied (${percent(share)})`) : null, el("span", { class: "grow" }), text("span", row.id, { class: "muted" })]),
    text("p", row.query, { class: "said" }),
    task.situation && task.situation !== row.query ? text("p", task.situation, { class: "muted" }) : null,
    pairs([...(task.facts || []), ...(took ? [{ name: "agent", text: took }] : [])]),
    task.context && task.context.length ? el("details", { class: "context" }, [text("summary", "what is told of the user"), pairs(task.context)]) : null,
    products.length ? el("div", { class: "cards", role: "tablist", "aria-label": "Products" }, products.map((one, place) => card(one, place, task)))
      : text("p", "The agent named no product.", { class: "muted" }),
    matrix(task),
    products.length ? evidence(products[state.product]) : null,
    trace(task)].filter(Boolean));
  if (open && open.open) { const again = byId("detail").querySelector("details.trace"); if (again) again.open = true; }
}
// Changes what is looked at within a task.
function pick(changes) {
  Object.assign(state, changes);
  const text_ = byId("detail").querySelector(".pagetext"), scrolled = text_ ? text_.scrollTop : 0;
  const focused = document.activeElement && document.activeElement.getAttribute("aria-label");
  drawDetail();
  const again = byId("detail").querySelector(".pagetext");
  if (again) {
    const found = again.querySelector("mark");
    again.scrollTop = scrolled;
    if (found) scrollInto(found, again);
  }
  if (focused) for (const one of byId("detail").querySelectorAll("button.marks, button.thumb")) if (one.getAttribute("aria-label") === focused) one.focus({ preventScroll: true });
}
