// Puts the page together and listens to the keyboard.
const KEYS = [["j k", "next, previous task (labelling: item)"], ["1 2 3", "product of the task (labelling: satisfied, not, can't tell)"],
  ["s", "next picture of the page"], ["n p", "labelling: next, previous product"], ["/", "search"], ["?", "these keys"]];
let labelling = false;

function mode(on) {
  labelling = on;
  byId("look").hidden = on;
  byId("label").hidden = !on;
  byId("mode").textContent = on ? "Look" : "Label";
  // Who found the products stands in the title.
  byId("title").textContent = on ? "Labels" : page.title;
  byId("status").textContent = on ? "" : page.status;
  document.title = on ? "Labels" : page.title;
  if (on && !label.file) askWho("");
  if (!on) writeAddress();
}

byId("tables").append(...page.tables.map(summary));
byId("facts").replaceWith(pairs([...page.facts, { name: "signature", text: page.signature }].filter((one) => one.text), { id: "facts" }));
byId("keys").append(...KEYS.flatMap(([keys, words]) => [text("dt", keys), text("dd", words)]));
byId("help-open").addEventListener("click", () => byId("help").showModal());
byId("mode").addEventListener("click", () => mode(!labelling));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (/SELECT|TEXTAREA/.test(event.target.tagName) || (event.target.tagName === "INPUT" && event.target.type !== "checkbox")) return;
  if (event.key === "?") { byId("help").showModal(); event.preventDefault(); return; }
  if (labelling) { if (labelKey(event)) event.preventDefault(); return; }
  const inList = event.target === byId("list"), task = state.shown.length ? detailOf(state.shown[state.current]) : null;
  const products = (task && task.products) || [];
  if (event.key === "j" || (event.key === "ArrowDown" && inList)) choose(state.current + 1);
  else if (event.key === "k" || (event.key === "ArrowUp" && inList)) choose(state.current - 1);
  else if (products[Number(event.key) - 1]) pick({ product: Number(event.key) - 1, item: "", segment: 0, box: null, found: null });
  else if (event.key === "s" && products.length && (products[state.product].segments || []).length) pick({ segment: (state.segment + 1) % products[state.product].segments.length });
  else if (event.key === "/") byId("filter-q").focus();
  else return;
  event.preventDefault();
});

byId("title").textContent = page.title;
byId("status").textContent = page.status;
const asked = readAddress();
drawFilters();
drawList(asked === undefined ? undefined : page.tasks.findIndex((row) => row.id === asked));
