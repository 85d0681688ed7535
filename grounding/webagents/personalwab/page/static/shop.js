const page = JSON.parse(document.getElementById('data').textContent);
const at = (id) => document.getElementById(id);
const chosen = { type: '', outcome: '', words: '' };
let shown = [];
let current = 0;

const text = (tag, words, more) => el(tag, more || {}, words);

function table(one) {
  const head = el('tr', {}, [text('th', ''), ...one.heads.map((name) => text('th', name, { class: 'num' }))]);
  const rows = one.rows.map((row) => el('tr', {}, [
    text('th', row.name), ...row.cells.map((cell) => text('td', cell, { class: 'num' }))]));
  return el('div', {}, [text('h3', one.title), el('table', {}, [el('thead', {}, [head]), el('tbody', {}, rows)])]);
}

const NAMES = {
  search_product_by_query: 'search', get_recommendations_by_history: 'recommend', add_product_review: 'review',
  get_product_details_by_asin: 'details', '': 'end',
};
const COLOURS = ['#0b6fcb', '#0a7d5d', '#cc4b14', '#8a3f86', '#8d6a00', '#7a7f87'];
const short = (name) => NAMES[name] === undefined ? name : NAMES[name];

function draw(tag, attributes, words) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (words !== undefined) made.textContent = words;
  return made;
}

function figure(title, note, svg) {
  return el('figure', {}, [svg, el('figcaption', {}, [text('b', title), note])]);
}

// The functions of each step as bars one beside the other, with bands for what followed what (the paper's figure 8).
function flow(type) {
  const steps = page.transitions.filter((one) => one.type === type);
  const turns = Math.min(8, Math.max(0, ...steps.map((one) => one.turn + 1)));
  if (turns < 2) return null;
  const names = [...new Set(steps.flatMap((one) => [one.before, one.after]))].sort((a, b) => (a === '') - (b === '') || (a < b ? -1 : 1));
  const total = steps.filter((one) => one.turn === 0).reduce((sum, one) => sum + one.episodes, 0);
  const height = 190, width = 640, gap = width / (turns + 0.4), bar = 16;
  const svg = draw('svg', { viewBox: `0 0 ${width + 20} ${height + 40}`, role: 'img' });
  svg.append(draw('title', {}, `What followed what in ${type} tasks`));
  const colour = (name) => name === '' ? '#b9bcc2' : COLOURS[names.indexOf(name) % COLOURS.length];
  const layout = (turn) => {
    const amount = new Map(names.map((name) => [name, 0]));
    for (const one of steps) {
      if (turn === 0 && one.turn === 0) amount.set(one.before, amount.get(one.before) + one.episodes);
      if (turn > 0 && one.turn === turn - 1) amount.set(one.after, amount.get(one.after) + one.episodes);
    }
    const places = new Map();
    let y = 20;
    for (const name of names) { places.set(name, { y, left: y, right: y, size: height * amount.get(name) / total }); y += height * amount.get(name) / total; }
    return places;
  };
  const columns = Array.from({ length: turns + 1 }, (_, turn) => layout(turn));
  for (let turn = 0; turn < turns; turn += 1) {
    for (const one of steps.filter((each) => each.turn === turn).sort((a, b) => names.indexOf(a.after) - names.indexOf(b.after))) {
      const size = height * one.episodes / total, from = columns[turn].get(one.before), to = columns[turn + 1].get(one.after);
      const x = 10 + turn * gap + bar, x2 = 10 + (turn + 1) * gap, bend = (x + x2) / 2;
      const band = draw('path', {
        d: `M${x},${from.right} C${bend},${from.right} ${bend},${to.left} ${x2},${to.left} L${x2},${to.left + size} C${bend},${to.left + size} ${bend},${from.right + size} ${x},${from.right + size} Z`,
        fill: colour(one.before), opacity: one.after === '' ? 0.15 : 0.35 });
      band.append(draw('title', {}, `step ${turn + 1}: ${short(one.before)}, then ${short(one.after)}: ${one.episodes}`));
      svg.append(band);
      from.right += size; to.left += size;
    }
  }
  columns.forEach((places, turn) => {
    for (const [name, place] of places) {
      if (!place.size || (name === '' && turn === turns)) continue;
      const box = draw('rect', { x: 10 + turn * gap, y: place.y, width: bar, height: Math.max(place.size, 0.5), fill: colour(name) });
      box.append(draw('title', {}, `step ${turn + 1}: ${short(name)}`));
      svg.append(box);
    }
    if (turn < turns) svg.append(draw('text', { x: 10 + turn * gap, y: 14 }, `step ${turn + 1}`));
  });
  let x = 10;
  for (const name of names) {
    svg.append(draw('rect', { x, y: height + 26, width: 10, height: 10, fill: colour(name) }));
    svg.append(draw('text', { x: x + 14, y: height + 37 }, short(name)));
    x += 30 + 9.5 * short(name).length;
  }
  return figure(`Steps of ${type} tasks`, `${total} episodes; how wide a band is shows how many went that way.`, svg);
}

// Mean result and number of tasks by attempt (the paper's figure 9).
function byAttempt() {
  const kinds = Object.keys(page.attempts).filter((kind) => page.attempts[kind].length);
  const most = Math.max(0, ...kinds.map((kind) => page.attempts[kind].length));
  if (most < 2) return null;
  const width = 640, height = 170, step = width / (most + 0.5);
  const svg = draw('svg', { viewBox: `-34 0 ${width + 44} ${height + 58}`, role: 'img' });
  svg.append(draw('title', {}, 'Result by attempt'));
  for (const value of [0, 0.5, 1]) {
    const y = 10 + height * (1 - value);
    svg.append(draw('line', { x1: 0, x2: width, y1: y, y2: y, stroke: '#8886', 'stroke-width': 1 }));
    svg.append(draw('text', { x: -6, y: y + 4, 'text-anchor': 'end' }, value.toFixed(1)));
  }
  kinds.forEach((kind, index) => {
    const points = page.attempts[kind].map((one) => [step * (one.attempt - 0.5), 10 + height * (1 - Math.max(0, one.mean_result)), one]);
    svg.append(draw('polyline', { points: points.map(([px, py]) => `${px},${py}`).join(' '), fill: 'none', stroke: COLOURS[index], 'stroke-width': 2 }));
    for (const [px, py, one] of points) {
      const dot = draw('circle', { cx: px, cy: py, r: 3 + Math.min(9, Math.sqrt(one.tasks) / 3), fill: COLOURS[index], opacity: 0.75 });
      dot.append(draw('title', {}, `${kind}, attempt ${one.attempt}: ${one.mean_result.toFixed(3)} over ${one.tasks} tasks`));
      svg.append(dot);
    }
    svg.append(draw('rect', { x: index * 120, y: height + 40, width: 10, height: 10, fill: COLOURS[index] }));
    svg.append(draw('text', { x: index * 120 + 14, y: height + 49 }, kind));
  });
  for (let one = 1; one <= most; one += 1) svg.append(draw('text', { x: step * (one - 0.5), y: height + 26, 'text-anchor': 'middle' }, `attempt ${one}`));
  return figure('Result by attempt', 'Over the tasks that had that attempt; the larger the dot, the more tasks.', svg);
}

function matches(task) {
  if (chosen.type && task.type !== chosen.type) return false;
  if (chosen.outcome && task.outcome !== chosen.outcome) return false;
  if (!chosen.words) return true;
  return `${task.instruction} ${task.user} ${task.id} ${page.products[task.target] || ''}`.toLowerCase().includes(chosen.words);
}

const badge = (outcome) => text('span', outcome, { class: `badge ${outcome.replace(' ', '-')}` });

function list() {
  shown = page.tasks.filter(matches);
  current = Math.min(current, Math.max(0, shown.length - 1));
  at('count').textContent = `${shown.length} of ${page.tasks.length} tasks`;
  at('list').replaceChildren(...shown.map((task, index) => {
    const item = el('div', { class: 'item', role: 'option', id: `item-${index}` }, [
      el('div', { class: 'top' }, [badge(task.outcome), text('span', task.type), text('span', task.paper.toFixed(2)), text('span', task.id)]),
      text('div', task.instruction, { class: 'words' })]);
    item.addEventListener('click', () => choose(index));
    return item;
  }));
  choose(current);
}

function choose(index) {
  if (!shown.length) { at('detail').replaceChildren(text('p', 'No task is left by the filters.', { class: 'muted' })); return; }
  current = Math.max(0, Math.min(index, shown.length - 1));
  at('list').querySelectorAll('[aria-selected]').forEach((item) => item.removeAttribute('aria-selected'));
  const item = at(`item-${current}`);
  item.setAttribute('aria-selected', 'true');
  item.scrollIntoView({ block: 'nearest' });
  detail(shown[current]);
}

function pairs(values) {
  return el('dl', { class: 'facts' }, values.flatMap(([name, value]) => [text('dt', name), text('dd', value)]));
}

function results(turn, target) {
  return el('ol', { class: 'results', start: '1' }, turn.asins.map((asin) => el('li', asin === target ? { class: 'target' } : {}, [
    page.products[asin] || asin, text('code', asin), ...(asin === target ? [' ← the target'] : [])])));
}

function turn(one, number, task) {
  const attempt = one.result !== undefined && one.result !== null;
  const kind = attempt ? (one.right && (one.result > 0 || task.type === 'review') ? 'right' : 'wrong') : '';
  const head = el('h3', {}, [`${number + 1}. ${one.name}`, text('small', attempt ? `worth ${one.result.toFixed(2)}` : '')]);
  const parts = [head];
  if (one.thought) parts.push(text('p', one.thought, { class: 'muted' }));
  parts.push(one.name === 'respond' ? text('div', one.arguments, { class: 'bubble' }) : text('pre', one.arguments));
  if (one.extra_calls) parts.push(text('p', `${one.extra_calls} more calls of this message were not carried out`, { class: 'muted' }));
  if (one.asins && one.asins.length) parts.push(results(one, task.target));
  else if (one.text) parts.push(text('p', (one.error ? `${one.error}: ` : '') + one.text, { class: 'muted' }));
  if (one.user !== undefined && one.user !== null) parts.push(text('div', one.user, { class: 'bubble user' }));
  if (one.reflection) parts.push(el('details', {}, [text('summary', 'what the agent made of it'), text('pre', one.reflection)]));
  return el('div', { class: `turn ${kind}` }, parts);
}

function detail(task) {
  const worth = task.paper === task.official ? `worth ${task.paper.toFixed(3)}` : `worth ${task.paper.toFixed(3)} (paper), ${task.official.toFixed(3)} (official)`;
  const parts = [
    el('div', { class: 'bar' }, [badge(task.outcome), text('span', task.type, { class: 'tag' }), text('span', worth), text('span', '', { class: 'grow' }), text('span', `${task.id} · ${task.user}`, { class: 'muted' })]),
    text('p', task.instruction, { class: 'said' }),
    pairs([
      ['target', `${page.products[task.target] || ''} (${task.target})`],
      ...(task.own_review ? [['own review', task.own_review]] : []),
      ...(task.predicted ? [['taken for', task.predicted]] : []),
      ['ended', task.end], ...(task.failure ? [['failure', task.failure]] : []), ...(task.took ? [['took', task.took]] : []),
    ]),
  ];
  if (task.profile && task.profile.length) parts.push(el('details', {}, [text('summary', 'the user'), pairs(task.profile)]));
  parts.push(el('details', {}, [
    text('summary', `memory: ${task.memory_behaviours || 0} of ${task.earlier_behaviours || 0} earlier purchases`),
    text('pre', task.memory || 'none')]));
  (task.turns || []).forEach((one, number) => parts.push(turn(one, number, task)));
  at('detail').replaceChildren(...parts);
}

function select(id, values) {
  at(id).append(...['', ...new Set(values)].map((value) => text('option', value || 'all', { value })));
  at(id).addEventListener('change', (event) => { chosen[id] = event.target.value; current = 0; list(); });
}

at('title').textContent = page.title;
at('status').textContent = page.status;
at('tables').append(...page.tables.map(table));
at('facts').replaceWith((() => { const made = pairs(page.facts); made.id = 'facts'; return made; })());
at('charts').append(...[flow('search'), flow('recommend'), byAttempt()].filter(Boolean));
select('type', page.tasks.map((task) => task.type));
select('outcome', page.tasks.map((task) => task.outcome));
at('words').addEventListener('input', (event) => { chosen.words = event.target.value.toLowerCase(); current = 0; list(); });
document.addEventListener('keydown', (event) => {
  if (/INPUT|SELECT|TEXTAREA/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'j' || (event.key === 'ArrowDown' && event.target === at('list'))) { choose(current + 1); event.preventDefault(); }
  if (event.key === 'k' || (event.key === 'ArrowUp' && event.target === at('list'))) { choose(current - 1); event.preventDefault(); }
});
list();
