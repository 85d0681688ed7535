const byId = (id) => RECIPES.find((r) => r.id === id);
const box = () => store.get('box', []);
let view = {};
const set = (part) => { view = { ...view, ...part }; draw(); };
const header = () => `<header><div class="row up"><form class="row find" data-go="/find"><input id="q" name="q" placeholder="Search recipes" value="${query.get('q') ?? ''}" autocomplete="off"><button aria-label="Search">${icon('search', 18)}</button></form><a class="logo" href="/">Potluck Pages</a><div class="row rt"><a href="/box" class="row">${icon('bookmark', 20)} My recipe box (${box().length})</a><button aria-label="Account">${icon('user', 22)}</button></div></div><nav class="row">${['Brunch', 'Dinner', 'Dessert', 'Baking', 'Vegetarian'].map((t) => `<a href="/find?tag=${t}">${t}</a>`).join('')}<a href="/stories">Stories</a></nav></header>`;
const card = (r) => `<article class="rc" data-id="${r.id}"><a class="im" href="/recipe/${r.id}">${food(r.kind, r.a, r.b, '#f5ead9')}</a><button class="bm" aria-label="Keep" data-act="keep:${r.id}">${icon('bookmark', 20, box().includes(r.id) ? '#c2410c' : 'none')}</button><small>${r.tags.join(' / ')}</small><a class="nm" href="/recipe/${r.id}">${r.name}</a><p>${r.mins} min - ${r.level} - ${stars(r.rating, 13)} ${r.rating}</p></article>`;
actions.keep = (id) => { store.set('box', box().includes(id) ? box().filter((x) => x !== id) : [...box(), id]); draw(); };
function home() {
  const r = byId('plum-cake');
  return { title: 'Potluck Pages', html: `${header()}<main><section class="lead"><a class="big" href="/recipe/plum-cake">${food(r.kind, r.a, r.b, '#ecd9c6')}</a><div><small>Cake of the week</small><h1><a href="/recipe/plum-cake">${r.name}</a></h1><p>A plain batter, a pile of fruit, and an hour in which your kitchen smells like a holiday.</p><a class="rd" href="/recipe/plum-cake">Get the recipe</a></div></section><h2>New this month</h2><div class="grid">${['lemon-pancakes', 'miso-noodles', 'berry-cups', 'shakshuka'].map((id) => card(byId(id))).join('')}</div></main>` };
}
function find() {
  const q = query.get('q') ?? '', tag = query.get('tag') ?? '', time = view.time ?? 0, sort = view.sort ?? 'Newest';
  let list = RECIPES.filter((r) => (!tag || r.tags.includes(tag)) && matches(r.name + ' ' + r.tags.join(' '), q) && (!time || r.mins <= time) && (!view.veg || r.tags.includes('Vegetarian')));
  const by = { 'Top rated': (a, b) => b.rating - a.rating, Quickest: (a, b) => a.mins - b.mins }[sort];
  if (by) list = [...list].sort(by);
  return { title: `${q || tag} recipes - Potluck Pages`, html: `${header()}<main><h1 class="ct">${q ? '&ldquo;' + q + '&rdquo;' : tag}</h1><div class="row fl"><span>Time</span>${[[20, 'Up to 20 min'], [40, 'Up to 40 min']].map(([n, l]) => `<button class="${time === n ? 'on' : ''}" data-act="time:${n}">${l}</button>`).join('')}<button class="${view.veg ? 'on' : ''}" data-act="veg">Vegetarian only</button><span class="grow"></span><span>Order</span>${['Newest', 'Top rated', 'Quickest'].map((s) => `<button class="tx ${s === sort ? 'on' : ''}" data-act="sort:${s}">${s}</button>`).join('')}</div><div class="grid">${list.map(card).join('')}</div></main>` };
}
actions.time = (n) => set({ time: view.time === +n ? 0 : +n });
actions.veg = () => set({ veg: !view.veg });
actions.sort = (sort) => set({ sort });
function recipe(id) {
  const r = byId(id), n = view.n ?? 4, tab = view.tab ?? 'Method', us = view.us;
  const amount = ([what, q, unit]) => { const v = q * n / 4; return unit && us ? `${Math.round(v / 28.35 * 10) / 10} oz ${what}` : `${Math.round(v * 10) / 10}${unit ? ' ' + unit : ''} ${what}`; };
  const body = { Method: `<ol>${STEPS.map((s) => `<li>${s}</li>`).join('')}</ol>`, Comments: [['Wilma', 5, 'Made it twice this weekend.'], ['Ossi', 4, 'I used oat milk and it worked.'], ['Bea', 2, 'Too sour for my family.']].map(([w, s, t]) => `<div class="cm"><b>${w}</b> ${stars(s)}<p>${t}</p></div>`).join('') + `<div class="row rate">Your rating: ${[1, 2, 3, 4, 5].map((k) => `<button aria-label="${k} stars" data-act="rate:${k}">${icon('heart', 22, (view.rate ?? 0) >= k ? '#c2410c' : 'none')}</button>`).join('')}</div>`, Nutrition: '<p>Per serving: 310 kcal, 12 g protein, 14 g fat, 33 g carbohydrates.</p>' }[tab];
  return { title: `${r.name} - Potluck Pages`, html: `${header()}<main class="rec"><div class="tp"><div class="ph">${food(r.kind, r.a, r.b, '#ecd9c6')}<button class="pl" aria-label="Play video" data-act="play">${icon('play', 26, 'currentColor')}</button></div><div class="in"><small>${r.tags.join(' / ')}</small><h1>${r.name}</h1><p>by <a class="au" href="/author">${r.by}</a></p><p>${stars(r.rating, 16)} ${r.rating}</p><p class="row mt">${icon('clock', 18)} ${r.mins} minutes &nbsp; ${r.level}</p><div class="row ic"><button class="rd row" data-act="keep:${id}">${icon('bookmark', 18, box().includes(id) ? '#fff' : 'none')} ${box().includes(id) ? 'Saved' : 'Save recipe'}</button><button class="sq" aria-label="Print" data-act="nop">${icon('print', 20)}</button><button class="sq" aria-label="Share" data-act="share">${icon('share', 20)}</button></div>${view.share ? '<div class="shr"><button data-act="share">Copy link</button><button data-act="share">Email</button><button data-act="share">Message</button></div>' : ''}</div></div>
<div class="bt"><aside><div class="row"><h3 class="grow">Ingredients</h3><button class="un ${us ? '' : 'on'}" data-act="unit:">Metric</button><button class="un ${us ? 'on' : ''}" data-act="unit:1">US</button></div><div class="row sv">Serves<button aria-label="Fewer" data-act="n:-1">${icon('minus', 18)}</button><b>${n}</b><button aria-label="More" data-act="n:1">${icon('plus', 18)}</button></div>${STUFF.map((s) => `<label class="row ing" data-ing="${s[0]}" data-act="tick:${s[0]}"><i class="${(view.got ?? []).includes(s[0]) ? 'on' : ''}">${icon('check', 12)}</i>${amount(s)}</label>`).join('')}<button class="lst" data-act="list">${view.list ? 'On your list' : 'Add to shopping list'}</button></aside><section class="grow"><div class="row tabs">${['Method', 'Nutrition', 'Comments'].map((t) => `<button class="${t === tab ? 'on' : ''}" data-act="tab:${t}">${t}</button>`).join('')}</div>${body}</section></div></main>
${view.play ? `<div class="vd"><div class="vx"><button class="x" aria-label="Close video" data-act="play">${icon('close', 24)}</button>${food(r.kind, r.a, r.b, '#3b2a20')}<div class="row ctl"><button aria-label="Play">${icon('play', 20, 'currentColor')}</button><span class="grow"></span>0:00 / 4:12</div></div></div>` : ''}` };
}
actions.tab = (tab) => set({ tab });
actions.n = (d) => set({ n: Math.max(1, (view.n ?? 4) + +d) });
actions.unit = (us) => set({ us });
actions.tick = (x) => set({ got: [...(view.got ?? []), x] });
actions.list = () => set({ list: true });
actions.play = () => set({ play: !view.play });
actions.share = () => set({ share: !view.share });
actions.rate = (n) => set({ rate: +n });
actions.nop = () => {};
const boxPage = () => ({ title: 'My recipe box - Potluck Pages', html: `${header()}<main><h1 class="ct">My recipe box</h1><div class="grid">${box().map((id) => card(byId(id))).join('')}</div></main>` });
route([[/^\/find$/, find], [/^\/recipe\/([\w-]+)$/, recipe], [/^\/box$/, boxPage], [/^/, home]]);
