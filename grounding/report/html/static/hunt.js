// Which of so many steps fit the filters. Words are hunted for in the files, one after the other, and what is found is
// shown as it is found.
let hunt = null;

// Stable, by the quarter of a pixel; steps without a distance go to the end.
function byDistance(places, distances, farthest) {
  const none = 0xFFFF, key = (at) => (distances[at] === none ? none : farthest ? none - 1 - distances[at] : distances[at]);
  const starts = new Uint32Array(none + 2);
  for (const at of places) starts[key(at) + 1] += 1;
  for (let each = 1; each < starts.length; each += 1) starts[each] += starts[each - 1];
  const found = new Array(places.length);
  for (const at of places) { const own = key(at); found[starts[own]] = at; starts[own] += 1; }
  return found;
}
function choose() {
  const one = run(), { sort, q } = state.filters;
  hunt = null;
  let fitting = [];
  for (let at = 0; at < one.size; at += 1) if (passesFacts(at)) fitting.push(at);
  if (sort) fitting = byDistance(fitting, one.distances, sort === "far");
  if (!q || !terms(q).length) { state.shown = fitting; return; }
  state.shown = [];
  hunt = { one, order: fitting, words: terms(q), found: new Uint8Array(one.size), files: new Map(), count: 0, searched: 0, stopped: "", done: false };
  for (const at of fitting) {
    const file = one.fileOf(at);
    if (!hunt.files.has(file)) hunt.files.set(file, []);
    hunt.files.get(file).push(at);
  }
  search(hunt, one.placeOf(q.trim()));
}
// A number on the page while something is on its way; nothing when all has been searched.
function hunting() {
  if (!hunt || (hunt.done && !hunt.stopped)) return "";
  const sum = `${number(hunt.count)} found in ${number(hunt.searched)} of ${number(hunt.order.length)} steps`;
  if (hunt.stopped) return `${sum}. ${hunt.stopped}`;
  return [`${sum} so far `, el("progress", { max: hunt.order.length || 1, value: hunt.searched, "aria-label": "searched" }), " ",
    el("button", { type: "button", id: "stop", onclick: stopHunt }, "stop")];
}
function stopHunt() {
  if (!hunt || hunt.done) return;
  hunt.done = true;
  hunt.stopped = "The search was stopped.";
  showMore();
}
async function search(mine, first) {
  const { one, words } = mine;
  // Tasks' names lie in the index and not in the files.
  const tasks = words.map((word) => one.names.tasks.map((name) => name.toLowerCase().includes(word)));
  const asText = words.map((word) => JSON.stringify(word).slice(1, -1));
  const files = [...mine.files.keys()].sort((x, y) => x - y);
  // Who looks for an id has its step at once.
  const own = first >= 0 ? one.fileOf(first) : -1;
  if (mine.files.has(own)) files.unshift(...files.splice(files.indexOf(own), 1));
  const open = () => hunt === mine && !mine.done;
  let drawn = performance.now(), next = 0;
  const turn = async () => {
    while (open() && next < files.length) {
      const file = files[next];
      next += 1;
      const places = mine.files.get(file), text = await readSteps(one, file);
      if (!open()) return;
      // What no step of a file says, none of its texts holds.
      const lower = text.toLowerCase();
      if (asText.every((word, at) => lower.includes(word) || places.some((place) => tasks[at][one.taskOf(place)]))) {
        const { steps } = JSON.parse(text);
        for (const place of places) {
          const words_ = haystack(one, steps[place - one.beside.starts[file]]);
          if (words.every((word) => words_.includes(word))) { mine.found[place] = 1; mine.count += 1; }
        }
      }
      mine.searched += places.length;
      if (performance.now() - drawn > 300 || file === own) {
        showMore();
        drawn = performance.now();
        await new Promise((resolve) => setTimeout(resolve));
      }
    }
  };
  try {
    await Promise.all([turn(), turn(), turn()]);
  } catch (error) {
    if (open()) mine.stopped = error.message;
  }
  if (!open()) return;
  mine.done = true;
  showMore();
}
// What was found since: rows that still stand where they stood are left alone.
function showMore() {
  if (!hunt) return;
  if (hunt.count !== state.shown.length) {
    state.shown = hunt.order.filter((at) => hunt.found[at]);
    steps_.extend(state.shown.length, (row, place) => Number(row.dataset.at) !== state.shown[place]);
    if (!state.shown.includes(state.chosen)) { state.chosen = state.shown[0]; showDetail(); markStrip(); writeAddress(); }
    steps_.show();
  }
  showCount();
}
