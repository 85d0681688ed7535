// Everything on a page that may be its search box, and what may bring one to light. The elements go beside what is told.
() => {
  const clean = (text, most) => String(text || '').replace(/\s+/g, ' ').trim().slice(0, most);
  const all = [];
  const walk = (root) => {
    for (const node of root.querySelectorAll('*')) {
      if (all.length > 20000) return;
      all.push(node);
      if (node.shadowRoot) walk(node.shadowRoot);
    }
  };
  walk(document);
  const seen = (node) => {
    const style = getComputedStyle(node), box = node.getBoundingClientRect();
    return box.width > 3 && box.height > 3 && style.visibility === 'visible' && style.display !== 'none';
  };
  const label = (node) => clean([
    node.getAttribute('aria-label'), node.getAttribute('placeholder'), node.getAttribute('title'),
    node.labels && [...node.labels].map((one) => one.innerText).join(' '),
  ].filter(Boolean).join(' '), 200);
  const names = (node) => clean([node.getAttribute('name'), node.id, node.getAttribute('class')].filter(Boolean).join(' '), 200);
  const nodes = [], told = [];
  const keep = (node, kind) => {
    if (nodes.length >= 60) return;
    const form = node.form || node.closest('form');
    const box = node.getBoundingClientRect();
    nodes.push(node);
    told.push({
      kind, tag: node.tagName.toLowerCase(), type: clean(node.getAttribute('type'), 30).toLowerCase(),
      role: clean(node.getAttribute('role'), 30).toLowerCase(), names: names(node), label: label(node),
      text: kind === 'opener' ? clean(node.innerText, 60) : '',
      action: form ? clean(form.getAttribute('action'), 200) : '',
      around: !!node.closest('[role=search], search, [class*=search i], [id*=search i]'),
      fields: form ? [...form.elements].filter((one) => one.matches('input:not([type=hidden]):not([type=submit]), textarea')).length : 0,
      shown: seen(node), top: Math.round(box.top + scrollY),
    });
  };
  const typed = 'input:not([type]), input[type=""], input[type=text], input[type=search], textarea, [role=searchbox],'
    + '[role=combobox], [contenteditable=""], [contenteditable=true]';
  for (const node of all) if (node.matches(typed) && !node.disabled && !node.readOnly) keep(node, 'box');
  for (const node of all) {
    if (!node.matches('button, a, [role=button], [onclick], summary, label')) continue;
    const said = [label(node), names(node), clean(node.innerText, 60)].join(' ');
    if (seen(node) && /search|find|magnif|lupe|such/i.test(said)) keep(node, 'opener');
  }
  return { nodes, told };
}
