// Finds the one element a script means and tells the part of it that can really be clicked.
(spec) => {
  const said = (e) => (e.innerText ?? e.textContent).trim().replace(/\s+/g, ' ');
  const fits = (e) => spec.text === null || (spec.part ? said(e).includes(spec.text) : said(e) === spec.text);
  const found = [...document.querySelectorAll(spec.css)].filter(fits);
  if (found.length !== 1) return { error: `${found.length} elements fit` };
  const element = found[0], whole = element.getBoundingClientRect();
  let [left, top, right, bottom] = [whole.left, whole.top, whole.right, whole.bottom];
  const clip = (box) => { left = Math.max(left, box.left); top = Math.max(top, box.top); right = Math.min(right, box.right); bottom = Math.min(bottom, box.bottom); };
  clip({ left: 0, top: 0, right: document.documentElement.clientWidth, bottom: document.documentElement.clientHeight });
  for (let p = element.parentElement; p && p !== document.body; p = p.parentElement) {
    if (getComputedStyle(p).overflow !== 'visible') clip(p.getBoundingClientRect());
  }
  // Another control may lie over a corner (a heart on a picture): cut it off on the side that costs least.
  const over = new Set();
  for (let i = 0.5; i < 16; i += 1) for (let j = 0.5; j < 16; j += 1) {
    const hit = document.elementFromPoint(left + i / 16 * (right - left), top + j / 16 * (bottom - top));
    const control = hit && !element.contains(hit) && hit.closest('button, a');
    if (!control || control.contains(element)) continue;
    const size = control.getBoundingClientRect();
    if (size.width * size.height < 0.4 * whole.width * whole.height) over.add(control);
  }
  for (const box of [...over].map((control) => control.getBoundingClientRect())) {
    const cuts = [{ left: box.right, top, right, bottom }, { left, top: box.bottom, right, bottom }, { left, top, right: box.left, bottom }, { left, top, right, bottom: box.top }];
    const area = (c) => Math.max(0, c.right - c.left) * Math.max(0, c.bottom - c.top);
    clip(cuts.reduce((best, c) => (area(c) > area(best) ? c : best)));
  }
  if (right - left < 4 || bottom - top < 4) return { error: 'off screen' };
  if ((right - left) * (bottom - top) < 0.5 * whole.width * whole.height) return { error: 'mostly off screen' };
  for (const [fx, fy] of [[0.5, 0.5], [0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]) {
    const hit = document.elementFromPoint(left + fx * (right - left), top + fy * (bottom - top));
    if (!hit || !element.contains(hit)) return { error: `covered at (${fx}, ${fy}) by ${hit && hit.outerHTML.slice(0, 80)}` };
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}
