// A person's verdicts: one product at a time, by its evidence alone. Who found it and what the judges say is not shown.
// The form of the file is that of agreement.py.
const FORMAT = "grounding-curation-labels.1";
const SAYS = { satisfied: "satisfied", "not-satisfied": "not", "cant-tell": "can't tell" }, LABELS = Object.keys(SAYS);
const label = { file: null, sample: [], at: 0, item: 0, segment: 0 };

// 32 bits of a seed and a name: FNV-1a over UTF-8, then the last steps of MurmurHash3, so that near names lie far apart.
function chance(seed, name) {
  let h = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${seed}/${name}`)) h = Math.imul(h ^ byte, 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
const places = page.tasks.flatMap((row, task) => row.classes.map((kind, product) => ({ id: `${row.id}/${product}`, task, product, kind }))).filter((one) => one.kind === "product");
const sampled = ({ seed, sample }) => places.map((one) => ({ ...one, rank: chance(seed, one.id) })).sort((x, y) => x.rank - y.rank || (x.id < y.id ? -1 : 1)).slice(0, sample);
const labelOf = (id, item) => ((label.file.products.find((one) => one.product === id) || { labels: [] }).labels.find((one) => one.item === item) || {}).label;
const complete = (one) => detailOf(one.task).task.checklist.every((item) => labelOf(one.id, item.id));

// A file of somebody's, or a message why it is none. Nothing in it is taken for anything but text.
function readFile(content) {
  let file;
  try { file = JSON.parse(content); } catch { return "This is not JSON."; }
  if (!file || file.format !== FORMAT || typeof file.annotator !== "string" || !Array.isArray(file.products)) return `This is no file of labels (format ${FORMAT}).`;
  if (file.run_id !== page.run_id) return `These labels are of another run (${String(file.run_id).slice(0, 120)}), not of ${page.run_id}.`;
  const known = new Set(places.map((one) => one.id));
  const sound = (each) => each && typeof each.item === "string" && typeof each.text === "string" && LABELS.includes(each.label);
  if (!file.products.every((one) => one && known.has(one.product) && typeof one.url === "string" && Array.isArray(one.labels) && one.labels.every(sound))) return "A product or a label in it is not of this run.";
  return file;
}
// Kept by the browser under the name of who labels, as long as it keeps anything for this page.
const storeName = (annotator) => `grounding curation labels ${page.run_id} ${annotator}`;
function keep() {
  try { localStorage.setItem(storeName(label.file.annotator), JSON.stringify(label.file)); } catch { /* then the file alone */ }
}
function stored(annotator) {
  try { const found = readFile(localStorage.getItem(storeName(annotator))); return typeof found === "string" ? null : found; } catch { return null; }
}

function askWho(message) {
  // No key may label behind the form.
  label.file = null;
  const field = (id, type, value, more) => el("input", { id, type, value, ...(more || {}) });
  byId("label").replaceChildren(
    text("p", "You see a product's address and what was kept of its page, and say of each item of a checklist whether the product satisfies it: judge by the page alone. Save the file before you close the page.", { class: "muted" }),
    message ? text("p", message, { class: "wrong", role: "alert" }) : "",
    el("form", { id: "who", onsubmit: start }, [
      el("label", {}, ["your name", field("annotator", "text", "", { required: true, maxlength: 64, pattern: "[\\p{L}\\p{N}_]([\\p{L}\\p{N}_ .@\\-]{0,62}[\\p{L}\\p{N}_.@\\-])?" })]),
      el("label", {}, ["products", field("sample", "number", "50", { min: 1, max: 100000, required: true })]),
      el("label", {}, ["drawn by seed", field("seed", "number", "0", { min: 0, max: 4294967295, required: true })]),
      el("button", { type: "submit" }, ["Start"]),
      el("label", {}, ["or go on with a file ", field("load", "file", "", { accept: ".json,application/json", onchange: load })])]));
}
function start(event) {
  event.preventDefault();
  const annotator = byId("annotator").value.trim();
  const file = { format: FORMAT, annotator, run_id: page.run_id, products: [] };
  begin({ ...(stored(annotator) || file), seed: Number(byId("seed").value), sample: Number(byId("sample").value) });
}
function load(event) {
  event.target.files[0].text().then((content) => {
    const found = readFile(content);
    if (typeof found === "string") askWho(found); else begin(found);
  }, () => askWho("The file can't be read."));
}
function begin(file) {
  const sample = sampled(file);
  if (!sample.length) { askWho("This run has no product pages."); return; }
  Object.assign(label, { file: { ...file, sample: sample.length }, sample });
  turn(Math.max(0, sample.findIndex((one) => !complete(one))));
}
function turn(at) {
  Object.assign(label, { at: Math.max(0, Math.min(at, label.sample.length - 1)), segment: 0 });
  const { id, task } = label.sample[label.at];
  label.item = Math.max(0, detailOf(task).task.checklist.findIndex((item) => !labelOf(id, item.id)));
  drawLabels();
}
function say(item, what) {
  const { id, task, product } = label.sample[label.at], { products, task: of } = detailOf(task);
  let entry = label.file.products.find((one) => one.product === id);
  if (!entry) label.file.products.push(entry = { product: id, url: products[product].url, labels: [] });
  entry.labels = [...entry.labels.filter((one) => one.item !== item.id), { item: item.id, text: item.text, label: what }];
  keep();
  label.item = Math.min(of.checklist.findIndex((one) => one.id === item.id) + 1, of.checklist.length - 1);
  drawLabels();
}
function save() {
  const link = el("a", { href: URL.createObjectURL(new Blob([JSON.stringify(label.file, null, 1)], { type: "application/json" })), download: `labels-${label.file.annotator.replaceAll(/[^\w.-]/g, "_")}.json` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
function drawLabels() {
  const one = label.sample[label.at], { task, products } = detailOf(one.task), product = products[one.product], items = task.checklist;
  const done = items.filter((item) => labelOf(one.id, item.id)).length, same = byId("label").dataset.product === one.id;
  const scrolled = same ? [".sheet", ".pagetext"].map((name) => (byId("label").querySelector(name) || {}).scrollTop || 0) : [0, 0];
  byId("label").dataset.product = one.id;
  byId("label").replaceChildren(
    el("div", { class: "labelbar" }, [text("b", `product ${label.at + 1} of ${label.sample.length}`),
      text("span", `${done} of ${items.length} items · ${label.sample.filter(complete).length} products done`, { role: "status", id: "progress" }), text("span", label.file.annotator, { class: "tag" }),
      el("button", { type: "button", onclick: () => turn(label.at - 1) }, ["previous"]), el("button", { type: "button", onclick: () => turn(label.at + 1) }, ["next"]),
      el("button", { type: "button", id: "save", onclick: save }, ["Save file"]), text("span", "keys 1 2 3: what you say, n p: next and previous product", { class: "muted" })]),
    el("div", { class: "desk" }, [
      el("div", { class: "seen" }, [visited(product), viewer(product, { segment: label.segment }, (at) => { label.segment = at; drawLabels(); }), factRows(product), pageText(product, "")]),
      el("ol", { class: "sheet" }, items.map((item, at) => el("li", { class: `ask${at === label.item ? " now" : ""}` }, [text("p", item.text),
        LABELS.map((what) => el("button", { type: "button", class: "say", "aria-pressed": String(labelOf(one.id, item.id) === what), onclick: () => say(item, what) }, [SAYS[what]]))])))]));
  for (const [at, name] of [".sheet", ".pagetext"].entries()) { const box = byId("label").querySelector(name); if (box) box.scrollTop = scrolled[at]; }
  scrollInto(byId("label").querySelector(".now"), byId("label").querySelector(".sheet"));
}

byId("mode").addEventListener("click", () => {
  const on = byId("label").hidden;
  byId("look").hidden = on;
  byId("label").hidden = !on;
  byId("mode").textContent = on ? "Look" : "Label";
  // Who found the products stands in the title.
  for (const [id, words] of [["title", "Labels"], ["status", ""]]) byId(id).textContent = on ? words : page[id];
  document.title = on ? "Labels" : page.title;
  if (on && !label.file) askWho("");
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /SELECT|TEXTAREA|INPUT/.test(event.target.tagName)) return;
  const key = Number(event.key);
  if (byId("label").hidden) {
    const products = state.shown.length ? detailOf(state.shown[state.current]).products : [];
    if (event.key === "j" || event.key === "k") choose(state.current + (event.key === "j" ? 1 : -1));
    else if (products[key - 1]) pick({ product: key - 1, item: "", ...NOWHERE });
  } else if (label.file) {
    if (LABELS[key - 1]) say(detailOf(label.sample[label.at].task).task.checklist[label.item], LABELS[key - 1]);
    else if (event.key === "n" || event.key === "p") turn(label.at + (event.key === "n" ? 1 : -1));
  }
});
