// Figures in words, the same everywhere on the page.
const OUTCOMES = ["hit", "miss", "unparsed", "error", "missing"];
const OUTCOME_WORDS = { hit: "hit", miss: "miss", unparsed: "reply without a point", error: "error", missing: "no answer" };
const STATES = {
  running: "at work", starting: "starting", waiting: "waiting", complete: "complete", partial: "partial", failed: "failed",
  broken: "broken off", unbegun: "not begun",
};
const whole = (value) => Math.round(value).toLocaleString("en");
const doneOf = (run) => OUTCOMES.reduce((sum, name) => sum + (run.counts[name] || 0), 0);

// Money with as many places as it takes to tell it from nothing.
function dollars(usd) {
  if (usd >= 100) return `$${whole(usd)}`;
  if (usd >= 0.1 || usd === 0) return `$${usd.toFixed(2)}`;
  return `$${usd.toFixed(usd >= 0.001 ? 4 : 6)}`;
}
function perSecond(rate) {
  if (rate === undefined || rate === null) return "";
  if (rate === 0) return "no step in the last minute";
  return rate >= 100 ? `${whole(rate)} steps/s` : rate >= 1 ? `${rate.toFixed(1)} steps/s` : `${(rate * 60).toFixed(1)} steps/min`;
}
function span(seconds) {
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
// A time of day in the reader's own zone, with the date where it is another day.
function atTime(when) {
  const now = new Date();
  const time = when.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (when.toDateString() === now.toDateString()) return time;
  return `${when.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" })}, ${time}`;
}
const utc = (text) => (text && !Number.isNaN(Date.parse(text)) ? new Date(text) : null);
function share(done, total) {
  if (!total) return "";
  // Never 100 % before the last step is through.
  return `${(Math.floor((1000 * done) / total) / 10).toFixed(1)} %`;
}
const percent = (value) => (value === null || value === undefined ? "–" : `${value.toFixed(1)} %`);
const interval = (found) => (found.low === null || found.high === null ? "" : `[${found.low.toFixed(1)}, ${found.high.toFixed(1)}]`);

// A bar of outcomes; parts that would be too thin to see get a pixel.
function outcomeBar(counts, steps, label) {
  const done = OUTCOMES.reduce((sum, name) => sum + (counts[name] || 0), 0);
  const total = Math.max(steps, done, 1);
  return el("div", { class: "bar", role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": total, "aria-valuenow": done,
    "aria-valuetext": `${whole(done)} of ${steps ? whole(steps) : "an unknown number of"} steps` },
    OUTCOMES.filter((name) => counts[name]).map((name) => thick(el("i", { class: name, title: `${whole(counts[name])} ${OUTCOME_WORDS[name]}` }), counts[name] / total)));
}
function thick(node, part) {
  node.style.width = `${100 * part}%`;
  node.style.minWidth = "1px";
  return node;
}
const plainBar = (part) => el("div", { class: "bar", "aria-hidden": "true" }, thick(el("i"), Math.min(1, part)));
