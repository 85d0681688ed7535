// The values of a drawing where the pointer is, or, with the arrow keys, where one goes along it.
const SVG = 'http://www.w3.org/2000/svg';
const LEFT = 48, RIGHT = 392, TOP = 18, BOTTOM = 196;
const charts = JSON.parse(document.getElementById('data').textContent).charts;
const figure = (value) => {
  if (value === null || value === undefined) return 'no number';
  return Math.abs(value) >= 1e7 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
};

function nearest(steps, step) {
  let low = 0, high = steps.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle + 1; else high = middle;
  }
  return low > 0 && step - steps[low - 1] < steps[low] - step ? low - 1 : low;
}

function words(line, at) {
  const smooth = line.smooth.length ? `, mean around ${figure(line.smooth[at])}` : '';
  if (line.values.length) return `${line.name} ${figure(line.values[at])}${smooth}`;
  return `${line.name} ${figure(line.low[at])} to ${figure(line.high[at])}${smooth}`;
}

for (const drawing of document.querySelectorAll('svg[data-chart]')) {
  const chart = charts[drawing.dataset.chart], readout = document.getElementById(`${drawing.dataset.chart}-readout`);
  const cross = document.createElementNS(SVG, 'line');
  const steps = [...new Set(chart.lines.flatMap((line) => line.steps))].sort((a, b) => a - b);
  const span = chart.last - chart.first;
  let current = -1;
  for (const [name, value] of Object.entries({ class: 'cross', y1: TOP, y2: BOTTOM, visibility: 'hidden' })) cross.setAttribute(name, value);
  drawing.append(cross);
  const show = (place) => {
    current = Math.min(steps.length - 1, Math.max(0, place));
    const step = steps[current], x = LEFT + (span ? (step - chart.first) / span : 0.5) * (RIGHT - LEFT);
    cross.setAttribute('x1', x); cross.setAttribute('x2', x); cross.setAttribute('visibility', 'visible');
    // Held-out figures are rare: the nearest is told, with its own step where that is another.
    const said = chart.lines.map((line) => {
      const at = nearest(line.steps, step);
      return words(line, at) + (line.steps[at] === step ? '' : ` (step ${Math.round(line.steps[at]).toLocaleString('en')})`);
    });
    readout.textContent = `step ${Math.round(step).toLocaleString('en')}: ${said.join('; ')}`;
  };
  const hide = () => { cross.setAttribute('visibility', 'hidden'); readout.textContent = ''; current = -1; };
  drawing.addEventListener('pointermove', (event) => {
    const at = drawing.createSVGPoint();
    at.x = event.clientX; at.y = event.clientY;
    const inside = at.matrixTransform(drawing.getScreenCTM().inverse());
    show(nearest(steps, chart.first + ((inside.x - LEFT) / (RIGHT - LEFT)) * span));
  });
  drawing.addEventListener('pointerleave', hide);
  drawing.addEventListener('blur', hide);
  drawing.addEventListener('keydown', (event) => {
    const moves = { ArrowRight: current + 1, ArrowLeft: current < 0 ? steps.length - 1 : current - 1, Home: 0, End: steps.length - 1 };
    if (moves[event.key] === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    show(moves[event.key]);
    event.preventDefault();
  });
}
