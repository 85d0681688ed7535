// A run whose steps stand in the page: each is there at once.
function prepareRun(one) {
  const place = new Map(one.steps.map((step, at) => [step.id, at]));
  one.size = one.steps.length;
  one.outcome = (at) => one.steps[at].outcome;
  one.failure = (at) => one.steps[at].failure || "";
  one.participant = (at) => one.steps[at].participant;
  one.idOf = (at) => one.steps[at].id;
  one.placeOf = (id) => (place.has(id) ? place.get(id) : -1);
  one.row = (at) => one.steps[at];
  one.shotOf = (at) => one.shots[one.steps[at].shot];
  one.toldOf = (at) => one.told[at];
  one.taskName = (step) => one.tasks[step.task].name;
  one.taskSteps = (step) => one.tasks[step.task].steps;
  one.here = () => true;
  one.bring = async () => {};
  const tally = (values) => {
    const found = new Map();
    for (const value of values) if (value) found.set(value, (found.get(value) || 0) + 1);
    return [...found];
  };
  one.tallies = {
    outcome: tally(one.steps.map((step) => step.outcome)),
    participant: tally(one.steps.map((step) => step.participant)),
    failure: tally(one.steps.map((step) => step.failure)),
  };
}
function otherAt(at) {
  const two = beside();
  return two ? two.placeOf(run().idOf(at)) : -1;
}
function passes(at) {
  const { q } = state.filters;
  return passesFacts(at) && (!q || terms(q).every((term) => haystack(run(), run().row(at)).includes(term)));
}
function choose() {
  const steps = run().steps;
  const shown = [];
  steps.forEach((step, at) => { if (passes(at)) shown.push(at); });
  const sort = state.filters.sort;
  if (sort) {
    const sign = sort === "far" ? -1 : 1;
    const off = (at) => steps[at].distance;
    // Steps without a distance go to the end, whichever way it is sorted.
    shown.sort((x, y) => (off(x) === undefined) - (off(y) === undefined) || sign * ((off(x) || 0) - (off(y) || 0)) || x - y);
  }
  state.shown = shown;
}
// Nothing is on its way.
const hunting = () => "";
const unpack = null, takeNews = null, typingPause = 0;
