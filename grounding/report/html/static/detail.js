// The chosen step in full. Where nothing about it is new it is left alone: somebody may be reading it.
let shownDetail = "";
function showDetail() {
  const detail = byId("detail"), one = run(), at = state.chosen;
  if (at < 0) { shownDetail = ""; detail.replaceChildren(el("p", { class: "muted" }, "No step is chosen.")); return; }
  const step = one.row(at), two = other(at);
  const about = [step, two, one.marksOf.get(at), state.a, state.b, trouble, remembered("labeller"), one.shotOf(at), told(one, step).length];
  const key = JSON.stringify(about, (name, value) => (name === "haystack" ? undefined : value)) || "";
  if (key && key === shownDetail && byId("link")) { byId("link").setAttribute("href", address()); return; }
  shownDetail = key;
  const shot = one.shotOf(at), task = one.taskName(step);
  const scored = one.taskSteps(step).filter((each) => one.outcome(each) !== "none");
  const place = scored.indexOf(at) + 1;
  const lost = el("p", { class: "muted", hidden: true }, `The screenshot itself is not at ${shot ? shot.path : ""} any more: this is its small picture.`);
  const options = { lost: () => { lost.hidden = false; }, label: `screenshot of step ${step.id}` };
  const wide = Math.max(200, detail.clientWidth - 34);
  const zoomed = crops(shot, step, two);
  const where = shot ? shot.path.split("/").pop() : "";
  detail.replaceChildren(...[
    el("div", { class: "bar" }, [
      el("b", {}, `step ${step.id}`), badge(step.outcome, two ? "1: " : ""), two && badge(two.outcome, "2: "), offText(step),
      el("span", { class: "grow" }),
      el("span", { class: "moves" }, [
        el("button", { type: "button", onclick: () => move(-1), title: "previous (k)", "aria-label": "previous step" }, "‹"),
        el("button", { type: "button", onclick: () => move(1), title: "next (j)", "aria-label": "next step" }, "›"),
        shot && zoomButtons(),
        el("a", { href: address(), id: "link", title: "a link to this step" }, "link"),
      ]),
    ]),
    el("p", { class: "said" }, step.instruction || (step.said ? "nothing was heard" : "")),
    step.said ? el("p", { class: "muted" }, [`What was said: ${step.said}`]) : "",
    step.audio ? el("audio", { controls: true, preload: "none", src: step.audio, "aria-label": "the recording" }) : "",
    shot ? zoomable(picture(shot, step, two, whole(shot), { ...options, wide }), shot, [...targets(step), ...(step.click ? [spot(step.click)] : [])]) : "",
    el("p", { class: "key" }, [
      step.gold && bounds(step.gold).length > 0 && el("span", {}, [el("i", { class: "swatch" }), word("gold", "where a click is right")]),
      (step.recorded || []).length ? el("span", {}, [el("i", { class: "swatch recorded" }), `${word("recorded", "recorded")} at ${step.recorded.map(pixel).join(" to ")}`]) : "",
      step.click && el("span", {}, [el("i", { class: "swatch click-a" }), `${two ? `${word("click", "click")} of run ${state.a + 1}` : `the ${word("click", "click")}`} at ${(step.points || [step.click]).map(pixel).join(" to ")}`,
        within(step.click, shot) ? "" : ", outside the screenshot"]),
      two && two.click && el("span", {}, [el("i", { class: "swatch click-b" }), `${word("click", "click")} of run ${state.b + 1} at ${(two.points || [two.click]).map(pixel).join(" to ")}`]),
      shot && shot.full && el("a", { href: shot.full, target: "_blank", rel: "noopener" }, `${where}, ${shot.width} × ${shot.height}`),
    ]),
    ...(step.looks || []).map((look, at) => el("p", { class: "key" }, [el("span", {}, [el("i", { class: `swatch ${look.crop ? "look" : "earlier"}` }),
      `look ${at + 1}, ${look.crop ? `at ${pixel({ x_px: look.crop.left_px, y_px: look.crop.top_px })} to ${pixel({ x_px: look.crop.right_px, y_px: look.crop.bottom_px })}` : "at all of it"}: `
      + `${look.click ? pixel(look.click) : "no answer"}${look.words ? ` · ${look.words}` : ""}`])])),
    step.target || step.answer ? el("p", { class: "key" }, [
      el("span", {}, [el("i", { class: "swatch recorded" }), `${word("recorded", "recorded")}: ${step.target}`]),
      el("span", {}, [el("i", { class: "swatch click-a" }), `${word("click", "answer")}: ${step.answer || "none"}`]),
    ]) : "",
    lost,
    step.absent ? el("p", { class: "muted" }, "The target is not on the screen: the right answer is to say so.") : "",
    el("div", { class: "crops" }, zoomed.map((crop) =>
      el("figure", {}, [picture(shot, step, two, crop.view, { wide: narrow() ? wide : Math.min(660, wide / zoomed.length), label: `zoomed: ${crop.words}` }), el("figcaption", {}, crop.words)]))),
    sharedMap(at),
    el("p", { class: "muted" }, [task, step.participant ? ` · participant ${step.participant}` : "", place ? ` · scored step ${place} of ${scored.length} of its task` : "",
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
    part(`${word("why", "Why there is no hit")}${name}`, step.reason),
    (step.notes || []).map((note) => part(`${note.title}${name}`, note.text)),
    step.plan && step.plan !== step.instruction ? part(`Plan${name}${step.cached ? " (cached: an earlier run had asked for it)" : ""}`, step.plan) : [],
    step.planner_raw && step.planner_raw !== step.plan ? part(`Planner's reply${name}`, step.planner_raw) : [],
    (step.looks || []).length ? step.looks.map((look, number) => part(`Reply to look ${number + 1}${name}`, look.raw)) : part(`Reply${name}`, step.raw),
  ]);
}
function told(one, step) {
  return (step.history || []).map((at) => one.toldOf(at)).filter(Boolean);
}
function history_(entries) {
  if (!entries.length) return "";
  return el("details", {}, [el("summary", {}, `history that the models were told (${entries.length} steps)`),
    el("ol", { class: "history" }, entries.map((entry) => el("li", {}, [entry.instruction, el("div", { class: "did" }, entry.action)])))]);
}
