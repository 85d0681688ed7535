// The links of a page, each with the block that it stands in, as far as a product may stand there: a picture, a price,
// words, and how many blocks of the same make stand beside it.
() => {
  const clean = (text, most) => String(text || '').replace(/\s+/g, ' ').trim().slice(0, most);
  const price = /(?:[$€£¥]|\b(?:USD|EUR|GBP)\b)\s?\d|\d\s?(?:[$€£¥]|\b(?:USD|EUR|GBP)\b)/;
  const area = 'body, main, [role=main], header, footer, nav, aside, form, dialog, [role=dialog]';
  const all = [];
  const walk = (root) => {
    for (const node of root.querySelectorAll('a[href]')) if (all.length < 600) all.push(node);
    for (const node of root.querySelectorAll('*')) if (node.shadowRoot && all.length < 600) walk(node.shadowRoot);
  };
  walk(document);
  const bare = (link) => String(link.href).split('#')[0];
  const links = (node) => new Set([...node.querySelectorAll('a[href]')].map(bare).concat(node.matches('a[href]') ? [bare(node)] : []));
  const make = (node) => node.tagName + ' ' + [...node.classList].sort().join(' ');
  const here = bare({ href: location.href });
  const block = (link) => {
    for (let node = link, depth = 0; node && depth < 8 && !node.matches(area); node = node.parentElement, depth += 1) {
      const parent = node.parentElement;
      if (!parent) break;
      if (!price.test(node.textContent) && !node.querySelector('img, picture, svg')) continue;
      const alike = [...parent.children].filter((one) => one !== node && make(one) === make(node)
        && (one.matches('a[href]') || one.querySelector('a[href]')));
      if (alike.length && price.test(node.textContent)) return { node, alike: alike.length + 1 };
    }
    let node = link;
    while (node.parentElement && !node.parentElement.matches(area) && links(node.parentElement).size === 1) node = node.parentElement;
    return { node, alike: 1 };
  };
  const headings = [...document.querySelectorAll('h1, h2, h3, h4, [role=heading], legend')].slice(0, 300);
  // A heading speaks for what stands in the same block after it; one of another block says nothing of these.
  const reign = new Map(headings.map((one) => {
    let place = one.parentElement;
    while (place && place.parentElement && place.textContent.trim().length <= one.textContent.trim().length + 40) place = place.parentElement;
    return [one, place];
  }));
  const headingBefore = (node) => {
    let last = '';
    for (const one of headings) {
      if (node.contains(one)) continue;
      if (!(one.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
      if (!one.closest('a[href]') && !one.querySelector('a[href]') && reign.get(one).contains(node)) last = one.innerText;
    }
    return clean(last, 120);
  };
  const told = [];
  for (const link of all) {
    const href = bare(link);
    if (!/^https?:/.test(href) || href === here || told.length >= 300) continue;
    const { node, alike } = block(link);
    const box = node.getBoundingClientRect();
    if (box.width < 4 || box.height < 4 || getComputedStyle(node).visibility !== 'visible') continue;
    const named = node.querySelector('h1, h2, h3, h4, h5, [class*=title i], [class*=name i]');
    told.push({
      href: href.slice(0, 2048), link: clean(link.innerText, 200), named: clean(named && named.innerText, 200),
      alt: clean([...node.querySelectorAll('img[alt]')].map((one) => one.alt).join(' '), 200),
      text: clean(node.innerText, 600), picture: !!node.querySelector('img, picture, svg'),
      price: price.test(node.innerText), alike, links: links(node).size,
      area: (link.closest('header, footer, nav, aside, [role=navigation], [role=complementary]') || {tagName: ''}).tagName.toLowerCase(),
      marks: clean([node, ...(function* () { for (let up = node.parentElement, n = 0; up && n < 4; up = up.parentElement, n += 1) yield up; })()]
        .filter((one) => !one.matches('body, html, main')).map((one) => `${one.id} ${one.getAttribute('class') || ''} ${one.getAttribute('aria-label') || ''}`).join(' '), 300),
      heading: headingBefore(node), top: Math.round(box.top + scrollY),
    });
  }
  const main = document.querySelector('main, [role=main]') || document.body;
  return { url: location.href, title: clean(document.title, 200), cards: told, said: clean(main && main.innerText, 2500) };
}
