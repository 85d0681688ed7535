// What there is to click and to fill in, in the part of the page that is in view and not covered by anything.
// Returns the elements themselves beside what can be said of each, in reading order.
(most) => {
  const strong = 'a[href], button, input, select, textarea, summary, [contenteditable=""], [contenteditable="true"],'
    + '[role=button], [role=link], [role=checkbox], [role=radio], [role=tab], [role=menuitem], [role=option],'
    + '[role=searchbox], [role=combobox], [role=textbox], [role=switch]';
  const wide = document.documentElement.clientWidth || innerWidth;
  const high = window.innerHeight;
  const clean = (text, most) => String(text || '').replace(/\s+/g, ' ').trim().slice(0, most);

  const found = [];
  const walk = (root) => {
    for (const node of root.querySelectorAll('*')) {
      if (found.length > 20000) return;
      found.push(node);
      if (node.shadowRoot) walk(node.shadowRoot);
    }
  };
  walk(document);

  const isStrong = (node) => node.matches(strong);
  const isWeak = (node) => {
    if (node.hasAttribute('onclick') || node.tabIndex >= 0 && node.hasAttribute('tabindex')) return true;
    if (getComputedStyle(node).cursor !== 'pointer') return false;
    return !node.parentElement || getComputedStyle(node.parentElement).cursor !== 'pointer';
  };
  const shown = (node) => {
    if (node.type === 'hidden' || node.closest('[inert], [hidden]')) return false;
    const style = getComputedStyle(node);
    return style.visibility === 'visible' && style.display !== 'none' && style.pointerEvents !== 'none'
      && Number(style.opacity) > 0.05;
  };
  const inView = (node) => {
    let best = null;
    for (const rect of node.getClientRects()) {
      const box = [Math.max(0, rect.left), Math.max(0, rect.top), Math.min(wide, rect.right), Math.min(high, rect.bottom)];
      const area = Math.max(0, box[2] - box[0]) * Math.max(0, box[3] - box[1]);
      if (box[2] - box[0] >= 4 && box[3] - box[1] >= 4 && (!best || area > best.area)) best = { box, area };
    }
    return best && best.box;
  };
  const reaches = (node, x, y) => {
    let hit = document.elementFromPoint(x, y);
    while (hit && hit.shadowRoot && !node.contains(hit)) {
      const deeper = hit.shadowRoot.elementFromPoint(x, y);
      if (!deeper || deeper === hit) break;
      hit = deeper;
    }
    const label = hit && hit.closest('label');
    return !!hit && (node.contains(hit) || !!label && label.control === node);
  };
  const uncovered = (node, box) => {
    for (const [across, down] of [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.2], [0.5, 0.8]]) {
      if (reaches(node, box[0] + (box[2] - box[0]) * across, box[1] + (box[3] - box[1]) * down)) return true;
    }
    return false;
  };
  const labelOf = (node) => {
    const by = (node.getAttribute('aria-labelledby') || '').split(/\s+/).filter(Boolean)
      .map((id) => document.getElementById(id)).filter(Boolean).map((one) => one.innerText).join(' ');
    const own = node.getAttribute('aria-label') || by;
    if (own) return own;
    if (node.labels && node.labels.length) return [...node.labels].map((one) => one.innerText).join(' ');
    if (node.matches('input[type=submit], input[type=button], input[type=reset]')) return node.value;
    if (node.matches('input, select, textarea')) return node.placeholder || node.title || node.name;
    const pictures = [...node.querySelectorAll('img[alt]')].map((one) => one.alt).join(' ');
    return node.innerText || pictures || node.title || '';
  };
  const formOf = (node) => {
    const form = node.form || node.closest('form');
    if (!form) return null;
    return {
      method: String(form.getAttribute('method') || 'get').toLowerCase().slice(0, 10),
      fields: [...form.elements].slice(0, 40).map((one) => ({
        type: clean(one.type, 30), name: clean(one.name, 60), autocomplete: clean(one.autocomplete, 60),
      })),
    };
  };

  const kept = [];
  for (const node of found) {
    const sure = isStrong(node);
    if (!sure && !isWeak(node)) continue;
    if (!shown(node)) continue;
    const box = inView(node);
    if (!box || !uncovered(node, box)) continue;
    kept.push({ node, box, sure });
  }
  const sureOnes = kept.filter((one) => one.sure);
  const single = kept.filter((one) => one.sure
    ? !sureOnes.some((other) => other !== one && other.node.contains(one.node) && other.node.matches('a[href], button'))
    : !sureOnes.some((other) => other.node.contains(one.node) || one.node.contains(other.node)));
  single.sort((one, other) => Math.round(one.box[1] / 8) - Math.round(other.box[1] / 8) || one.box[0] - other.box[0]);
  const chosen = single.slice(0, most);

  const told = chosen.map(({ node, box }) => ({
    tag: node.tagName.toLowerCase(),
    type: clean(node.getAttribute('type'), 30).toLowerCase(),
    role: clean(node.getAttribute('role'), 30).toLowerCase(),
    name: clean(labelOf(node), 200),
    field: clean([node.getAttribute('name'), node.id].filter(Boolean).join(' '), 120),
    autocomplete: clean(node.getAttribute('autocomplete'), 60).toLowerCase(),
    value: node.matches('input:not([type=password]), textarea') ? clean(node.value, 100)
      : node.tagName === 'SELECT' ? clean(node.selectedOptions[0] && node.selectedOptions[0].label, 100) : '',
    options: node.tagName === 'SELECT' ? [...node.options].slice(0, 20).map((one) => clean(one.label, 60)) : [],
    href: node.tagName === 'A' ? String(node.href).slice(0, 2048) : '',
    checked: !!node.checked || node.getAttribute('aria-checked') === 'true' || node.getAttribute('aria-selected') === 'true',
    disabled: !!node.disabled || node.getAttribute('aria-disabled') === 'true',
    box: box.map((edge) => Math.round(edge * 10) / 10),
    form: formOf(node),
  }));
  const root = document.scrollingElement || document.documentElement;
  return {
    nodes: chosen.map((one) => one.node),
    told: {
      elements: told,
      title: clean(document.title, 200),
      top: Math.round(scrollY), view: high, whole: Math.round(root.scrollHeight),
      left_out: single.length - chosen.length,
    },
  };
}
