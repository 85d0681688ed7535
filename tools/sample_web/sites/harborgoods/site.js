const cart = () => store.get('cart', []);
const saved = () => store.get('saved', []);
const itemArt = (item, colour = item.colours[0]) => art(item.kind, COLOURS[colour], SECOND[colour], '#f3f1ec');
const byId = (id) => ITEMS.find((item) => item.id === id);

const header = () => `
<div class="promo">Free delivery on orders over $60 <a href="/help">Details</a></div>
<header class="row">
  <button class="icon" aria-label="Menu" data-act="menu">${icon('menu', 24)}</button>
  <a class="logo" href="/">Harbor Goods</a>
  <form class="row searchbar grow" data-go="/search"><input name="q" id="q" placeholder="Search for gifts, home, clothing" value="${query.get('q') ?? ''}" autocomplete="off">
    <button class="go" aria-label="Search">${icon('search', 20)}</button></form>
  <a class="icon" aria-label="Account" href="/account">${icon('user', 24)}</a>
  <a class="icon" aria-label="Saved" href="/saved">${icon('heart', 24)}${saved().length ? `<b>${saved().length}</b>` : ''}</a>
  <a class="icon" aria-label="Cart" href="/cart">${icon('cart', 24)}${cart().length ? `<b>${cart().reduce((n, l) => n + l.qty, 0)}</b>` : ''}</a>
</header>
<nav class="row cats">${CATS.map((c) => `<a href="/search?cat=${c}">${c}</a>`).join('')}<a href="/search?q=gift">Gift ideas</a><a class="sale" href="/search?sort=price">Under $30</a></nav>`;
const footer = () => `<footer class="row"><a href="/help">Help</a><a href="/returns">Returns</a><a href="/stores">Our shops</a><a href="/jobs">Work with us</a><span class="grow"></span>Harbor Goods, Pier 4</footer>`;

const card = (item) => `
<article class="card" data-id="${item.id}">
  <button class="save ${saved().includes(item.id) ? 'on' : ''}" aria-label="Save" data-act="save:${item.id}">${icon('heart', 20, saved().includes(item.id) ? 'currentColor' : 'none')}</button>
  <a class="pic" href="/item/${item.id}">${itemArt(item)}</a>
  <a class="name" href="/item/${item.id}">${item.name}</a>
  <div class="row"><span class="price">${money(item.price)}</span><span class="grow"></span>${stars(item.rating, 13)}<small>${item.rating}</small></div>
  <button class="add" data-act="add:${item.id}">Add to cart</button>
</article>`;

function home() {
  return { title: 'Harbor Goods - things for home and shore', html: `${header()}
<main><section class="hero row"><div class="grow"><h1>Gifts that feel like a day at the sea</h1><p>Candles, mugs and soft things, wrapped for free.</p>
<a class="cta" href="/search?q=gift">Shop gifts</a> <a class="cta ghost" href="/search?cat=Home">New for home</a></div><div class="heroart">${art('candle', '#c1552f', '#6e2d17', '#ffe9d6')}</div><div class="heroart">${art('mug', '#2f7ea1', '#17445a', '#d5ebf2')}</div></section>
<h2>Loved this week</h2><div class="grid five">${['ember-candle', 'tide-scarf', 'fog-mug', 'wave-blanket', 'pivot-lamp'].map((id) => card(byId(id))).join('')}</div></main>${footer()}` };
}

const SORTS = { best: 'Best match', price: 'Price: low to high', high: 'Price: high to low', rating: 'Top rated' };
function search() {
  const q = query.get('q') ?? '', cat = query.get('cat'), state = { sort: query.get('sort') ?? 'best', max: 0, min: 0, colours: [], ...view };
  let list = ITEMS.filter((i) => (!cat || i.cat === cat) && (q === 'gift' || matches(i.name + ' ' + i.cat + ' ' + i.kind, q)));
  list = list.filter((i) => (!state.max || i.price <= state.max) && i.rating >= state.min && (!state.colours.length || i.colours.some((c) => state.colours.includes(c))));
  const order = { price: (a, b) => a.price - b.price, high: (a, b) => b.price - a.price, rating: (a, b) => b.rating - a.rating }[state.sort];
  if (order) list = [...list].sort(order);
  return { title: (q || cat || 'Under $30') + ' | Harbor Goods', html: `${header()}
<main class="results"><aside>
  <h4>Price</h4>${[25, 35, 50].map((p) => `<label data-act="max:${p}"><i class="box ${state.max === p ? 'on' : ''}">${icon('check', 12)}</i>Up to $${p}</label>`).join('')}
  <h4>Rating</h4>${[4.5, 4].map((r) => `<label class="rate" data-act="min:${r}"><i class="box ${state.min === r ? 'on' : ''}">${icon('check', 12)}</i>${stars(r === 4.5 ? 5 : 4)} ${r} &amp; up</label>`).join('')}
  <h4>Colour</h4><div class="swatches">${Object.keys(COLOURS).map((c) => `<button aria-label="${c}" title="${c}" class="${state.colours.includes(c) ? 'on' : ''}" style="background:${COLOURS[c]}" data-act="colour:${c}"></button>`).join('')}</div>
  ${state.max || state.min || state.colours.length ? '<button class="clear" data-act="clear">Clear filters</button>' : ''}
</aside><section class="grow">
  <div class="row bar"><h1>${list.length} results for &ldquo;${q || cat || 'all'}&rdquo;</h1><span class="grow"></span>
  <div class="sort"><button class="drop row" data-act="opensort">Sort: ${SORTS[state.sort]} ${icon('down', 16)}</button>
  ${state.open ? `<div class="options">${Object.entries(SORTS).map(([k, v]) => `<button data-act="sort:${k}">${v}</button>`).join('')}</div>` : ''}</div></div>
  <div class="grid four">${list.map(card).join('')}</div></section></main>${footer()}` };
}
let view = {};
const set = (change) => { view = { ...view, ...change }; draw(); };
actions.max = (v) => set({ max: view.max === +v ? 0 : +v });
actions.min = (v) => set({ min: view.min === +v ? 0 : +v });
actions.colour = (c) => set({ colours: (view.colours ?? []).includes(c) ? view.colours.filter((x) => x !== c) : [...(view.colours ?? []), c] });
actions.clear = () => set({ max: 0, min: 0, colours: [] });
actions.opensort = () => set({ open: !view.open });
actions.sort = (sort) => set({ sort, open: false });
actions.menu = () => set({ menu: !view.menu });
actions.save = (id) => { store.set('saved', saved().includes(id) ? saved().filter((x) => x !== id) : [...saved(), id]); draw(); };
function put(id, colour, qty = 1) {
  const lines = cart(), same = lines.find((l) => l.id === id && l.colour === colour);
  if (same) same.qty += qty; else lines.push({ id, colour, qty });
  store.set('cart', lines);
}
actions.add = (id) => { put(id, byId(id).colours[0]); set({ toast: byId(id).name }); };

function item(id) {
  const it = byId(id), colour = view.colour ?? it.colours[0], qty = view.qty ?? 1, tab = view.tab ?? 'Details';
  const panel = {
    Details: `<p>Made in small batches and checked by hand. Wipe clean with a soft cloth.</p><p>Ships in a recycled box; gift wrap is free.</p>`,
    Reviews: REVIEWS.map(([who, n, head, text]) => `<div class="review"><b>${head}</b> ${stars(n)} <small>${who}</small><p>${text}</p></div>`).join(''),
    Delivery: `<p>Standard delivery: 3 to 5 days, $4.90. Express: next day, $11.</p>`,
  }[tab];
  return { title: `${it.name} | Harbor Goods`, html: `${header()}
<main class="item"><div class="crumbs"><a href="/">Shop</a> / <a href="/search?cat=${it.cat}">${it.cat}</a> / ${it.name}</div><div class="cols">
<div class="gallery"><div class="big">${itemArt(it, colour)}</div></div>
<div class="info grow"><h1>${it.name}</h1><div class="row">${stars(it.rating, 16)} <a class="count" href="#reviews" data-act="tab:Reviews">${it.reviews} reviews</a></div>
<div class="bigprice">${money(it.price)}</div>
<h4>Colour: ${colour}</h4><div class="swatches big">${it.colours.map((c) => `<button aria-label="${c}" class="${c === colour ? 'on' : ''}" style="background:${COLOURS[c]}" data-act="pick:${c}"></button>`).join('')}</div>
${it.sizes ? `<h4>Size</h4><div class="row sizes">${it.sizes.map((s) => `<button class="${s === view.size ? 'on' : ''}" data-act="size:${s}">${s}</button>`).join('')}</div>` : ''}
<div class="row buy"><div class="row qty"><button aria-label="Less" data-act="qty:-1">${icon('minus', 18)}</button><span>${qty}</span><button aria-label="More" data-act="qty:1">${icon('plus', 18)}</button></div>
<button class="primary" data-act="buy:${it.id}">Add to cart</button><button class="sq" aria-label="Save" data-act="save:${it.id}">${icon('heart', 22, saved().includes(it.id) ? 'currentColor' : 'none')}</button><button class="sq" aria-label="Share" data-act="share">${icon('share', 22)}</button></div>
<label class="wrap" data-act="wrap"><i class="box ${view.wrap ? 'on' : ''}">${icon('check', 12)}</i>Gift wrap it (free)</label></div></div>
<div class="row tabs">${['Details', 'Reviews', 'Delivery'].map((t) => `<button class="${t === tab ? 'on' : ''}" data-act="tab:${t}">${t}${t === 'Reviews' ? ` (${it.reviews})` : ''}</button>`).join('')}</div><div class="panel">${panel}</div>
<h2>Goes well with</h2><div class="grid five">${ITEMS.filter((x) => x.id !== id && x.cat === it.cat).slice(0, 5).map(card).join('')}</div></main>
${view.added ? `<div class="shade"><div class="dialog"><button class="x" aria-label="Close" data-act="shut">${icon('close', 20)}</button><h3>Added to your cart</h3><div class="row"><div class="thumb">${itemArt(it, colour)}</div><p>${qty} x ${it.name}<br>${colour}</p></div><div class="row"><button class="ghostb" data-act="shut">Keep shopping</button><a class="primary" href="/cart">Go to cart</a></div></div></div>` : ''}${footer()}` };
}
actions.pick = (colour) => set({ colour });
actions.size = (size) => set({ size });
actions.qty = (d) => set({ qty: Math.max(1, (view.qty ?? 1) + +d) });
actions.tab = (tab) => set({ tab });
actions.wrap = () => set({ wrap: !view.wrap });
actions.share = () => {};
actions.buy = (id) => { put(id, view.colour ?? byId(id).colours[0], view.qty ?? 1); set({ added: true }); };
actions.shut = () => set({ added: false, qty: 1 });

const total = () => cart().reduce((sum, l) => sum + byId(l.id).price * l.qty, 0);
function cartPage() {
  return { title: 'Your cart | Harbor Goods', html: `${header()}<main class="cart"><section class="grow"><h1>Your cart</h1>${cart().map((l, n) => `<div class="row line" data-line="${l.id}"><a class="thumb" href="/item/${l.id}">${itemArt(byId(l.id), l.colour)}</a><div class="grow"><a class="name" href="/item/${l.id}">${byId(l.id).name}</a><small>${l.colour}</small></div>
<div class="row qty"><button aria-label="Less" data-act="line:${n}:-1">${icon('minus', 16)}</button><span>${l.qty}</span><button aria-label="More" data-act="line:${n}:1">${icon('plus', 16)}</button></div><b>${money(byId(l.id).price * l.qty)}</b><button class="bin" aria-label="Remove" data-act="drop:${n}">${icon('trash', 20)}</button></div>`).join('') || '<p>Nothing here yet.</p>'}</section>
<aside class="sum"><h3>Summary</h3><div class="row">Items<span class="grow"></span>${money(total())}</div><div class="row">Delivery<span class="grow"></span>${total() > 60 ? 'Free' : '$4.90'}</div><div class="row tot">Total<span class="grow"></span>${money(total() + (total() > 60 ? 0 : 4.9))}</div><a class="primary" href="/checkout">Check out</a><a class="ghostb" href="/">Continue shopping</a></aside></main>${footer()}` };
}
actions.line = (arg) => { const [n, d] = arg.split(':').map(Number), lines = cart(); lines[n].qty = Math.max(1, lines[n].qty + d); store.set('cart', lines); draw(); };
actions.drop = (n) => { store.set('cart', cart().filter((_, i) => i !== +n)); draw(); };

const field = (id, label, value = '') => `<label class="field"><span>${label}</span><input id="${id}" value="${value}" autocomplete="off"></label>`;
function checkout() {
  const ship = view.ship ?? 'standard';
  return { title: 'Checkout | Harbor Goods', html: `${header()}<main class="cart"><section class="grow"><h1>Checkout</h1><div class="form">${field('name', 'Full name', 'Robin Vale')}${field('mail', 'Email', 'robin@vale.example')}${field('street', 'Street', '12 Lantern Row')}${field('note', 'Gift note (optional)')}</div>
<h4>Delivery</h4>${[['standard', 'Standard, 3 to 5 days', '$4.90'], ['express', 'Express, next day', '$11.00'], ['pickup', 'Pick up at Pier 4', 'Free']].map(([k, t, p]) => `<label class="row radio ${ship === k ? 'on' : ''}" data-act="ship:${k}"><i></i>${t}<span class="grow"></span>${p}</label>`).join('')}</section>
<aside class="sum"><h3>Order</h3>${cart().map((l) => `<div class="row">${l.qty} x ${byId(l.id).name}</div>`).join('')}<div class="row tot">Total<span class="grow"></span>${money(total() + { standard: 4.9, express: 11, pickup: 0 }[ship])}</div><button class="primary" data-act="place">Place order</button></aside></main>${footer()}` };
}
actions.ship = (ship) => { view.ship = ship; const keep = $('#note').value; draw(); $('#note').value = keep; };
actions.place = () => { store.set('cart', []); location.href = '/done'; };
const done = () => ({ title: 'Thank you | Harbor Goods', html: `${header()}<main class="thanks">${icon('check', 64)}<h1>Thank you, Robin!</h1><p>Your order HG-20417 is on its way to the packing table.</p><a class="cta" href="/">Back to the shop</a></main>${footer()}` });
const savedPage = () => ({ title: 'Saved | Harbor Goods', html: `${header()}<main><h1>Saved for later</h1><div class="grid five">${saved().map((id) => card(byId(id))).join('')}</div></main>${footer()}` });
route([[/^\/search$/, search], [/^\/item\/([\w-]+)$/, item], [/^\/cart$/, cartPage], [/^\/checkout$/, checkout], [/^\/done$/, done], [/^\/saved$/, savedPage], [/^/, home]]);
