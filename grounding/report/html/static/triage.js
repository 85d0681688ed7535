// What people say of a step. A page that is only a file shows it; the page of `grounding view` takes it.
const remembered = (name) => { try { return localStorage.getItem(name) || ""; } catch { return ""; } };
const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* storage is off: asked again */ } };
let note = { step: "", text: "" };
let trouble = "";

function triage(step) {
  if (step.outcome === "none" || step.outcome === "pending") return "";
  const marks = run().marksOf.get(state.chosen) || [];
  const said = marks.map((mark) => el("li", {}, [`${mark.label.replace("-", " ")} (${mark.labeller}`, mark.at ? `, ${mark.at}` : "", ")", mark.note ? `: ${mark.note}` : ""]));
  if (!page.token) {
    if (!marks.length) return "";
    return el("div", { class: "triage" }, [el("h3", {}, "Labels"), el("ul", {}, said)]);
  }
  if (note.step !== step.id) note = { step: step.id, text: (marks.find((mark) => mark.labeller === remembered("labeller")) || {}).note || "" };
  const mine = marks.find((mark) => mark.labeller === remembered("labeller"));
  return el("div", { class: "triage" }, [
    el("h3", {}, "What went wrong here?"),
    el("div", { class: "choices" }, [
      page.labels.map((label, at) => el("button", { type: "button", class: "choice", "data-label": label,
        "aria-pressed": String(Boolean(mine && mine.label === label)), title: `key ${at + 1}`, onclick: () => label_(label) }, `${at + 1} ${label.replace("-", " ")}`)),
      mine && el("button", { type: "button", class: "choice", title: "key 0", onclick: () => label_("withdrawn") }, "0 withdraw"),
    ]),
    el("label", { class: "muted" }, ["your name ", el("input", { id: "labeller", value: remembered("labeller"), maxlength: 64, autocomplete: "off",
      oninput: (event) => remember("labeller", event.target.value.trim()), onchange: nextPerson })]),
    el("label", { class: "muted" }, ["note", el("textarea", { id: "note", maxlength: 2000, oninput: (event) => { note.text = event.target.value; } }, note.text)]),
    el("p", { class: "wrong", role: "alert" }, trouble),
    said.length ? el("ul", {}, said) : "",
    el("p", { class: "muted" }, "Labels go to labels.jsonl in the run's folder. They change no score."),
  ]);
}
// What one person wrote must not be kept as the next one's words.
function nextPerson() {
  const marks = run().marksOf.get(state.chosen) || [];
  const mine = marks.find((mark) => mark.labeller === remembered("labeller"));
  if (marks.some((mark) => mark !== mine && (mark.note || "") === note.text)) note.text = (mine && mine.note) || "";
  byId("note").value = note.text;
}
async function label_(label) {
  const step = state.chosen < 0 ? null : run().row(state.chosen), labeller = byId("labeller") ? byId("labeller").value.trim() : "";
  if (!step || !page.token) return;
  trouble = "";
  if (!labeller) { trouble = "Say who you are first."; showDetail(); byId("labeller").focus(); return; }
  const sent = { run: state.a, step: step.id, label, labeller, note: note.text, plan: step.plan || null };
  try {
    const reply = await fetch("label", { method: "POST", headers: { "Content-Type": "application/json", "X-Grounding-Token": page.token }, body: JSON.stringify(sent) });
    if (!reply.ok) throw new Error(await reply.text());
    await refresh(true);
  } catch (error) {
    trouble = `The label was not kept: ${error.message}`;
    showDetail();
  }
}
