// How far runs are: a bar, tiles with figures, and the newest steps. Shared by the page of many runs and that of one.
const live = (() => {
  const OUTCOMES = { hit: "hit", miss: "miss", unparsed: "reply without a point", error: "error", missing: "no answer" };
  const STATES = { running: "at work", starting: "starting", waiting: "waiting", complete: "complete", partial: "partial",
    failed: "failed", broken: "broken off", unbegun: "not begun" };
  // What a benchmark calls an outcome stands behind those that all share.
  const named = (name) => OUTCOMES[name] || name;
  const outcomesOf = (counts) => [...Object.keys(OUTCOMES), ...Object.keys(counts).filter((name) => !OUTCOMES[name])].filter((name) => counts[name]);
  const known = (value) => value !== undefined && value !== null;
  const whole = (value) => Math.round(value).toLocaleString("en");
  const doneOf = (run) => Object.values(run.counts).reduce((sum, count) => sum + count, 0);
  // Money with as many places as it takes to tell it from nothing.
  function dollars(usd) {
    if (usd >= 100) return `$${whole(usd)}`;
    return `$${usd.toFixed(usd >= 0.1 || usd === 0 ? 2 : usd >= 0.001 ? 4 : 6)}`;
  }
  function perSecond(rate, items) {
    if (!known(rate)) return "";
    return rate >= 100 ? `${whole(rate)} ${items}/s` : rate >= 1 ? `${rate.toFixed(1)} ${items}/s` : `${(rate * 60).toFixed(1)} ${items}/min`;
  }
  // What is counted: steps, tasks, or either where runs differ.
  const itemsOf = (runs) => { const names = new Set(runs.map((run) => run.items)); return names.size === 1 ? [...names][0] : "items"; };
  function span(seconds) {
    const s = Math.round(seconds), minutes = Math.round(s / 60), hours = Math.floor(minutes / 60);
    if (s < 60) return `${s} s`;
    if (minutes < 60) return `${minutes} min`;
    return hours < 48 ? `${hours} h ${String(minutes % 60).padStart(2, "0")} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
  }
  // A time of day in the reader's own zone, with the date where it is another day.
  function atTime(when) {
    if (!when || Number.isNaN(when.getTime())) return "";
    const time = when.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    if (when.toDateString() === new Date().toDateString()) return time;
    return `${when.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" })}, ${time}`;
  }
  // Never 100 % before the last step is through.
  const share = (done, total) => `${(Math.floor((1000 * done) / total) / 10).toFixed(1)} %`;
  function part(node, of) {
    node.style.width = `${100 * Math.min(1, of)}%`;
    node.style.minWidth = "1px";
    return node;
  }
  const plainBar = (of) => el("div", { class: "bar", "aria-hidden": "true" }, part(el("i"), of));
  function outcomeBar(counts, steps, label, items) {
    const done = doneOf({ counts }), total = Math.max(steps, done, 1);
    return el("div", { class: "bar", role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": total, "aria-valuenow": done,
      "aria-valuetext": `${whole(done)} of ${steps ? whole(steps) : "an unknown number of"} ${items}` },
      outcomesOf(counts).map((name) => part(el("i", { class: name, title: `${whole(counts[name])} ${named(name)}` }), counts[name] / total)));
  }
  // What several runs amount to together. The steps are 0 where they aren't known of every run.
  function sums(runs) {
    const counts = {}, active = runs.filter((run) => ["running", "starting", "waiting"].includes(run.state));
    for (const run of runs) for (const [name, count] of Object.entries(run.counts)) counts[name] = (counts[name] || 0) + count;
    const steps = runs.every((run) => run.steps) ? runs.reduce((sum, run) => sum + run.steps, 0) : 0;
    const rates = active.map((run) => run.rate_per_s).filter(known), rate = rates.length ? rates.reduce((sum, each) => sum + each, 0) : null;
    const ahead = active.reduce((sum, run) => sum + Math.max(0, run.steps - doneOf(run)), 0);
    const paid = runs.map((run) => run.spent_usd).filter(known);
    return { counts, steps, done: doneOf({ counts }), rate, left: rate && steps && ahead ? ahead / rate : null,
      spent: paid.length ? paid.reduce((sum, each) => sum + each, 0) : null,
      unreported: runs.reduce((sum, run) => sum + (run.unreported_usd || 0), 0) };
  }
  const stateWords = (runs) => Object.keys(STATES).map((name) => [name, runs.filter((run) => run.state === name).length])
    .filter(([, count]) => count).map(([name, count]) => `${count} ${STATES[name]}`).join(" · ");

  // Draws only what says something new, so that nobody's place or selection is lost.
  function setIfNew(id, nodes) {
    const made = [nodes].flat(9).filter(Boolean), said = made.map((node) => node.outerHTML).join("");
    if (byId(id).said === said) return;
    byId(id).said = said;
    byId(id).replaceChildren(...made);
  }
  const tile = (name, value, more, bar, kind) => el("div", { class: `tile ${kind || ""}`.trim() },
    [el("span", { class: "name" }, name), el("b", {}, value), bar, more && el("span", { class: "more" }, more)]);

  function show(page) {
    const runs = page.runs, all = sums(runs), items = itemsOf(runs), one = runs.length === 1 ? runs[0] : null;
    setIfNew("whole", [outcomeBar(all.counts, all.steps || all.done, "progress", items),
      el("p", { class: "legend" }, [outcomesOf(all.counts).map((name) => el("span", {}, [el("i", { class: name }), `${whole(all.counts[name])} ${named(name)}`])),
        all.steps > all.done && el("span", {}, [el("i", { class: "left" }), `${whole(all.steps - all.done)} to come`])])]);
    const tiles = [tile(items, all.steps ? share(all.done, all.steps) : whole(all.done), all.steps ? `${whole(all.done)} of ${whole(all.steps)}` : "how many there are isn't known of every run")];
    if (one && one.score) tiles.push(tile(one.score.name, scoreText(one.score), `${interval(one.score)}${one.score.is_final ? "" : " so far"}`));
    if (!one) tiles.push(tile("runs complete", `${whole(runs.filter((run) => run.state === "complete").length)} of ${whole(runs.length)}`, stateWords(runs)));
    if (page.writer === "at work") {
      const end = all.left === null ? "not enough was seen yet to tell" : `at ${atTime(new Date(Date.now() + 1000 * all.left))}, if it goes on like this`;
      if (page.is_live) tiles.push(tile("through in about", all.left === null ? "–" : span(all.left), end));
      const waits = runs.map((run) => run.waiting_s).filter(known), doing = runs.map((run) => run.doing).filter(Boolean);
      if (waits.length) tiles.push(tile("speed", "waiting", `for the server, ${span(Math.max(...waits))} so far`, null, "over"));
      else if (known(all.rate)) tiles.push(tile("speed", perSecond(all.rate, items), ["over the last minute", retries(runs)].filter(Boolean).join(" · ")));
      else if (doing.length) tiles.push(tile("speed", "–", doing[0]));
    }
    if (known(all.spent) || page.cost_limit_usd) {
      const spent = all.spent || 0, most = spent + all.unreported, limit = page.cost_limit_usd;
      const more = all.unreported ? `+ up to ${dollars(all.unreported)} for tries without a reply` : "";
      tiles.push(limit ? tile("money", `${dollars(spent)} of ${dollars(limit)}`, more, plainBar(most / limit), most >= limit ? "over" : "") : tile("money", dollars(spent), more || "no limit was set"));
    }
    setIfNew("tiles", tiles);
    // The newest steps of all runs: one of each in turn.
    const turns = [], lists = runs.map((run) => (run.latest || []).map((step) => ({ run, step })));
    for (let at = 0; at < 12; at += 1) for (const list of lists) if (list[at]) turns.push(list[at]);
    byId("latest-part").hidden = !turns.length;
    if (byId("h-latest")) byId("h-latest").textContent = `Latest ${items}`;
    setIfNew("latest", turns.slice(0, 12).map(({ run, step }) => latest(run, step, one ? "" : run.name)));
  }
  const retries = (runs) => { const all = runs.reduce((sum, run) => sum + (run.retries || 0), 0); return all ? `${whole(all)} ${all === 1 ? "retry" : "retries"}` : ""; };
  const digits = (found) => (found.unit === "%" ? 1 : 3);
  const scoreText = (found) => `${found.value.toFixed(digits(found))} ${found.unit}`.trim();
  const interval = (found) => (known(found.low) && known(found.high) ? `[${found.low.toFixed(digits(found))}, ${found.high.toFixed(digits(found))}]` : "");
  // A screenshot with the gold region and the click.
  function latest(run, step, name) {
    const { width, height } = step.screenshot.size, gold = step.region || {};
    const rects = (gold.boxes || []).map((box) => svg("rect", { class: "gold", x: box.left_px, y: box.top_px, width: box.right_px - box.left_px, height: box.bottom_px - box.top_px }));
    const shapes = (gold.polygons || []).map((shape) => svg("polygon", { class: "gold", points: shape.points.map((p) => `${p.x_px},${p.y_px}`).join(" ") }));
    const click = step.point && svg("circle", { class: `click ${step.outcome}`, cx: step.point.x_px, cy: step.point.y_px, r: Math.max(width, height) / 45 });
    return el("a", { class: "latest", href: `${run.link || ""}#step=${encodeURIComponent(step.id).replaceAll("%2F", "/")}`, title: `${step.id}: ${step.instruction}` }, [
      svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, [svg("image", { href: `thumb/${run.key}/${step.screenshot.sha256}.webp`, width, height }), rects, shapes, click]),
      el("span", { class: "said" }, [el("i", { class: step.outcome }), el("b", {}, named(step.outcome)), ` ${step.instruction}`]),
      name && el("span", { class: "more" }, name)]);
  }
  return { STATES, show, setIfNew, whole, known, doneOf, dollars, perSecond, span, atTime, share, interval, scoreText, outcomeBar, plainBar, sums, stateWords, itemsOf };
})();
