// The chosen step in full. Where nothing about it is new it is left alone: somebody may be reading it.
let shownDetail = "";
function showDetail() {
  const detail = byId("detail"), one = run(), at = state.chosen;
  if (at < 0) { shownDetail = ""; detail.replaceChildren(el("p", { class: "muted" }, "No step is chosen.")); return; }
  const there = otherAt(at), step = one.row(at), two = other(at);
  if (!one.here(at) || (there >= 0 && !two)) { showComing(at, there); return; }
  const about = [step, two, one.marksOf.get(at), state.a, state.b, trouble, remembered("labeller"), one.shotOf(at), told(one, step).length];
  const key = JSON.stringify(about, (name, value) => (name === "haystack" ? undefined : value)) || "";
  if (key && key === shownDetail && byId("link")) { byId("link").setAttribute("href", address()); return; }
  shownDetail = key;
  const shot = one.shotOf(at), task = one.taskName(step);
  const scored = one.taskSteps(step).filter((each) => one.outcome(each) !== "none");
  const place = scored.indexOf(at) + 1;
  const lost = el("p", { class: "muted", hidden: true }, `The screenshot itself is not at ${shot.path} any more: this is its small picture.`);
  const options = { lost: () => { lost.hidden = false; }, label: `screenshot of step ${step.id}` };
  const wide = Math.max(200, detail.clientWidth - 34);
  const zoomed = crops(shot, step, two);
  const where = shot.path.split("/").pop();
  detail.replaceChildren(...[
    el("div", { class: "bar" }, [
      el("b", {}, `step ${step.id}`), badge(step.outcome, two ? "1: " : ""), two && badge(two.outcome, "2: "), offText(step),
      el("span", { class: "grow" }),
      el("span", { class: "moves" }, [
        el("button", { type: "button", onclick: () => move(-1), title: "previous (k)", "aria-label": "previous step" }, "‹"),
        el("button", { type: "button", onclick: () => move(1), title: "next (j)", "aria-label": "next step" }, "›"),
        el("a", { href: address(), id: "link", title: "a link to this step" }, "link"),
      ]),
    ]),
    el("p", { class: "said" }, step.instruction || (step.said ? "nothing was heard" : "")),
    step.said ? el("p", { class: "muted" }, [`What was said: ${step.said}`]) : "",
    step.audio ? el("audio", { controls: true, preload: "none", src: step.audio, "aria-label": "the recording, without added noise" }) : "",
    picture(shot, step, two, whole(shot), { ...options, wide }),
    el("p", { class: "key" }, [
      step.gold && bounds(step.gold).length > 0 && el("span", {}, [el("i", { class: "swatch" }), "where a click is right"]),
      step.click && el("span", {}, [el("i", { class: "swatch click-a" }), `${two ? "click of run " + (state.a + 1) : "the click"} at ${pixel(step.click)}`,
        within(step.click, shot) ? "" : ", outside the screenshot"]),
      two && two.click && el("span", {}, [el("i", { class: "swatch click-b" }), `click of run ${state.b + 1} at ${pixel(two.click)}`]),
      shot.full && el("a", { href: shot.full, target: "_blank", rel: "noopener" }, `${where}, ${shot.width} × ${shot.height}`),
    ]),
    lost,
    step.absent ? el("p", { class: "muted" }, "The target is not on the screen: the right answer is to say so.") : "",
    el("div", { class: "crops" }, zoomed.map((crop) =>
      el("figure", {}, [picture(shot, step, two, crop.view, { wide: narrow() ? wide : Math.min(660, wide / zoomed.length), label: `zoomed: ${crop.words}` }), el("figcaption", {}, crop.words)]))),
    el("p", { class: "muted" }, [`${task} · participant ${step.participant}`, place ? ` · scored step ${place} of ${scored.length} of its task` : "",
      step.action ? ` · action: ${step.action}` : "", step.seconds === undefined ? "" : ` · ${number(step.seconds, 2)} s`,
      (step.groups || []).length ? ` · ${step.groups.join(" · ")}` : ""]),
    el("div", { class: two ? "two" : "" }, [answer(step, two ? state.a : -1), two && answer(two, state.b)]),
    history_(told(one, step)),
    (step.split || []).length ? el("h3", {}, "Whose fault (grounding blame)") : "",
    (step.split || []).length ? el("ul", { class: "muted" }, step.split.map((text) => el("li", {}, text))) : "",
    triage(step),
  ].flat(9).filter((node) => node instanceof Node));
}
const pixel = (point) => `${number(point.x_px, 0)}, ${number(point.y_px, 0)}`;
function answer(step, at) {
  const name = at >= 0 ? ` of run ${at + 1}` : "";
  const part = (title, text) => text ? [el("h3", {}, title), el("pre", {}, text)] : [];
  return el("div", {}, [
    part(`Why there is no hit${name}`, step.reason),
    step.plan && step.plan !== step.instruction ? part(`Plan${name}`, step.plan) : [],
    step.planner_raw && step.planner_raw !== step.plan ? part(`Planner's reply${name}`, step.planner_raw) : [],
    part(`Reply${name}`, step.raw),
  ]);
}
// A step that is on its way. Who waits for longer than a moment is told so.
function showComing(at, there) {
  const detail = byId("detail");
  const still = () => state.chosen === at && otherAt(at) === there;
  const say = (words) => { if (still()) { shownDetail = ""; detail.replaceChildren(el("p", { class: "muted", role: "status" }, words)); } };
  const slow = setTimeout(() => say(`step ${run().idOf(at)} is being loaded …`), 120);
  Promise.all([run().bring(at), there < 0 ? null : beside().bring(there)])
    .then(() => { clearTimeout(slow); if (still()) showDetail(); }, (error) => { clearTimeout(slow); say(error.message); });
}
function told(one, step) {
  return (step.history || []).map((at) => one.toldOf(at)).filter(Boolean);
}
function history_(entries) {
  if (!entries.length) return "";
  return el("details", {}, [el("summary", {}, `history that the models were told (${entries.length} steps)`),
    el("ol", { class: "history" }, entries.map((entry) => el("li", {}, [entry.instruction, el("div", { class: "did" }, entry.action)])))]);
}
