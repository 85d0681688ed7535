const byId = (id) => HOTELS.find((h) => h.id === id);
const liked = () => store.get('liked', []);
const stay = () => store.get('stay', { place: '', from: '', to: '', guests: 2 });
let view = {};
const set = (part) => { view = { ...view, ...part }; draw(); };
const save = (part) => { const box = $('#place'); store.set('stay', { ...stay(), ...(box ? { place: box.value } : {}), ...part }); };

const header = () => `<header class="row"><a class="logo row" href="/"><span>${icon('bell', 20)}</span>Roostly</a><span class="grow"></span><a class="hl" href="/list">List your place</a><a class="ib" aria-label="Favourites" href="/likes">${icon('heart', 22)}</a><button class="ib" aria-label="Messages">${icon('bell', 22)}</button><button class="me row" aria-label="Profile menu" data-act="me">${icon('menu', 18)}${icon('user', 22)}</button>${view.me ? '<div class="mm"><a href="/likes">Favourites</a><a href="/trips">My stays</a><a href="/settings">Settings</a><a href="/bye">Log out</a></div>' : ''}</header>`;
const days = (name, short, count, start) => `<div class="mo"><h4>${name}</h4><div class="dg">${['M', 'T', 'W', 'T', 'F', 'S', 'S'].map((d) => `<b>${d}</b>`).join('')}${'<i></i>'.repeat(start)}${Array.from({ length: count }, (_, n) => { const code = `${short} ${n + 1}`, s = stay(); return `<button class="${code === s.from || code === s.to ? 'on' : ''}" data-day="${code}" data-act="day:${code}">${n + 1}</button>`; }).join('')}</div></div>`;
const bar = () => { const s = stay(); return `<div class="bar row"><label class="grow"><small>Where</small><input id="place" value="${s.place}" placeholder="Town or region" autocomplete="off"></label><button class="seg" id="dates" data-act="dates"><small>Dates</small>${s.from ? `${s.from} - ${s.to || '...'}` : 'Add dates'}</button><button class="seg" id="guests" data-act="guests"><small>Guests</small>${s.guests} guests</button><button class="mag" aria-label="Search" data-act="go">${icon('search', 20)}</button>
${view.dates ? `<div class="dd wide">${days('September 2027', 'Sep', 30, 2)}${days('October 2027', 'Oct', 31, 4)}</div>` : ''}${view.guests ? `<div class="dd small"><div class="row">Guests<span class="grow"></span><button aria-label="Fewer" data-act="g:-1">${icon('minus', 16)}</button><b>${s.guests}</b><button aria-label="More" data-act="g:1">${icon('plus', 16)}</button></div></div>` : ''}</div>`; };
actions.me = () => set({ me: !view.me });
actions.dates = () => { save({}); set({ dates: !view.dates, guests: false }); };
actions.guests = () => { save({}); set({ guests: !view.guests, dates: false }); };
actions.g = (d) => { save({ guests: Math.max(1, stay().guests + +d) }); draw(); };
actions.day = (code) => { const s = stay(), second = s.from && !s.to; save(second ? { to: code } : { from: code, to: '' }); set({ dates: !second }); };
actions.go = () => { save({}); location.href = '/stays'; };
actions.like = (id) => { store.set('liked', liked().includes(id) ? liked().filter((x) => x !== id) : [...liked(), id]); draw(); };

function home() {
  return { title: 'Roostly - places to stay', html: `${header()}<section class="top"><h1>Sleep somewhere with a view</h1>${bar()}</section><main><h2>By mood</h2><div class="row moods">${[['Seaside', 'sea', '#3f8fb5'], ['Mountains', 'mountain', '#7c93a8'], ['City breaks', 'city', '#b08968'], ['Forest cabins', 'forest', '#3f7d58'], ['Lakes', 'lake', '#5aa0c8']].map(([n, k, a]) => `<a href="/stays?m=${n}"><div class="sc">${scene(k, a)}</div>${n}</a>`).join('')}</div></main>` };
}
function stays() {
  const s = stay(), perks = view.perks ?? [], sort = view.sort ?? 'Recommended', wild = (s.place + (query.get('m') ?? '')).toLowerCase();
  const hills = /alder|mount/.test(wild);
  let list = HOTELS.filter((h) => h.where === (hills ? 'mountains' : 'sea') && perks.every((p) => h.perks.includes(p)) && (!view.score || h.score >= view.score));
  const by = { 'Lowest price': (a, b) => a.price - b.price, 'Guest score': (a, b) => b.score - a.score }[sort];
  if (by) list = [...list].sort(by);
  return { title: `${hills ? 'Alderhorn' : 'Saltmere'}: ${list.length} stays - Roostly`, html: `${header()}<div class="thin">${bar()}</div><div class="row pills">${PERKS.map((p) => `<button class="${perks.includes(p) ? 'on' : ''}" data-act="perk:${p}">${p}</button>`).join('')}<button class="${view.score ? 'on' : ''}" data-act="score">Score 9+</button><span class="grow"></span><div class="so"><button class="row" data-act="sortopen">${sort} ${icon('down', 14)}</button>${view.so ? `<div class="sm">${['Recommended', 'Lowest price', 'Guest score'].map((x) => `<button data-act="sort:${x}">${x}</button>`).join('')}</div>` : ''}</div></div>
<main class="split"><section class="lst">${list.map((h) => `<article class="ho" data-id="${h.id}"><a class="im" href="/stay/${h.id}" target="_blank">${scene(h.kind, h.a, h.b)}</a><button class="lk" aria-label="Like" data-act="like:${h.id}">${icon('heart', 20, liked().includes(h.id) ? '#be4d5f' : '#fff')}</button><div class="tx grow"><a class="nm" href="/stay/${h.id}" target="_blank">${h.name}</a><p>${h.town} - ${h.far}</p><div class="pk">${h.perks.map((p) => `<span>${p}</span>`).join('')}</div><div class="row ft"><em>${h.score.toFixed(1)}</em><a class="rv" href="/stay/${h.id}?t=Reviews" target="_blank">${h.votes} reviews</a><span class="grow"></span><b>$${h.price}</b><small>&nbsp;/ night</small></div></div></article>`).join('')}</section>
<aside class="map"><svg class="art" viewBox="0 0 100 100" preserveAspectRatio="none"><rect width="100" height="100" fill="${hills ? '#e3ead9' : '#eef0e4'}"/><path d="${hills ? 'M0 20C30 40 60 0 100 26V0H0z' : 'M0 0h24c-10 30 8 60-12 100H0z'}" fill="${hills ? '#cbd8be' : '#b9dcea'}"/><path d="M30 0c10 40 0 60 20 100M10 50c30-10 60 6 90-4M60 0c4 30 24 50 40 60" fill="none" stroke="#fff" stroke-width="1.600"/></svg>${list.map((h) => `<button class="tag" style="left:${h.x}%;top:${h.y}%" data-pin="${h.id}" data-act="pin:${h.id}">$${h.price}</button>`).join('')}<div class="zm"><button aria-label="Zoom in" data-act="nop">${icon('plus', 18)}</button><button aria-label="Zoom out" data-act="nop">${icon('minus', 18)}</button></div>${view.pin ? `<a class="pop row" href="/stay/${view.pin}"><span>${scene(byId(view.pin).kind, byId(view.pin).a, byId(view.pin).b)}</span><div><b>${byId(view.pin).name}</b><p>$${byId(view.pin).price} / night, ${byId(view.pin).score}</p></div></a>` : ''}</aside></main>` };
}
actions.perk = (p) => { save({}); set({ perks: (view.perks ?? []).includes(p) ? view.perks.filter((x) => x !== p) : [...(view.perks ?? []), p] }); };
actions.score = () => set({ score: view.score ? 0 : 9 });
actions.sortopen = () => set({ so: !view.so });
actions.sort = (sort) => set({ sort, so: false });
actions.pin = (id) => set({ pin: id });
actions.nop = () => {};

function hotel(id) {
  const h = byId(id), tab = view.tab ?? query.get('t') ?? 'Rooms', pics = [h.kind, 'room', 'bath', 'pool', 'lake'], shot = view.shot;
  const rooms = `<table>${ROOMS.map(([n, f, d, c], i) => `<tr data-room="${i}"><td><b>${n}</b><p>${d}</p></td><td class="${c === 'No refund' ? 'bad' : 'good'}">${c}</td><td><b>$${Math.round(h.price * f)}</b></td><td><button class="rs ${view.room === i ? 'on' : ''}" data-act="room:${i}">${view.room === i ? 'Selected' : 'Select'}</button></td></tr>`).join('')}</table>`;
  const said = `<div class="row rs2">Sort by <button data-act="nop">Newest</button><button data-act="nop">Lowest score</button></div>${OPINIONS.map(([n, w, t]) => `<div class="op"><em>${n}</em><b>${w}</b><p>${t}</p></div>`).join('')}`;
  const facts = `<ul class="fc">${[...h.perks, 'Wi-Fi', 'Lift', 'Luggage store'].map((p) => `<li>${p}</li>`).join('')}</ul>`;
  return { title: `${h.name} - Roostly`, html: `${header()}<main class="one"><div class="row"><h1 class="grow">${h.name}</h1><button class="ib" aria-label="Share" data-act="nop">${icon('share', 22)}</button><button class="ib" aria-label="Like" data-act="like:${id}">${icon('heart', 22, liked().includes(id) ? '#be4d5f' : 'none')}</button></div><p class="sub"><em>${h.score.toFixed(1)}</em> ${h.votes} reviews - ${h.town}, ${h.far}</p>
<div class="gal">${pics.map((p, n) => `<button aria-label="Photo ${n + 1}" data-act="shot:${n}">${scene(p, h.a, h.b)}</button>`).join('')}</div>
<div class="row tabs">${['Rooms', 'Reviews', 'Facilities'].map((t) => `<button class="${t === tab ? 'on' : ''}" data-act="tab:${t}">${t}</button>`).join('')}</div><div class="cols"><div class="grow">${{ Rooms: rooms, Reviews: said, Facilities: facts }[tab]}</div><aside class="bk"><b class="pr">$${view.room === undefined ? h.price : Math.round(h.price * ROOMS[view.room][1])}</b> / night<div class="ds">${stay().from || 'Check in'} - ${stay().to || 'Check out'}, ${stay().guests} guests</div><a class="rsv" href="/reserve/${id}">Reserve</a><button class="ask" data-act="nop">Ask the host</button></aside></div></main>
${shot === undefined ? '' : `<div class="lb"><button class="lx" aria-label="Close" data-act="shot:x">${icon('close', 28)}</button><button class="la l" aria-label="Previous" data-act="turn:-1">${icon('left', 34)}</button><div class="lp">${scene(pics[shot], h.a, h.b)}</div><button class="la r" aria-label="Next" data-act="turn:1">${icon('right', 34)}</button><p>${shot + 1} / ${pics.length}</p></div>`}` };
}
actions.shot = (n) => set({ shot: n === 'x' ? undefined : +n });
actions.turn = (d) => set({ shot: (view.shot + +d + 5) % 5 });
actions.tab = (tab) => set({ tab });
actions.room = (n) => set({ room: +n });
function reserve(id) {
  const h = byId(id);
  return { title: 'Reserve - Roostly', html: `${header()}<main class="one"><h1>Confirm your stay</h1><div class="cols"><div class="grow fm"><label><small>Guest name</small><input id="guest" autocomplete="off"></label><label><small>Message to the host</small><input id="msg" autocomplete="off"></label><h4>Arrival time</h4><div class="row pills x">${['Before 15:00', '15:00 - 18:00', 'After 18:00'].map((t) => `<button class="${view.at === t ? 'on' : ''}" data-act="at:${t}">${t}</button>`).join('')}</div><label class="row tick" data-act="agree"><i class="${view.ok ? 'on' : ''}">${icon('check', 12)}</i>I have read the house rules</label></div><aside class="bk"><div class="sc2">${scene(h.kind, h.a, h.b)}</div><b>${h.name}</b><div class="ds">${stay().from} - ${stay().to}</div><a class="rsv" href="/confirmed">Confirm and pay</a></aside></div></main>` };
}
actions.at = (at) => { const g = $('#guest').value; set({ at }); $('#guest').value = g; };
actions.agree = () => { const g = $('#guest').value; set({ ok: !view.ok }); $('#guest').value = g; };
const likes = () => ({ title: 'Favourites - Roostly', html: `${header()}<main class="one"><h1>Your favourites</h1><div class="fav">${liked().map((id) => `<a data-id="${id}" href="/stay/${id}"><div class="sc2">${scene(byId(id).kind, byId(id).a, byId(id).b)}</div><b>${byId(id).name}</b><p>$${byId(id).price} / night - ${byId(id).score}</p></a>`).join('')}</div></main>` });
const confirmed = () => ({ title: 'Confirmed - Roostly', html: `${header()}<main class="one"><h1>See you soon!</h1><p>Your stay is confirmed. Confirmation number RO-5518.</p><p><a class="rsv nar" href="/">Back to home</a></p></main>` });
route([[/^\/stays$/, stays], [/^\/stay\/(\w+)$/, hotel], [/^\/reserve\/(\w+)$/, reserve], [/^\/likes$/, likes], [/^\/confirmed$/, confirmed], [/^/, home]]);
