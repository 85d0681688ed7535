// A comparison of runs: one section a run, with its differences to the baseline and the items that flipped.
const page = JSON.parse(byId("data").textContent);
const named = (name, link) => (link ? el("a", { href: link }, name) : el("b", {}, name));
byId("title").textContent = page.title;
byId("status").replaceChildren("differences are the run minus the baseline, ", named(page.baseline, page.baseline_link));
const HEADS = ["metric", "run", "baseline", "difference, points", "p", "p (Holm)"];
// Bold where the interval leaves out zero.
const sure = (text) => { const found = text.match(/\[([+-][\d.]+), ([+-][\d.]+)\]/); return found && Number(found[1]) * Number(found[2]) > 0; };
const step = (run, id) => (page.item === "step" && run.link ? el("a", { href: `${run.link}#step=${encodeURIComponent(id).replaceAll("%2F", "/")}` }, id) : id);
byId("runs").replaceChildren(...page.runs.map((run, at) => el("section", { "aria-labelledby": `run-${at}` }, [
  el("h2", { id: `run-${at}` }, named(run.name, run.link)),
  el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `differences of ${run.name}` }, el("table", {}, [
    el("thead", {}, el("tr", {}, HEADS.map((name, column) => el("th", { scope: "col", class: column ? "num" : null }, name)))),
    el("tbody", {}, run.rows.map((row) => el("tr", {}, row.map((text, column) => (column ? el("td", { class: column === 3 && sure(text) ? "num sure" : "num" }, text) : el("th", { scope: "row" }, text))))))])),
  el("ul", { class: "lines" }, run.lines.map((line) => el("li", {}, line))),
  run.flips.length > 0 && el("details", {}, [
    el("summary", {}, `${run.flips.filter((flip) => flip[4]).length} ${page.item}s won, ${run.flips.filter((flip) => !flip[4]).length} lost`),
    el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `${page.item}s of ${run.name} that flipped` }, el("table", { class: "flips" }, [
      el("thead", {}, el("tr", {}, [page.item, "instruction", "baseline", "run"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, run.flips.map(([id, words, before, after, won]) => el("tr", {}, [el("td", {}, step(run, id)), el("td", {}, words), el("td", {}, before), el("td", { class: won ? "won" : "lost" }, after)])))]))])])));
byId("notes").replaceChildren(...page.notes.map((text) => el("li", {}, text)));
