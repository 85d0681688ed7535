// A run whose steps lie in files beside the page: a few bytes of each are here, the rest is loaded when it is looked at.
// A page from a file may load scripts and nothing else. Each file calls groundingSteps once with a text that holds the
// steps as deflated JSON in base64: what models and data sets say is never a part of a script.
const KEPT = 64;
const typingPause = 250;
const kept = new Map(), coming = new Map(), readers = new Map();

async function inflated(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = letters.charCodeAt(at);
  if (!("DecompressionStream" in window)) throw new Error("This browser is too old for this page: it can't inflate (DecompressionStream).");
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}
Object.defineProperty(window, "groundingSteps", { value: (key, name, text) => {
  const reader = readers.get(name);
  if (!reader || typeof text !== "string") return;
  if (key === reader.key) reader.resolve(text);
  else reader.reject(new Error("The steps beside this page are those of another one. Load the page again."));
} });
// The text of one file of a run.
function readSteps(one, file) {
  const address = `${one.beside.files}${file}.js`, name = `${page.runs.indexOf(one)}-${file}`;
  if (coming.has(name)) return coming.get(name);
  const script = el("script", {});
  const found = new Promise((resolve, reject) => {
    readers.set(name, { key: one.beside.key, resolve, reject });
    script.addEventListener("load", () => reject(new Error(`${address} is damaged.`)));
    script.addEventListener("error", () => reject(new Error(`${address} can't be read. A page of so many steps needs its folder report_files beside it; if the run was scored since, load the page again.`)));
    script.src = address;
    document.head.append(script);
  }).then((text) => inflated(text).then((response) => response.text()).catch(() => { throw new Error(`${address} is damaged.`); }))
    .finally(() => { script.remove(); readers.delete(name); coming.delete(name); });
  coming.set(name, found);
  return found;
}
async function bringSteps(one, file) {
  const name = `${page.runs.indexOf(one)}-${file}`;
  let found = kept.get(name);
  if (!found) {
    const text = await readSteps(one, file);
    found = kept.get(name) || JSON.parse(text);
  }
  kept.delete(name);
  kept.set(name, found);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return found;
}

async function unpack() {
  for (const one of page.runs) {
    const { beside: packed } = one;
    one.names = await (await inflated(packed.names)).json();
    one.columns = new Uint8Array(await (await inflated(packed.columns)).arrayBuffer());
    packed.names = packed.columns = "";
  }
  byId("data").remove();
}
// The last place whose start is not beyond: starts rise.
function last(starts, at) {
  let low = 0, high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= at) low = middle; else high = middle - 1;
  }
  return low;
}
const begins = (counts) => {
  const found = new Uint32Array(counts.length);
  for (let at = 1; at < counts.length; at += 1) found[at] = found[at - 1] + counts[at - 1];
  return found;
};
function planes(columns, from, size, width) {
  const found = width === 2 ? new Uint16Array(size) : new Uint32Array(size);
  for (let plane = 0; plane < width; plane += 1) {
    const start = from + plane * size;
    for (let at = 0; at < size; at += 1) found[at] |= columns[start + at] << (8 * plane);
  }
  return found;
}
// Ids as runs of successors: the last number of an id, one higher each time, with its leading zeros.
function idIndex(runs) {
  const starts = begins(runs.map((each) => each.count));
  const split = (id) => { const found = /[0-9]{1,15}$/.exec(id); return found ? [id.slice(0, found.index), found[0]] : [id, ""]; };
  const idOf = (at) => {
    const place = last(starts, at), [before, digits] = split(runs[place].first), by = at - starts[place];
    return by ? before + String(Number(digits) + by).padStart(digits.length, "0") : runs[place].first;
  };
  let byBefore = null;
  const placeOf = (id) => {
    if (!byBefore) {
      byBefore = new Map();
      runs.forEach((each, place) => {
        const [before, digits] = split(each.first);
        if (!byBefore.has(before)) byBefore.set(before, { places: [], numbers: [] });
        byBefore.get(before).places.push({ number: Number(digits), place });
      });
      for (const own of byBefore.values()) {
        own.places.sort((x, y) => x.number - y.number);
        own.numbers = own.places.map((each) => each.number);
      }
    }
    const [before, digits] = split(id), own = byBefore.get(before), wanted = Number(digits);
    if (!own) return -1;
    const nearest = last(own.numbers, wanted);
    // Ids that differ by leading zeros only have the same number.
    for (let at = nearest; at >= 0 && at >= nearest - 3; at -= 1) {
      const { number, place } = own.places[at], by = wanted - number;
      if (by >= 0 && by < runs[place].count && idOf(starts[place] + by) === id) return starts[place] + by;
    }
    return -1;
  };
  return { idOf, placeOf };
}

function prepareRun(one) {
  const { beside: packed, names, columns } = one, size = packed.size;
  const outcome = columns.subarray(0, size), failure = columns.subarray(size, 2 * size);
  const distance = planes(columns, 2 * size, size, 2), task = planes(columns, 4 * size, size, 4);
  const group = packed.grouped ? planes(columns, 8 * size, size, 2) : null;
  for (let at = 1; at < size; at += 1) task[at] += task[at - 1];
  const { idOf, placeOf } = idIndex(names.ids);
  const people = begins(names.participants.map((part) => part.count));
  const who = (at) => last(people, at);
  const file = (at) => last(packed.starts, at);
  const held = (at) => kept.get(`${page.runs.indexOf(one)}-${file(at)}`);
  const inFile = (at) => at - packed.starts[file(at)];
  const taskSizes = new Uint32Array(names.tasks.length);
  for (let at = 0; at < size; at += 1) taskSizes[task[at]] += 1;
  const taskStarts = begins(taskSizes), next = taskStarts.slice(), inTasks = new Uint32Array(size);
  for (let at = 0; at < size; at += 1) inTasks[next[task[at]]++] = at;
  const stepsOf = (number) => inTasks.subarray(taskStarts[number], taskStarts[number] + taskSizes[number]);

  one.size = size;
  one.distances = distance;
  one.fileOf = file;
  one.outcome = (at) => packed.outcomes[outcome[at]];
  one.failure = (at) => packed.failures[failure[at]];
  one.participant = (at) => names.participants[who(at)].name;
  one.idOf = idOf;
  one.placeOf = placeOf;
  one.row = (at) => { const found = held(at); return found ? found.steps[inFile(at)] : null; };
  one.shotOf = (at) => { const found = held(at); return found.shots[found.steps[inFile(at)].shot]; };
  one.toldOf = (at) => { const found = held(at); return found ? found.told[inFile(at)] : null; };
  one.here = (at) => { const step = one.row(at); return step !== null && (step.history || []).every((each) => held(each)); };
  one.bring = async (at) => {
    const found = await bringSteps(one, file(at));
    const before = new Set((found.steps[inFile(at)].history || []).map(file));
    before.delete(file(at));
    await Promise.all([...before].map((each) => bringSteps(one, each)));
    if (before.size) await bringSteps(one, file(at));
  };
  one.taskOf = (at) => task[at];
  one.taskName = (step) => names.tasks[step.task];
  one.taskSteps = (step) => [...stepsOf(step.task)];
  one.stepsOfTask = stepsOf;

  const tally = (codes, texts) => {
    const counts = new Array(texts.length).fill(0);
    for (let at = 0; at < size; at += 1) counts[codes[at]] += 1;
    return texts.map((name, code) => [name, counts[code]]).filter(([name, count]) => name && count);
  };
  const shares = new Map();
  for (const part of names.participants) shares.set(part.name, (shares.get(part.name) || 0) + part.count);
  const groups = new Map();
  if (group) tally(group, names.group_sets.map((set, at) => `${at} `)).forEach(([at, count]) => {
    for (const name of new Set(names.group_sets[Number(at)].names)) groups.set(name, (groups.get(name) || 0) + count);
  });
  one.tallies = { outcome: tally(outcome, packed.outcomes), failure: tally(failure, packed.failures), participant: [...shares],
    // More than a list can show are searched for by name.
    group: groups.size <= 500 ? [...groups].sort(([x], [y]) => (x < y ? -1 : 1)) : [] };
  let asked = "", sets = [];
  if (group) one.inGroup = (at, name) => {
    if (name !== asked) { asked = name; sets = names.group_sets.map((set) => set.names.includes(name)); }
    return sets[group[at]];
  };
}

// What changed on a page that is open: never its steps.
function takeNews(fresh) {
  fresh.runs.forEach((news, at) => {
    const one = page.runs[at];
    for (const name of ["marks", "mark_facts", "warnings", "version"]) one[name] = news[name] || [];
    collectMarks(one);
  });
  showHead(); showFilters();
  if (state.filters.label) refilter();
  else { steps_.again(() => true); showDetail(); }
}

// Where a step of the first run lies in the second; all are looked up once.
let pairs = null;
function otherAt(at) {
  const one = run(), two = beside();
  if (!two) return -1;
  if (!pairs || pairs.one !== one || pairs.two !== two) {
    pairs = { one, two, same: JSON.stringify(one.names.ids) === JSON.stringify(two.names.ids), found: null };
    if (!pairs.same) {
      pairs.found = new Int32Array(one.size);
      for (let each = 0; each < one.size; each += 1) pairs.found[each] = two.placeOf(one.idOf(each));
    }
  }
  return pairs.same ? at : pairs.found[at];
}
