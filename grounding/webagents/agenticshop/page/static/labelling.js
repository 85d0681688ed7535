// A person's verdicts: one product at a time, by its evidence alone. Who found it and what the judges say is not shown.
const label = { file: null, sample: [], at: 0, item: 0, view: { segment: 0, box: null }, unblind: false, last: 0, stored: true };
const SAYS = { satisfied: ["1", "satisfied"], "not-satisfied": ["2", "not"], "cant-tell": ["3", "can't tell"] };

function place() {
  const one = label.sample[label.at], task = detailOf(one.task);
  return { one, task, product: task.products[one.product] };
}
function askWho(message) {
  // No key may label behind the form.
  label.file = null;
  const names = keptNames();
  const field = (id, type, value, more) => el("input", { id, type, value, ...(more || {}) });
  byId("label").replaceChildren(
    text("p", "You see a product's address and what was kept of its page, and say of each item of a checklist whether the product satisfies it: judge by the page alone. Labels stay in this browser until you save the file.", { class: "muted" }),
    message ? text("p", message, { class: "wrong", role: "alert" }) : "",
    el("form", { id: "who", onsubmit: start }, [
      el("label", {}, ["your name", field("annotator", "text", names[0] || "", { required: true, maxlength: 64, list: "names", autocomplete: "off" })]),
      el("datalist", { id: "names" }, names.map((name) => el("option", { value: name }))),
      el("label", {}, ["products", field("sample", "number", "50", { min: 1, max: 100000, required: true })]),
      el("label", {}, ["drawn by seed", field("seed", "number", "0", { min: 0, max: 4294967295, required: true })]),
      el("label", {}, ["out of", el("select", { id: "pages" }, [
        option("product", "product pages"), option("fetched", "all pages"), option("all", "all products")])]),
      el("button", { type: "submit" }, ["Start"]),
      el("label", { class: "filebutton" }, ["or go on with a file ", el("input", { id: "load", type: "file", accept: ".json,application/json", onchange: load })])]));
}
function start(event) {
  event.preventDefault();
  const annotator = byId("annotator").value.trim();
  if (!isAnnotator(annotator)) { askWho("A name has 1 to 64 letters, digits, blanks, '.', '_', '-' or '@'."); return; }
  const file = kept(annotator) || emptyFile(annotator, 0, 1, "product");
  Object.assign(file, { seed: Number(byId("seed").value), sample: Number(byId("sample").value), pages: byId("pages").value });
  begin(file);
}
function load(event) {
  const file = event.target.files[0];
  if (!file) return;
  file.text().then((content) => {
    const found = readFile(content);
    if (typeof found === "string") { askWho(found); return; }
    begin(found);
  }, () => askWho("The file can't be read."));
}
function begin(file) {
  const drawn = sample(file.seed, file.sample, file.pages);
  if (!drawn.length) { askWho("This run has no such products."); return; }
  Object.assign(label, { file, sample: drawn, unblind: false, last: performance.now() });
  const open = drawn.findIndex((one) => !complete(one));
  turn(open < 0 ? 0 : open);
}
function complete(one) {
  return detailOf(one.task).checklist.every((item) => labelOf(label.file, one.id, item.id));
}

function turn(at) {
  Object.assign(label, { at: Math.max(0, Math.min(at, label.sample.length - 1)), item: 0, view: { segment: 0, box: null } });
  const { one, task } = place();
  const open = task.checklist.findIndex((item) => !labelOf(label.file, one.id, item.id));
  label.item = Math.max(0, open);
  label.last = performance.now();
  drawLabels();
  window.scrollTo(0, 0);
}
// Time counts while somebody works: a longer pause than two minutes is none.
function tick(entry) {
  const now = performance.now();
  entry.seconds = Math.round(10 * (entry.seconds + Math.min(IDLE_S, (now - label.last) / 1000))) / 10;
  label.last = now;
}
function say(item, what) {
  const { one, product } = place();
  const again = labelOf(label.file, one.id, item.id) === what;
  setLabel(label.file, one.id, product.url, item, again ? "" : what);
  const entry = label.file.products.find((each) => each.product === one.id);
  if (entry) { tick(entry); if (label.unblind) entry.blind = false; }
  label.stored = keep(label.file);
  const items = place().task.checklist, at = items.findIndex((each) => each.id === item.id);
  if (!again) label.item = Math.min(at + 1, items.length - 1);
  drawLabels();
}
function save() {
  const blob = new Blob([JSON.stringify(label.file, null, 1)], { type: "application/json" });
  const link = el("a", { href: URL.createObjectURL(blob), download: `labels-${label.file.annotator.replaceAll(/[^\w.-]/g, "_")}.json` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function labelRow(item, place_) {
  const { one, product } = place(), said = labelOf(label.file, one.id, item.id);
  return el("li", { class: `ask${place_ === label.item ? " now" : ""}`, id: `ask-${place_}` }, [
    text("p", item.text),
    el("div", { class: "says", role: "group", "aria-label": item.text }, [Object.entries(SAYS).map(([what, [key, words]]) => el("button", {
      type: "button", "aria-pressed": String(said === what), class: `say ${what}`, title: `key ${key}`, onclick: () => { label.item = place_; say(item, what); },
    }, [words])), label.unblind ? verdictsOf(product, item.id).map(mark) : null])]);
}
function drawLabels() {
  const { one, task, product } = place(), items = task.checklist;
  const done = items.filter((item) => labelOf(label.file, one.id, item.id)).length;
  const finished = label.sample.filter(complete).length;
  let dimension = "";
  const asked = items.flatMap((item, at) => {
    const head = item.dimension === dimension ? [] : [text("h3", plain(item.dimension))];
    dimension = item.dimension;
    return [...head, labelRow(item, at)];
  });
  const sheet = byId("label").querySelector(".sheet"), scrolled = sheet ? sheet.scrollTop : 0;
  const pageScroll = byId("label").querySelector(".pagetext"), textScroll = pageScroll ? pageScroll.scrollTop : 0;
  const same = byId("label").dataset.product === one.id;
  byId("label").dataset.product = one.id;
  byId("label").replaceChildren(
    el("div", { class: "bar labelbar" }, [
      text("b", `product ${label.at + 1} of ${label.sample.length}`), text("span", `${done} of ${items.length} items · ${finished} products done`, { role: "status", id: "progress" }),
      el("span", { class: "grow" }), text("span", label.file.annotator, { class: "tag" }), el("button", { type: "button", class: "small", onclick: () => askWho("") }, ["change"]),
      el("label", {}, [el("input", { type: "checkbox", id: "unblind", ...(label.unblind ? { checked: true } : {}), onchange: (event) => { label.unblind = event.target.checked; drawLabels(); } }), " show the judges' verdicts"]),
      el("button", { type: "button", onclick: () => turn(label.at - 1), ...(label.at ? {} : { disabled: true }) }, ["previous"]),
      el("button", { type: "button", onclick: () => turn(label.at + 1), ...(label.at + 1 < label.sample.length ? {} : { disabled: true }) }, ["next"]),
      el("button", { type: "button", id: "save", onclick: save }, ["Save file"])]),
    label.stored ? "" : text("p", "This browser keeps nothing for this page: save the file before you close it.", { class: "wrong", role: "alert" }),
    label.unblind ? text("p", "Verdicts are shown: what you label now is marked as not blind.", { class: "muted" }) : "",
    el("div", { class: "desk" }, [
      el("div", { class: "seen" }, [visited(product), text("h3", "pictures"),
        viewer(product, label.view, (segment) => { label.view.segment = segment; drawLabels(); }),
        text("h3", "facts"), factRows(product), text("h3", "text of the page"), pageText(product, null)]),
      el("ol", { class: "sheet" }, asked)]));
  const again = byId("label").querySelector(".sheet"), text_ = byId("label").querySelector(".pagetext");
  if (same) { again.scrollTop = scrolled; if (text_) text_.scrollTop = textScroll; }
  const now = byId(`ask-${label.item}`);
  if (now) scrollInto(now, again);
}
function labelKey(event) {
  if (!label.file) return false;
  const items = place().task.checklist, what = LABELS[Number(event.key) - 1];
  if (what) { say(items[label.item], what); return true; }
  if (event.key === "j" || event.key === "ArrowDown") { label.item = Math.min(label.item + 1, items.length - 1); drawLabels(); return true; }
  if (event.key === "k" || event.key === "ArrowUp") { label.item = Math.max(label.item - 1, 0); drawLabels(); return true; }
  if (event.key === "n") { turn(label.at + 1); return true; }
  if (event.key === "p") { turn(label.at - 1); return true; }
  return false;
}
