// Which products a person is asked about, and what was said of them. The file's form is that of reliability/labels.py.
const FORMAT = "grounding-curation-labels.1";
const LABELS = ["satisfied", "not-satisfied", "cant-tell"];
const IDLE_S = 120;

// 32 bits of a seed and a name: FNV-1a over UTF-8, then the last steps of MurmurHash3, so that near names lie far apart.
function chance(seed, name) {
  let h = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${seed}/${name}`)) h = Math.imul(h ^ byte, 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
const CHOICES = { product: (kind) => kind === "product", fetched: (kind) => kind !== "not fetched", all: () => true };
function sample(seed, count, pages) {
  const fit = page.places.filter((place) => CHOICES[pages](place[3]));
  return fit.map((place) => ({ id: place[0], task: place[1], product: place[2], rank: chance(seed, place[0]) }))
    .sort((x, y) => x.rank - y.rank || (x.id < y.id ? -1 : 1)).slice(0, count);
}

const isAnnotator = (name) => /^[\p{L}\p{N}_]([\p{L}\p{N}_ .@-]{0,62}[\p{L}\p{N}_.@-])?$/u.test(name);
function emptyFile(annotator, seed, count, pages) {
  return { format: FORMAT, annotator, run_id: page.run_id, signature: page.signature, seed, sample: count, pages, products: [] };
}
function entryOf(file, id, url) {
  let found = file.products.find((one) => one.product === id);
  if (!found) { found = { product: id, url, blind: true, seconds: 0, labels: [] }; file.products.push(found); }
  return found;
}
const labelOf = (file, id, item) => {
  const found = file.products.find((one) => one.product === id);
  const label = found && found.labels.find((one) => one.item === item);
  return label ? label.label : "";
};
function setLabel(file, id, url, item, label) {
  const entry = entryOf(file, id, url);
  entry.labels = entry.labels.filter((one) => one.item !== item.id);
  if (label) entry.labels.push({ item: item.id, text: item.text, label });
  if (!entry.labels.length) file.products = file.products.filter((one) => one !== entry);
}

// A file of somebody's, or a message why it is none. Nothing in it is taken for anything but text.
function readFile(content) {
  let file;
  try { file = JSON.parse(content); } catch { return "This is not JSON."; }
  if (!file || file.format !== FORMAT) return `This is no file of labels (format ${FORMAT}).`;
  if (file.run_id !== page.run_id) return `These labels are of another run (${String(file.run_id).slice(0, 120)}), not of ${page.run_id}.`;
  if (typeof file.annotator !== "string" || !isAnnotator(file.annotator)) return "The field annotator holds no name.";
  if (!Array.isArray(file.products)) return "The field products is no list.";
  const known = new Set(page.places.map((place) => place[0]));
  const products = [];
  for (const one of file.products) {
    if (!one || !known.has(one.product) || typeof one.url !== "string" || !Array.isArray(one.labels)) return "A product in it is not of this run.";
    const labels = one.labels.filter((each) => each && typeof each.item === "string" && typeof each.text === "string" && LABELS.includes(each.label))
      .map(({ item, text: words, label }) => ({ item, text: words, label }));
    if (labels.length !== one.labels.length) return `A label of ${one.product} is none of ${LABELS.join(", ")}.`;
    products.push({ product: one.product, url: one.url, blind: one.blind !== false, seconds: Math.max(0, Number(one.seconds) || 0), labels });
  }
  const made = emptyFile(file.annotator, whole(file.seed, 0), Math.max(1, whole(file.sample, 50)), CHOICES[file.pages] ? file.pages : "product");
  return { ...made, products };
}
const whole = (value, otherwise) => (Number.isInteger(value) && value >= 0 ? value : otherwise);

const STORE = "grounding curation labels";
const storeName = (annotator) => `${STORE} ${page.run_id} ${annotator}`;
const inMemory = new Map();
function keep(file) {
  inMemory.set(file.annotator, file);
  try { localStorage.setItem(storeName(file.annotator), JSON.stringify(file)); return true; } catch { return false; }
}
function kept(annotator) {
  try {
    const found = localStorage.getItem(storeName(annotator));
    const file = found === null ? null : readFile(found);
    if (file && typeof file === "object") return file;
  } catch { /* the browser keeps nothing for this page */ }
  return inMemory.get(annotator) || null;
}
function keptNames() {
  try {
    return Object.keys(localStorage).filter((name) => name.startsWith(`${STORE} ${page.run_id} `)).map((name) => name.slice(`${STORE} ${page.run_id} `.length)).sort();
  } catch { return []; }
}
