const byId = (id) => PLACES.find((p) => p.id === id);
const menu = (p) => MENU[p.tag] ?? MENU.Healthy;
const cart = () => store.get('cart', []);
const favs = () => store.get('favs', []);
let view = {};
const set = (part) => { view = { ...view, ...part }; draw(); };
const COLOUR = { pizza: ['#f2c14e', '#c8412f'], sushi: ['#f08a6b', '#e5533c'], bowl: ['#f6e3b4', '#4f7f52'], salad: ['#e4572e', '#f3a712'], bread: ['#dca75f', '#8a5a2b'], drink: ['#f7e08b', '#7fb069'], cake: ['#f7d6c4', '#7a4b3a'], soup: ['#e29b4b', '#fff2d6'] };

const header = () => `<header class="row"><button class="ib" aria-label="Menu">${icon('menu', 24)}</button><a class="logo" href="/">quick<b>fork</b></a><div class="row mode"><button class="${view.pick ? '' : 'on'}" data-act="mode:">Delivery</button><button class="${view.pick ? 'on' : ''}" data-act="mode:1">Pickup</button></div><button class="row addr" data-act="nop">${icon('pin', 18)}27 Juniper Street ${icon('down', 14)}</button><form class="row find grow" data-go="/"><span>${icon('search', 18)}</span><input id="q" name="q" placeholder="Food, restaurants, dishes" value="${query.get('q') ?? ''}" autocomplete="off"></form><a class="ib" aria-label="Favourites" href="/favourites">${icon('heart', 22)}</a><a class="row bask" aria-label="Basket" href="/checkout">${icon('bag', 20)}<b>${cart().reduce((n, l) => n + l.n, 0)}</b></a></header>`;
actions.mode = (pick) => set({ pick });
actions.nop = () => {};
const KINDS = [['Pizza', 'pizza'], ['Sushi', 'sushi'], ['Burgers', 'burger'], ['Noodles', 'noodle'], ['Mexican', 'taco'], ['Healthy', 'salad'], ['Dessert', 'cake']];
const FILTERS = ['Free delivery', 'Under 30 min', 'Top rated'];

function home() {
  const q = query.get('q') ?? '', kind = view.kind ?? '', on = view.on ?? [], sort = view.sort ?? 'Recommended';
  let list = PLACES.filter((p) => (!q || matches(p.name + ' ' + p.tag, q)) && (!kind || p.tag === kind));
  if (on.includes('Free delivery')) list = list.filter((p) => p.fee === 0);
  if (on.includes('Under 30 min')) list = list.filter((p) => p.mins < 30);
  if (on.includes('Top rated')) list = list.filter((p) => p.rating >= 4.5);
  const by = { 'Delivery time': (a, b) => a.mins - b.mins, Rating: (a, b) => b.rating - a.rating, 'Delivery fee': (a, b) => a.fee - b.fee }[sort];
  if (by) list = [...list].sort(by);
  return { title: 'Quickfork - food at your door', html: `${header()}<main><div class="row kinds">${KINDS.map(([n, k]) => `<button class="${kind === n ? 'on' : ''}" data-act="kind:${n}"><span>${food(k, ...(COLOUR[k] ?? ['#e8b563', '#7a4526']))}</span>${n}</button>`).join('')}</div>
<div class="row fil">${FILTERS.map((f) => `<button class="${on.includes(f) ? 'on' : ''}" data-act="f:${f}">${f}</button>`).join('')}<span class="grow"></span><div class="so"><button class="row" data-act="so">Sort by: ${sort} ${icon('down', 14)}</button>${view.so ? `<div class="sm">${['Recommended', 'Delivery time', 'Rating', 'Delivery fee'].map((x) => `<button data-act="sort:${x}">${x}</button>`).join('')}</div>` : ''}</div></div>
<h2>${list.length} places near you</h2><div class="grid">${list.map((p) => `<article class="pl" data-id="${p.id}"><a class="im" href="/place/${p.id}">${food(p.kind, p.a, p.b)}</a><button class="hr" aria-label="Favourite" data-act="fav:${p.id}">${icon('heart', 20, favs().includes(p.id) ? '#dc2626' : 'none')}</button><div class="row"><a class="nm grow" href="/place/${p.id}">${p.name}</a><em>${p.rating}</em></div><p>${p.tag} - ${p.cost} - ${p.mins} min - ${p.fee ? money(p.fee) + ' delivery' : 'Free delivery'}</p></article>`).join('')}</div></main>` };
}
actions.kind = (kind) => set({ kind: view.kind === kind ? '' : kind });
actions.f = (f) => set({ on: (view.on ?? []).includes(f) ? view.on.filter((x) => x !== f) : [...(view.on ?? []), f] });
actions.so = () => set({ so: !view.so });
actions.sort = (sort) => set({ sort, so: false });
actions.fav = (id) => { store.set('favs', favs().includes(id) ? favs().filter((x) => x !== id) : [...favs(), id]); draw(); };

const sum = () => cart().reduce((s, l) => s + l.price * l.n, 0);
const basket = (button) => `<aside class="bk"><h3>Your order</h3>${cart().map((l, i) => `<div class="row li" data-line="${l.key}"><div class="row q"><button aria-label="One less" data-act="q:${i}:-1">${l.n === 1 ? icon('trash', 15) : icon('minus', 15)}</button><b>${l.n}</b><button aria-label="One more" data-act="q:${i}:1">${icon('plus', 15)}</button></div><span class="grow">${l.name}${l.extra ? `<small>${l.extra}</small>` : ''}</span>${money(l.price * l.n)}</div>`).join('') || '<p class="em">Your basket is empty.</p>'}<div class="row tt">Subtotal<span class="grow"></span>${money(sum())}</div>${button}</aside>`;
actions.q = (arg) => { const [i, d] = arg.split(':').map(Number), lines = cart(); lines[i].n += d; store.set('cart', lines.filter((l) => l.n > 0)); draw(); };

function place(id) {
  const p = byId(id), dish = view.dish && menu(p).find((m) => m[0] === view.dish), tab = view.tab ?? 'Menu';
  const list = menu(p).map(([key, name, text, price, kind]) => `<article class="di" data-dish="${key}"><div class="grow"><b>${name}</b><p>${text}</p><i>${money(price)}</i></div><div class="dp">${food(kind, ...COLOUR[kind])}</div><button class="ad" aria-label="Add ${name}" data-act="dish:${key}">${icon('plus', 20)}</button></article>`).join('');
  const info = { Menu: `<div class="dl">${list}</div>`, Reviews: `<div class="rv">${stars(5)} <b>Hot and on time</b><p>Still steaming when it got here.</p></div><div class="rv">${stars(3)} <b>Fine</b><p>They forgot the napkins.</p></div>`, Info: '<p>Open 11:00 to 22:30. Packaging is returned with the next order.</p>' }[tab];
  return { title: `${p.name} - Quickfork`, html: `${header()}<div class="cov">${food(p.kind, p.a, p.b)}</div><main class="two"><section class="grow"><div class="row"><h1 class="grow">${p.name}</h1><button class="ib" aria-label="Favourite" data-act="fav:${id}">${icon('heart', 22, favs().includes(id) ? '#dc2626' : 'none')}</button><button class="ib" aria-label="Share" data-act="nop">${icon('share', 22)}</button></div><p>${stars(p.rating)} ${p.rating} - ${p.mins} min - ${p.tag}</p><div class="row tabs">${['Menu', 'Reviews', 'Info'].map((t) => `<button class="${t === tab ? 'on' : ''}" data-act="tab:${t}">${t}</button>`).join('')}</div>${info}</section>${basket('<a class="go" href="/checkout">Go to checkout</a>')}</main>
${dish ? `<div class="sh"><div class="mo"><button class="x" aria-label="Close" data-act="dish:">${icon('close', 20)}</button><div class="mi">${food(dish[4], ...COLOUR[dish[4]])}</div><h3>${dish[1]}</h3><p>${dish[2]}</p><h4>Size</h4><div class="row sz">${['Small', 'Regular', 'Large'].map((s) => `<button class="${(view.size ?? 'Regular') === s ? 'on' : ''}" data-act="size:${s}">${s}</button>`).join('')}</div><h4>Extras</h4>${EXTRAS.map(([e, c]) => `<label class="row ex" data-act="ex:${e}"><i class="${(view.ex ?? []).includes(e) ? 'on' : ''}">${icon('check', 12)}</i>${e}<span class="grow"></span>+${money(c)}</label>`).join('')}<div class="row bt"><div class="row q big"><button aria-label="One less" data-act="n:-1">${icon('minus', 18)}</button><b>${view.n ?? 1}</b><button aria-label="One more" data-act="n:1">${icon('plus', 18)}</button></div><button class="go grow" data-act="put">Add to order</button></div></div></div>` : ''}` };
}
actions.tab = (tab) => set({ tab });
actions.dish = (dish) => set({ dish, n: 1, ex: [], size: 'Regular' });
actions.size = (size) => set({ size });
actions.ex = (e) => set({ ex: view.ex.includes(e) ? view.ex.filter((x) => x !== e) : [...view.ex, e] });
actions.n = (d) => set({ n: Math.max(1, view.n + +d) });
actions.put = () => {
  const id = path.split('/')[2], m = menu(byId(id)).find((x) => x[0] === view.dish), extra = [view.size === 'Regular' ? '' : view.size, ...view.ex].filter(Boolean).join(', ');
  const price = m[3] + EXTRAS.filter(([e]) => view.ex.includes(e)).reduce((s, [, c]) => s + c, 0) + { Small: -2, Regular: 0, Large: 3 }[view.size];
  store.set('cart', [...cart(), { key: m[0], name: m[1], extra, price, n: view.n }]);
  set({ dish: '' });
};
function checkout() {
  const tip = view.tip ?? 'No tip', when = view.when ?? 'As soon as possible';
  return { title: 'Checkout - Quickfork', html: `${header()}<main class="two"><section class="grow"><h1>Almost there</h1><h4>When</h4><div class="row sz">${['As soon as possible', '12:30', '13:00', '13:30', '19:00'].map((w) => `<button class="${when === w ? 'on' : ''}" data-act="when:${w}">${w}</button>`).join('')}</div><h4>Tip the rider</h4><div class="row sz">${['No tip', '$1', '$2', '$5'].map((t) => `<button class="${tip === t ? 'on' : ''}" data-act="tip:${t}">${t}</button>`).join('')}</div><h4>Note for the rider</h4><input id="note" class="nt" placeholder="Door code, floor ..." autocomplete="off"><h4>Payment</h4>${['Card ending in 4410', 'Cash', 'Lunch card'].map((c) => `<label class="row ex" data-act="pay:${c}"><i class="rd ${(view.pay ?? 'Card ending in 4410') === c ? 'on' : ''}"></i>${c}</label>`).join('')}<label class="row ex" data-act="cut"><i class="${view.cut ? 'on' : ''}">${icon('check', 12)}</i>Send cutlery</label></section>${basket('<button class="go" data-act="order">Place order</button>')}</main>` };
}
const note = () => { const v = $('#note')?.value ?? ''; return () => { if ($('#note')) $('#note').value = v; }; };
actions.when = (when) => { const back = note(); set({ when }); back(); };
actions.tip = (tip) => { const back = note(); set({ tip }); back(); };
actions.pay = (pay) => { const back = note(); set({ pay }); back(); };
actions.cut = () => { const back = note(); set({ cut: !view.cut }); back(); };
actions.order = () => { store.set('cart', []); location.href = '/track'; };
const track = () => ({ title: 'On its way - Quickfork', html: `${header()}<main class="two"><section class="grow"><h1>Your food is being made</h1><div class="row stp"><b class="on">Ordered</b><b class="on">Cooking</b><b>On the way</b><b>At your door</b></div><p>Rider: Milo. About 24 minutes to go.</p><a class="go nar" href="/">Back to restaurants</a></section></main>` });
const favourites = () => ({ title: 'Favourites - Quickfork', html: `${header()}<main><h2>Your favourites</h2><div class="grid">${favs().map(byId).map((p) => `<article class="pl" data-id="${p.id}"><a class="im" href="/place/${p.id}">${food(p.kind, p.a, p.b)}</a><a class="nm" href="/place/${p.id}">${p.name}</a></article>`).join('')}</div></main>` });
route([[/^\/place\/(\w+)$/, place], [/^\/checkout$/, checkout], [/^\/track$/, track], [/^\/favourites$/, favourites], [/^/, home]]);
