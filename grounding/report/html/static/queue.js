// The page over several runs: what is above the table, and the following of runs that go on.
let page = JSON.parse(byId("data").textContent);
const setIfNew = (id, nodes) => {
  const made = [nodes].flat(9).filter(Boolean);
  const said = made.map((node) => (node instanceof Node ? node.outerHTML : String(node))).join("");
  const place = byId(id);
  if (place.dataset.said !== undefined && said === place.said) return;
  place.said = said;
  place.dataset.said = "";
  place.replaceChildren(...made);
};
const countStates = (runs) => runs.reduce((found, run) => ({ ...found, [run.state]: (found[run.state] || 0) + 1 }), {});
const inOrder = (states) => Object.keys(STATES).filter((name) => states[name]);

function headline() {
  const states = countStates(page.runs);
  if (page.writer === "at work") return page.is_live ? "runs are at work" : "runs were at work when this page was made";
  if (page.writer === "gone") return "broken off";
  if (states.complete === page.runs.length) return "all runs are complete";
  return "nothing is at work";
}
function showHead() {
  byId("title").textContent = `${page.title} · ${page.runs.length === 1 ? "1 run" : `${whole(page.runs.length)} runs`}`;
  const status = page.is_live ? headline() : `${headline()} · ${atTime(utc(page.taken_at))}`;
  // Only news is read out.
  if (byId("status").textContent !== status) byId("status").textContent = status;
  const percentDone = page.steps ? `${Math.floor((100 * page.done) / page.steps)} % ` : "";
  document.title = `${page.writer === "at work" ? percentDone : ""}${page.title}`;
  const gone = page.writer === "gone" && el("li", {}, ["The command that these runs were in the hands of is no longer at work. What was answered is kept: the same command goes on from here. ",
    page.command && el("code", {}, page.command)]);
  const failed = page.runs.filter((run) => run.state === "failed").length;
  setIfNew("warnings", [gone, failed ? el("li", {}, failed === 1 ? "A run failed: its reason stands in the table." : `${failed} runs failed: their reasons stand in the table.`) : null,
    ...(page.warnings || []).map((text) => el("li", {}, text))]);
}
function showWhole() {
  const counts = {};
  for (const run of page.runs) for (const name of OUTCOMES) counts[name] = (counts[name] || 0) + (run.counts[name] || 0);
  const there = OUTCOMES.filter((name) => counts[name]);
  setIfNew("whole", [outcomeBar(counts, page.steps || page.done, "progress of all runs"),
    el("p", { class: "legend" }, [there.map((name) => el("span", {}, [el("i", { class: name }), `${whole(counts[name])} ${OUTCOME_WORDS[name]}`])),
      page.steps > page.done && el("span", {}, [el("i", { class: "left" }), `${whole(page.steps - page.done)} not through`])])]);
}
function tile(name, value, more, extra) {
  return el("div", { class: `tile ${extra && extra.kind ? extra.kind : ""}`.trim() }, [el("span", { class: "name" }, name), el("b", {}, value),
    extra && extra.bar, more && el("span", { class: "more" }, more)]);
}
function showTiles() {
  const states = countStates(page.runs);
  const found = [tile("steps", page.steps ? share(page.done, page.steps) : whole(page.done), page.steps ? `${whole(page.done)} of ${whole(page.steps)}` : "how many there are isn't known of every run")];
  found.push(tile("runs complete", `${whole(states.complete || 0)} of ${whole(page.runs.length)}`, inOrder(states).map((name) => `${states[name]} ${STATES[name]}`).join(" · ")));
  if (page.writer === "at work") {
    const reading = page.runs.some((run) => run.reading !== undefined && run.reading !== null);
    if (page.left_s) {
      const at = new Date(Date.now() + 1000 * page.left_s);
      found.push(tile("through in about", span(page.left_s), `at ${atTime(at)}, if it goes on like this`));
    } else if (page.is_live) found.push(tile("through in about", "–", reading ? "still reading what was answered" : "not enough was seen yet to tell"));
    if (page.rate_per_s !== undefined && page.rate_per_s !== null) found.push(tile("speed", perSecond(page.rate_per_s), "all runs together, over the last minute"));
  }
  if (page.spent_usd !== undefined && page.spent_usd !== null || page.cost_limit_usd) {
    const spent = (page.spent_usd || 0), most = spent + page.unreported_usd;
    const extra = page.unreported_usd ? `+ up to ${dollars(page.unreported_usd)} for tries without a reply` : "";
    if (page.cost_limit_usd) found.push(tile("money", `${dollars(spent)} of ${dollars(page.cost_limit_usd)}`, extra, { bar: plainBar(most / page.cost_limit_usd), kind: most >= page.cost_limit_usd ? "over" : "" }));
    else found.push(tile("money", dollars(spent), extra || "no limit was set"));
  }
  setIfNew("tiles", found);
}
function showServers() {
  byId("servers-part").hidden = !(page.servers || []).length;
  setIfNew("servers", (page.servers || []).map((server) => el("div", { class: "server" }, [
    el("b", {}, server.name), server.steps ? plainBar(server.done / server.steps) : null,
    el("div", { class: "more muted" }, [inOrder(server.states).map((name) => `${server.states[name]} ${STATES[name]}`).join(" · "),
      server.steps ? `${whole(server.done)} / ${whole(server.steps)} steps` : "", perSecond(server.rate_per_s)].filter(Boolean).join(" · ")),
  ])));
}
function showMatrix() {
  const matrix = page.matrix;
  byId("matrix-part").hidden = !matrix;
  if (!matrix) return;
  const byKey = new Map(page.runs.map((run) => [run.key, run]));
  const values = page.runs.filter((run) => run.accuracy).map((run) => run.accuracy.value);
  const low = Math.min(...values), high = Math.max(...values);
  const cell = (found) => {
    const runs = found.keys ? found.keys.map((key) => byKey.get(key)) : [];
    const scored = runs.filter((run) => run.accuracy);
    if (!runs.length) return el("td", { class: "none", title: "there is no such run" }, "");
    if (!scored.length) return el("td", { class: "none" }, STATES[runs[0].state]);
    const best = Math.max(...scored.map((run) => run.accuracy.value));
    const node = el("td", { title: scored.map((run) => `${run.name}: ${percent(run.accuracy.value)} ${interval(run.accuracy)}`).join("\n") }, [
      scored.slice(0, 4).map((run) => el("div", { class: run.accuracy.is_final ? null : "so-far" }, [
        run.link ? el("a", { href: run.link }, run.accuracy.value.toFixed(1)) : run.accuracy.value.toFixed(1), run.accuracy.is_final ? "" : " …"])),
      scored.length > 4 && el("div", { class: "so-far" }, `and ${scored.length - 4} more`)]);
    if (high > low) node.style.background = `rgb(var(--heat) / ${(4 + 26 * ((best - low) / (high - low))).toFixed(0)}%)`;
    return node;
  };
  setIfNew("matrix", [
    el("thead", {}, el("tr", {}, [el("th", { scope: "col" }, "planner \\ grounder"), matrix.grounders.map((name) => el("th", { scope: "col" }, name))])),
    el("tbody", {}, matrix.planners.map((name, at) => el("tr", {}, [el("th", { scope: "row" }, name), matrix.cells[at].map(cell)]))),
  ]);
  const open = page.runs.some((run) => run.accuracy && !run.accuracy.is_final);
  byId("matrix-words").textContent = `Per cent of steps; the stronger the colour, the better.${open ? " Figures with … are of the steps so far, which need not be like those to come." : ""}`;
}
function showFilters() {
  const states = countStates(page.runs);
  if (chosen.state && !states[chosen.state]) chosen.state = "";
  const button = (name, words, count) => el("button", { type: "button", "aria-pressed": String(chosen.state === name), "data-state": name }, `${words} ${whole(count)}`);
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.state : undefined;
  setIfNew("states", [button("", "all", page.runs.length), inOrder(states).map((name) => button(name, STATES[name], states[name]))]);
  if (focused !== undefined && document.activeElement.dataset.state === undefined) {
    const again = byId("states").querySelector(`[data-state="${focused}"]`);
    if (again) again.focus({ preventScroll: true });
  }
}
function showFacts() {
  const started = utc(page.started_at);
  const facts = [["folder", page.folder], ["command", page.command], ["started", started && atTime(started)], ["as of", atTime(utc(page.taken_at))],
    ["accuracy so far", "hits of the steps that are through, with Wilson's 95 % interval, which takes steps for independent of each other and so is too narrow where they are not"],
    ["final accuracy", "as in the run's summary.json, with the same interval; where steps were never asked the run's own page counts them as wrong, this one leaves them out"],
    ["money", "what servers reported; what may have been charged besides, for tries without a reply, stands behind the plus sign and counts against the limit"]];
  setIfNew("facts", facts.filter(([, text]) => text).map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
}
function showAll() {
  showHead(); showWhole(); showTiles(); showServers(); showMatrix(); showFilters(); drawTable(page.runs); showFacts();
}

byId("sort").replaceChildren(...Object.entries(ORDERS).map(([name, [words]]) => el("option", { value: name }, words)));
byId("sort").addEventListener("change", (event) => { chosen.sort = event.target.value; drawTable(page.runs); });
byId("find").addEventListener("input", (event) => { chosen.find = event.target.value.trim(); drawTable(page.runs); });
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("states").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  chosen.state = chosen.state === button.dataset.state ? "" : button.dataset.state;
  showFilters(); drawTable(page.runs);
});

async function refresh() {
  let wait = 2000;
  try {
    if (!document.hidden) {
      const reply = await fetch(`queue.json?have=${encodeURIComponent(page.version)}`, { cache: "no-store" });
      if (reply.status !== 204) {
        if (!reply.ok) throw new Error((await reply.text()).trim());
        page = await reply.json();
      }
      showAll();
      // Answers are read piece by piece: the next can be asked for at once.
      if (page.runs.some((run) => run.reading !== undefined && run.reading !== null)) wait = 200;
    }
  } catch (error) {
    byId("status").textContent = `can't be brought up to date: ${error instanceof TypeError ? "grounding view has ended" : error.message}`;
  }
  setTimeout(refresh, wait);
}
showAll();
if (page.is_live) setTimeout(refresh, 1000);
