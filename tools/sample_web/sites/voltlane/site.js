const byId = (id) => ITEMS.find((item) => item.id === id);
const cart = () => store.get('cart', []);
const compare = () => store.get('compare', []);
const pic = (it) => art(it.kind, it.a, it.b, '#f4f4f5');
let view = {};
const set = (change) => { view = { ...view, ...change }; draw(); };

const header = () => `
<header class="row"><a class="logo row" href="/">${icon('play', 18, 'currentColor')} VOLTLANE</a>
<button class="dep row">${icon('grid', 18)} Departments</button>
<form class="row find grow" data-go="/search"><input id="q" name="q" placeholder="What are you looking for?" value="${query.get('q') ?? ''}" autocomplete="off"><button type="button" class="mic" aria-label="Voice search">${icon('mic', 18)}</button><button class="go" aria-label="Search">${icon('search', 20)}</button></form>
<a class="row hi" href="/account">${icon('user', 22)}<span><small>Hello, Sam</small><b>Account</b></span></a>
<a class="row hi" href="/cart" aria-label="Cart">${icon('cart', 24)}<em>${cart().length}</em></a></header>
<nav class="row sub"><a href="/search?q=headphones">Audio</a><a href="/search?q=keyboard">Keyboards</a><a href="/search?q=mouse">Mice</a><a href="/search?q=usb">Charging</a><a href="/search?q=smartwatch">Wearables</a><a href="/deals">Deals</a></nav>`;

function home() {
  return { title: 'Voltlane - electronics', html: `${header()}<main><div class="bento"><a class="tile a" href="/item/drift-pro"><div><h1>Hear less of the train</h1><p>Drift Pro Wireless, $129.00</p></div><span>${art('headphones', '#facc15', '#fef3c7', '#111827')}</span></a>
<a class="tile b" href="/item/keys-60"><h3>Desk upgrades</h3><span>${art('keyboard', '#1f2937', '#facc15', '#fde68a')}</span></a><a class="tile c" href="/item/boom"><h3>Picnic sound</h3><span>${art('speaker', '#059669', '#064e3b', '#d1fae5')}</span></a></div>
<h2>Deals of the day</h2><div class="strip">${['pebble-2', 'glide', 'zap', 'tick', 'peek', 'hum-lite'].map((id) => `<a class="mini" data-id="${id}" href="/item/${id}"><span>${pic(byId(id))}</span><b>${byId(id).name}</b><i>${money(byId(id).price)}</i></a>`).join('')}</div></main>` };
}

function search() {
  const q = (query.get('q') ?? '').replace(/wireless /i, ''), tags = view.tags ?? [], sort = view.sort ?? 'Relevance', max = view.max ?? 0;
  let list = ITEMS.filter((i) => matches(i.name + ' ' + i.type, q) || (q.includes('headphones') && i.kind === 'earbuds'));
  list = list.filter((i) => tags.every((t) => i.tags.includes(t)) && (!max || i.price <= max));
  const by = { 'Price': (a, b) => a.price - b.price, 'Rating': (a, b) => b.rating - a.rating }[sort];
  if (by) list = [...list].sort(by);
  return { title: `${query.get('q')} - Voltlane`, html: `${header()}<main><div class="row tools"><b>${list.length} products</b><div class="seg row">${['Relevance', 'Price', 'Rating'].map((s) => `<button class="${s === sort ? 'on' : ''}" data-act="sort:${s}">${s}</button>`).join('')}</div>
<div class="chips row">${TAGS.map((t) => `<button class="chip ${tags.includes(t) ? 'on' : ''}" data-act="tag:${t}">${t}</button>`).join('')}<button class="chip ${max ? 'on' : ''}" data-act="max:100">Under $100</button></div><span class="grow"></span><button class="ib" aria-label="List view">${icon('list', 20)}</button><button class="ib" aria-label="Grid view">${icon('grid', 20)}</button></div>
<div class="rows">${list.map((it) => `<article class="item row" data-id="${it.id}"><a class="ph" href="/item/${it.id}">${pic(it)}</a><div class="grow"><a class="nm" href="/item/${it.id}">${it.name}</a><div class="ty">${it.type}</div><div class="row rt">${stars(it.rating)} <a href="/item/${it.id}?tab=Reviews">(${it.reviews})</a></div><div class="tg">${it.tags.map((t) => `<span>${t}</span>`).join('')}</div></div>
<label class="cmp row" data-act="cmp:${it.id}"><i class="box ${compare().includes(it.id) ? 'on' : ''}">${icon('check', 12)}</i>Compare</label><div class="pr"><b>${money(it.price)}</b><small class="${it.stock.startsWith('Only') ? 'low' : ''}">${it.stock}</small><button class="buy" data-act="add:${it.id}">Add to cart</button><a class="nt" href="/item/${it.id}" target="_blank">Open in new tab</a></div></article>`).join('')}</div></main>
${compare().length ? `<div class="tray row"><b>Compare (${compare().length})</b>${compare().map((id) => `<span class="row pill">${byId(id).name}<button aria-label="Remove ${byId(id).name}" data-act="cmp:${id}">${icon('close', 14)}</button></span>`).join('')}<span class="grow"></span><button data-act="cmpclear" class="lk">Clear all</button><a class="buy" href="/compare">Compare now</a></div>` : ''}` };
}
actions.sort = (sort) => set({ sort });
actions.tag = (t) => set({ tags: (view.tags ?? []).includes(t) ? view.tags.filter((x) => x !== t) : [...(view.tags ?? []), t] });
actions.max = (m) => set({ max: view.max ? 0 : +m });
actions.cmp = (id) => { store.set('compare', compare().includes(id) ? compare().filter((x) => x !== id) : [...compare(), id]); draw(); };
actions.cmpclear = () => { store.set('compare', []); draw(); };
actions.add = (id) => { store.set('cart', [...cart(), id]); set({ toast: id }); };

function comparePage() {
  const list = compare().map(byId), rowOf = (label, f) => `<tr><th>${label}</th>${list.map((i) => `<td>${f(i)}</td>`).join('')}</tr>`;
  return { title: 'Compare - Voltlane', html: `${header()}<main><h2>Compare products</h2><table class="ct"><tr><th></th>${list.map((i) => `<td data-id="${i.id}"><button class="cx" aria-label="Remove" data-act="cmp:${i.id}">${icon('close', 16)}</button><a class="cp" href="/item/${i.id}">${pic(i)}</a><a class="nm" href="/item/${i.id}">${i.name}</a></td>`).join('')}</tr>
${rowOf('Price', (i) => `<b>${money(i.price)}</b>`)}${rowOf('Rating', (i) => stars(i.rating) + ' ' + i.rating)}${rowOf('Battery life', (i) => i.battery)}${rowOf('Features', (i) => i.tags.join(', '))}${rowOf('', (i) => `<button class="buy" data-id="${i.id}" data-act="add:${i.id}">Add to cart</button>`)}</table></main>` };
}

const REV = [[5, 'Comfortable for hours', 'Wore them through a whole workday. Pairing took ten seconds.'], [3, 'Decent', 'Good for the money, the case scratches easily.'], [5, 'Does what it says', 'No surprises. Would get it again.'], [1, 'Faulty unit', 'Left side died in week two. The shop replaced it.']];
function item(id) {
  const it = byId(id), tab = view.tab ?? query.get('tab') ?? 'Overview', plan = view.plan ?? 'none';
  return { title: `${it.name} - Voltlane`, html: `${header()}<main class="pdp"><div class="left"><div class="hero">${pic(it)}</div><div class="row thumbs">${['#f4f4f5', '#e0f2fe', '#fef9c3', '#fce7f3'].map((bg, n) => `<button class="${(view.shot ?? 0) === n ? 'on' : ''}" aria-label="Picture ${n + 1}" data-act="shot:${n}">${art(it.kind, it.a, it.b, bg)}</button>`).join('')}</div></div>
<div class="mid grow"><h1>${it.name}</h1><div class="ty">${it.type}</div><div class="row rt">${stars(it.rating, 16)} ${it.rating} <a href="#r" data-act="tab:Reviews">${it.reviews} ratings</a></div>
<div class="row tabs">${['Overview', 'Specs', 'Reviews', 'Questions'].map((t) => `<button class="${t === tab ? 'on' : ''}" data-act="tab:${t}">${t}</button>`).join('')}</div>
<div class="pane">${tab === 'Reviews' ? `<div class="row fl">Show: ${['All', '5 star', '1 star'].map((s) => `<button class="chip ${(view.rf ?? 'All') === s ? 'on' : ''}" data-act="rf:${s}">${s}</button>`).join('')}</div>` + REV.filter(([n]) => !view.rf || view.rf === 'All' || n === +view.rf[0]).map(([n, h, t]) => `<div class="rv">${stars(n)} <b>${h}</b><p>${t}</p></div>`).join('') : tab === 'Specs' ? `<ul class="sp"><li>Battery life: ${it.battery}</li><li>Features: ${it.tags.join(', ')}</li><li>Warranty: 2 years</li><li>Weight: 240 g</li></ul>` : tab === 'Questions' ? '<p>No questions yet. Be the first to ask.</p>' : `<p>A solid everyday pick from our buyers. ${it.tags.join(', ')}. Comes with a pouch and a short guide.</p><ul class="sp"><li>Two years of cover</li><li>Free returns for 30 days</li></ul>`}</div></div>
<aside class="side"><div class="big">${money(it.price)}</div><small>${it.stock} - delivered in 2 days</small><h4>Protection plan</h4>${[['none', 'No plan'], ['two', '2 years, $9.00'], ['three', '3 years, $14.00']].map(([k, t]) => `<label class="row opt ${plan === k ? 'on' : ''}" data-act="plan:${k}"><i></i>${t}</label>`).join('')}
<button class="buy wide" data-act="add:${it.id}">Add to cart</button><a class="dark wide" href="/cart">Buy now</a><div class="row ics"><button aria-label="Wish list" data-act="wish">${icon('heart', 20, view.wish ? 'currentColor' : 'none')}</button><button aria-label="Share" data-act="noop">${icon('share', 20)}</button><button aria-label="Notify" data-act="noop">${icon('bell', 20)}</button></div></aside></main>
${view.toast ? `<div class="toast row">${icon('check', 20)} ${it.name} is in your cart <a href="/cart">View cart</a><button aria-label="Dismiss" data-act="hush">${icon('close', 16)}</button></div>` : ''}` };
}
actions.tab = (tab) => set({ tab });
actions.rf = (rf) => set({ rf });
actions.plan = (plan) => set({ plan });
actions.shot = (n) => set({ shot: +n });
actions.wish = () => set({ wish: !view.wish });
actions.noop = () => {};
actions.hush = () => set({ toast: '' });

const discount = () => (store.get('coupon', false) ? Math.round(sum() * 0.1) : 0);
const sum = () => cart().reduce((s, id) => s + byId(id).price, 0);
function cartPage() {
  const off = discount();
  return { title: 'Cart - Voltlane', html: `${header()}<main class="cartp"><section class="grow"><h2>Cart (${cart().length})</h2>${cart().map((id, n) => `<div class="row ln" data-line="${id}"><a class="ph" href="/item/${id}">${pic(byId(id))}</a><div class="grow"><a class="nm" href="/item/${id}">${byId(id).name}</a><div class="ty">${byId(id).type}</div></div><b>${money(byId(id).price)}</b><button class="lk" data-act="rm:${n}">Remove</button></div>`).join('')}</section>
<aside class="side"><h4>Coupon</h4><form class="row cp2" data-x="1"><input id="coupon" placeholder="Code" value="${view.code ?? ''}" autocomplete="off"><button type="button" class="dark" data-act="coupon">Apply</button></form>${off ? `<div class="row ok">Coupon<span class="grow"></span>-${money(off)}</div>` : ''}<div class="row tot">Total<span class="grow"></span>${money(sum() - off)}</div><a class="buy wide" href="/pay">Proceed to checkout</a></aside></main>` };
}
actions.rm = (n) => { store.set('cart', cart().filter((_, i) => i !== +n)); draw(); };
actions.coupon = () => { const code = $('#coupon').value; store.set('coupon', code.trim() !== ''); set({ code }); };
function pay() {
  const how = view.how ?? 'Card';
  return { title: 'Checkout - Voltlane', html: `${header()}<main class="cartp"><section class="grow"><h2>Checkout</h2><h4>Deliver to</h4>${['Home, 8 Alder Street', 'Office, 40 Mill Lane', 'Parcel locker 112'].map((t) => `<label class="row opt ${(view.to ?? 'Home, 8 Alder Street') === t ? 'on' : ''}" data-act="to:${t}"><i></i>${t}</label>`).join('')}<h4>Pay with</h4><div class="row seg">${['Card', 'Bank transfer', 'Gift card'].map((t) => `<button class="${how === t ? 'on' : ''}" data-act="how:${t}">${t}</button>`).join('')}</div></section><aside class="side"><div class="row tot">Total<span class="grow"></span>${money(sum() - discount())}</div><button class="buy wide" data-act="order">Place order</button></aside></main>` };
}
actions.to = (to) => set({ to });
actions.how = (how) => set({ how });
actions.order = () => { store.set('cart', []); location.href = '/thanks'; };
const thanks = () => ({ title: 'Order placed - Voltlane', html: `${header()}<main class="cartp"><section class="grow"><h2>Order placed</h2><p>Order V-88213 will arrive in two days.</p><p><a class="buy" href="/">Back to start</a></p></section></main>` });
route([[/^\/search$/, search], [/^\/item\/([\w-]+)$/, item], [/^\/compare$/, comparePage], [/^\/cart$/, cartPage], [/^\/pay$/, pay], [/^\/thanks$/, thanks], [/^/, home]]);
