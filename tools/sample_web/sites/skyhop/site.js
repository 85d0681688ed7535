const trip = () => store.get('trip', { from: '', to: '', out: '', back: '', people: 1, cabin: 'Economy', way: 'Round trip' });
const change = (part) => { store.set('trip', { ...trip(), ...part }); };
let view = {};
const set = (part) => { view = { ...view, ...part }; draw(); };
const keep = () => { const t = {}; for (const k of ['from', 'to']) if ($('#' + k)) t[k] = $('#' + k).value; if (Object.keys(t).length) change(t); };

const header = () => `<header class="row"><a class="logo row" href="/">${icon('plane', 24, 'currentColor')}skyhop</a><nav class="row"><a class="on" href="/">Flights</a><a href="/trips">My trips</a><a href="/deals">Deals</a></nav><span class="grow"></span><button class="rd" aria-label="Help">${icon('help', 22)}</button><button class="rd" aria-label="Alerts">${icon('bell', 22)}</button><a class="sign" href="/login">Sign in</a></header>`;
const dayName = (code) => code ? code.replace('-', ' ') : '';

function calendar() {
  const page = view.month ?? 0, t = trip();
  const month = ([name, days, start]) => {
    const short = name.slice(0, 3), cells = [...Array(start).fill('<i></i>')];
    for (let d = 1; d <= days; d += 1) {
      const code = `${short}-${d}`, on = code === t.out || code === t.back;
      cells.push(`<button class="${on ? 'on' : ''}" data-day="${code}" data-act="day:${code}">${d}</button>`);
    }
    return `<div class="month"><h4>${name}</h4><div class="days"><b>Mo</b><b>Tu</b><b>We</b><b>Th</b><b>Fr</b><b>Sa</b><b>Su</b>${cells.join('')}</div></div>`;
  };
  return `<div class="cal"><button class="arr l" aria-label="Earlier" data-act="month:-1">${icon('left', 20)}</button><button class="arr r" aria-label="Later" data-act="month:1">${icon('right', 20)}</button><div class="row months">${month(MONTHS[page])}${month(MONTHS[page + 1])}</div><div class="row foot"><button class="lk" data-act="reset">Clear dates</button><span class="grow"></span><button class="done" data-act="closecal">Done</button></div></div>`;
}
function home() {
  const t = trip();
  return { title: 'Skyhop - find flights', html: `${header()}<section class="sky"><h1>Where to next?</h1>
<div class="panel"><div class="row ways">${['Round trip', 'One way', 'Multi-city'].map((w) => `<button class="${t.way === w ? 'on' : ''}" data-act="way:${w}">${w}</button>`).join('')}<span class="grow"></span><button class="row ppl" data-act="people">${icon('user', 18)} ${t.people} traveller${t.people > 1 ? 's' : ''} ${icon('down', 14)}</button><button class="row ppl" data-act="cabin">${t.cabin} ${icon('down', 14)}</button></div>
<div class="row fields"><label><span>From</span><input id="from" value="${t.from}" placeholder="City or airport" autocomplete="off"></label><button class="swap" aria-label="Swap" data-act="swap">${icon('swap', 20)}</button><label><span>To</span><input id="to" value="${t.to}" placeholder="City or airport" autocomplete="off"></label>
<button class="date" id="out" data-act="cal"><span>Depart</span>${dayName(t.out) || 'Pick a date'}</button><button class="date" id="back" data-act="cal"><span>Return</span>${dayName(t.back) || 'Pick a date'}</button><button class="find" data-act="find">Search</button></div>
${view.people ? `<div class="pop p1"><div class="row">Adults<span class="grow"></span><button aria-label="Fewer adults" data-act="ppl:-1">${icon('minus', 18)}</button><b>${t.people}</b><button aria-label="More adults" data-act="ppl:1">${icon('plus', 18)}</button></div><div class="row">Children<span class="grow"></span><button aria-label="Fewer children" data-act="nop">${icon('minus', 18)}</button><b>0</b><button aria-label="More children" data-act="nop">${icon('plus', 18)}</button></div><button class="done" data-act="people">Done</button></div>` : ''}
${view.cabin ? `<div class="pop p2">${['Economy', 'Premium economy', 'Business'].map((c) => `<button class="op" data-act="cab:${c}">${c}</button>`).join('')}</div>` : ''}
${view.cal ? calendar() : ''}</div></section>
<main><h2>Easy escapes</h2><div class="row esc">${[['Lisbon', 'sea', '#3f8fb5', 'from $79'], ['Innsbruck', 'mountain', '#7c93a8', 'from $112'], ['Vienna', 'city', '#b08968', 'from $88'], ['Geneva', 'lake', '#5aa0c8', 'from $104']].map(([c, s, a, p]) => `<a href="/results?to=${c}"><div class="im">${scene(s, a)}</div><b>${c}</b><small>${p}</small></a>`).join('')}</div></main>` };
}
actions.way = (way) => { keep(); change({ way }); draw(); };
actions.people = () => { keep(); set({ people: !view.people, cabin: false, cal: false }); };
actions.cabin = () => { keep(); set({ cabin: !view.cabin, people: false, cal: false }); };
actions.cab = (cabin) => { keep(); change({ cabin }); set({ cabin: false }); };
actions.ppl = (d) => { change({ people: Math.max(1, trip().people + +d) }); draw(); };
actions.nop = () => {};
actions.swap = () => { keep(); const t = trip(); change({ from: t.to, to: t.from }); draw(); };
actions.cal = () => { keep(); set({ cal: true, people: false, cabin: false }); };
actions.closecal = () => { keep(); set({ cal: false }); };
actions.month = (d) => { keep(); set({ month: Math.min(1, Math.max(0, (view.month ?? 0) + +d)) }); };
actions.reset = () => { change({ out: '', back: '' }); draw(); };
actions.day = (code) => { keep(); const t = trip(); change(!t.out || t.back ? { out: code, back: '' } : { back: code }); draw(); };
actions.find = () => { keep(); location.href = '/results'; };

function results() {
  const t = trip(), stops = view.stops ?? -1, lines = view.lines ?? [], sort = view.sort ?? 'Best';
  let list = FLIGHTS.filter((f) => (stops < 0 || f.stops <= stops) && (!lines.length || lines.includes(f.line)));
  const mins = (f) => +f.dur.split('h')[0] * 60 + parseInt(f.dur.split('h')[1]);
  const by = { Cheapest: (a, b) => a.price - b.price, Fastest: (a, b) => mins(a) - mins(b) }[sort];
  if (by) list = [...list].sort(by);
  return { title: `${t.from || 'Anywhere'} to ${t.to || query.get('to')} - Skyhop`, html: `${header()}<div class="row recap"><b>${t.from || 'Berlin'} ${icon('right', 16)} ${t.to || query.get('to')}</b><span>${dayName(t.out)} - ${dayName(t.back)}</span><span>${t.people} traveller${t.people > 1 ? 's' : ''}, ${t.cabin}</span><a class="lk" href="/">Edit search</a></div>
<main class="cols"><aside><h4>Stops</h4>${[[0, 'Nonstop'], [1, 'Up to 1 stop'], [-1, 'Any']].map(([n, l]) => `<label class="row ck" data-act="stops:${n}"><i class="${stops === n ? 'on' : ''}"></i>${l}</label>`).join('')}<h4>Airlines</h4>${['Northwind', 'Cumulus Air', 'Pelican'].map((l) => `<label class="row ck sq" data-act="line:${l}"><i class="${lines.includes(l) ? 'on' : ''}"></i>${l}</label>`).join('')}<h4>Price alert</h4><button class="toggle ${view.alert ? 'on' : ''}" aria-label="Price alert" data-act="alert"><i></i></button></aside>
<section class="grow"><div class="row sorts">${['Best', 'Cheapest', 'Fastest'].map((s) => `<button class="${s === sort ? 'on' : ''}" data-act="sort:${s}">${s}<small>${{ Best: '$148', Cheapest: '$79', Fastest: '3h 25m' }[s]}</small></button>`).join('')}</div>
${list.map((f) => `<article class="fl" data-id="${f.id}"><div class="row"><button class="hrt" aria-label="Save flight" data-act="fav:${f.id}">${icon('heart', 20, (view.fav ?? []).includes(f.id) ? '#be185d' : 'none')}</button><span class="lg" style="background:${f.mark}">${f.line[0]}</span><div class="al"><b>${f.line}</b><small>${f.id}</small></div><div class="tm"><b>${f.dep} - ${f.arr}</b><small>${f.dur}</small></div><div class="st">${f.stops ? f.stops + ' stop' + (f.stops > 1 ? 's' : '') : 'Nonstop'}<small>CO2 ${f.co2}</small></div><span class="grow"></span><b class="pc">$${f.price}</b><a class="sel" href="/seats?f=${f.id}">Select</a><button class="more" aria-label="Details" data-act="open:${f.id}">${icon('down', 18)}</button></div>${view.open === f.id ? `<div class="det">Cabin bag included. Checked bag $32. Changes allowed for a fee of $25.<a class="lk" href="/rules">Fare rules</a></div>` : ''}</article>`).join('')}</section></main>` };
}
actions.stops = (n) => set({ stops: +n });
actions.line = (l) => set({ lines: (view.lines ?? []).includes(l) ? view.lines.filter((x) => x !== l) : [...(view.lines ?? []), l] });
actions.alert = () => set({ alert: !view.alert });
actions.sort = (sort) => set({ sort });
actions.fav = (id) => set({ fav: [...(view.fav ?? []), id] });
actions.open = (id) => set({ open: view.open === id ? '' : id });

const TAKEN = ['2A', '2B', '3D', '4C', '5E', '5F', '7A', '8B', '8C', '10D'];
function seats() {
  const f = FLIGHTS.find((x) => x.id === query.get('f')), chosen = view.seats ?? [];
  const extra = 32 * (view.bags ?? 0) + (view.ins ? 12 : 0) + 18 * chosen.filter((s) => parseInt(s) < 4).length;
  const rowOf = (r) => `<div class="row sr"><em>${r}</em>${['A', 'B', 'C', '', 'D', 'E', 'F'].map((c) => c ? `<button class="seat ${r < 4 ? 'xl' : ''} ${TAKEN.includes(r + c) ? 'no' : ''} ${chosen.includes(r + c) ? 'on' : ''}" aria-label="Seat ${r}${c}" data-seat="${r}${c}" data-act="seat:${r}${c}">${chosen.includes(r + c) ? icon('check', 14) : ''}</button>` : '<span class="aisle"></span>').join('')}</div>`;
  return { title: 'Choose seats - Skyhop', html: `${header()}<main class="cols"><section class="grow"><a class="lk row" href="/results">${icon('left', 14)} Back to flights</a><h2>Choose your seats</h2><div class="row legend"><i class="seat"></i>Standard<i class="seat xl"></i>Extra legroom, $18<i class="seat no"></i>Taken</div><div class="cabin"><div class="row sr hd"><em></em>${['A', 'B', 'C', '', 'D', 'E', 'F'].map((c) => `<span>${c}</span>`).join('')}</div>${[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(rowOf).join('')}</div></section>
<aside class="card"><h3>${f.line} ${f.id}</h3><p>${f.dep} - ${f.arr}, ${f.dur}</p><div class="row">Seats<span class="grow"></span>${chosen.join(', ') || '-'}</div><h4>Bags</h4><div class="row bag">Checked bag, $32<span class="grow"></span><button aria-label="Fewer bags" data-act="bag:-1">${icon('minus', 16)}</button><b>${view.bags ?? 0}</b><button aria-label="More bags" data-act="bag:1">${icon('plus', 16)}</button></div><label class="row ck sq" data-act="ins"><i class="${view.ins ? 'on' : ''}"></i>Add travel insurance, $12</label><a class="sel wide" href="/pay?f=${f.id}&x=${extra}">Continue</a><button class="skip" data-act="skip:${f.id}">Skip seat selection</button></aside></main>` };
}
actions.seat = (s) => { if (!TAKEN.includes(s)) set({ seats: (view.seats ?? []).includes(s) ? view.seats.filter((x) => x !== s) : [...(view.seats ?? []), s] }); };
actions.bag = (d) => set({ bags: Math.max(0, (view.bags ?? 0) + +d) });
actions.ins = () => set({ ins: !view.ins });
actions.skip = (id) => { location.href = '/pay?f=' + id; };
function pay() {
  const f = FLIGHTS.find((x) => x.id === query.get('f'));
  return { title: 'Passengers - Skyhop', html: `${header()}<main class="cols"><section class="grow"><h2>Who is flying?</h2><div class="form">${['First name', 'Last name', 'Email', 'Phone'].map((l) => `<label><span>${l}</span><input id="${l.split(' ')[0].toLowerCase()}" autocomplete="off"></label>`).join('')}</div><h4>Title</h4><div class="row ways lt">${['Ms', 'Mr', 'Mx'].map((w) => `<button class="${view.mx === w ? 'on' : ''}" data-act="mx:${w}">${w}</button>`).join('')}</div></section><aside class="card"><h3>${f.line} ${f.id}</h3><p>${f.dep} - ${f.arr}</p><div class="row"><b>Total</b><span class="grow"></span><b>$${f.price * trip().people + Number(query.get('x') ?? 0)}</b></div><button class="sel wide" data-act="book">Confirm booking</button></aside></main>` };
}
actions.mx = (mx) => { const v = [...document.querySelectorAll('input')].map((i) => i.value); set({ mx }); document.querySelectorAll('input').forEach((i, n) => { i.value = v[n]; }); };
actions.book = () => { location.href = '/booked'; };
const booked = () => ({ title: 'Booked - Skyhop', html: `${header()}<main><div class="okay">${icon('check', 48)}<h2>You are booked</h2><p>Reference QJ7-41. We sent the tickets to your mail box.</p><button class="ico2" aria-label="Print">${icon('print', 22)}</button><button class="ico2" aria-label="Share">${icon('share', 22)}</button><button class="ico2" aria-label="Calendar">${icon('calendar', 22)}</button></div></main>` });
route([[/^\/results$/, results], [/^\/seats$/, seats], [/^\/pay$/, pay], [/^\/booked$/, booked], [/^/, home]]);
