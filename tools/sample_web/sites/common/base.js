// Helpers shared by all sites: state, routing, icons. No clocks and no random numbers anywhere.
const $ = (selector, root = document) => root.querySelector(selector);
const money = (n) => '$' + n.toFixed(2);
const query = new URLSearchParams(location.search);
const path = location.pathname;
const store = {
  get: (key, fallback) => JSON.parse(localStorage.getItem(key) ?? 'null') ?? fallback,
  set: (key, value) => localStorage.setItem(key, JSON.stringify(value)),
};

const SHAPES = {
  search: '<circle cx="11" cy="11" r="7"/><path d="M16.5 16.5 21 21"/>',
  heart: '<path d="M12 20s-7.5-4.6-9-9.3C2 7.3 4.3 4.5 7.3 4.5c2 0 3.6 1.1 4.7 2.9 1.1-1.8 2.700-2.900 4.700-2.900 3 0 5.300 2.800 4.300 6.200C19.500 15.400 12 20 12 20z"/>',
  cart: '<path d="M3 4h2.500l2.300 11.500h10.200L20.500 7.500H6.300"/><circle cx="9" cy="19.500" r="1.400"/><circle cx="17" cy="19.500" r="1.400"/>',
  bag: '<path d="M5 8h14l1 12.500H4z"/><path d="M8.500 10.500V7a3.500 3.500 0 0 1 7 0v3.500"/>',
  user: '<circle cx="12" cy="8" r="4"/><path d="M4 20.500c1-4 4-6 8-6s7 2 8 6"/>',
  menu: '<path d="M4 6.500h16M4 12h16M4 17.500h16"/>',
  close: '<path d="m6 6 12 12M18 6 6 18"/>',
  share: '<circle cx="6" cy="12" r="2.600"/><circle cx="17.500" cy="6" r="2.600"/><circle cx="17.500" cy="18" r="2.600"/><path d="m8.300 10.800 6.900-3.600M8.300 13.200l6.900 3.600"/>',
  plus: '<path d="M12 5v14M5 12h14"/>',
  minus: '<path d="M5 12h14"/>',
  left: '<path d="m14.500 5-7 7 7 7"/>',
  right: '<path d="m9.500 5 7 7-7 7"/>',
  down: '<path d="m5 9 7 7 7-7"/>',
  check: '<path d="m5 12.500 4.800 4.800L19.500 7"/>',
  trash: '<path d="M4.500 7h15M9.500 7V4.500h5V7M6.500 7l1 13h9l1-13M10.300 10.500v6M13.700 10.500v6"/>',
  pin: '<path d="M12 21s-7-6.500-7-11.500a7 7 0 0 1 14 0C19 14.500 12 21 12 21z"/><circle cx="12" cy="9.500" r="2.500"/>',
  calendar: '<rect x="4" y="5.500" width="16" height="15" rx="2"/><path d="M4 10h16M8.500 3v4M15.500 3v4"/>',
  bell: '<path d="M6 16.500V11a6 6 0 0 1 12 0v5.500l1.500 1.500h-15zM10 20.500h4"/>',
  filter: '<path d="M4 6h16M7 12h10M10 18h4"/>',
  swap: '<path d="M4 9h15l-4-4M20 15H5l4 4"/>',
  print: '<path d="M7 8.500V3.500h10v5M7 17H4V8.500h16V17h-3"/><rect x="7" y="14" width="10" height="6.500"/>',
  bookmark: '<path d="M6 4h12v17l-6-4.500L6 21z"/>',
  play: '<path d="M7 4.500v15l12.500-7.500z"/>',
  grid: '<rect x="4" y="4" width="6.500" height="6.500"/><rect x="13.500" y="4" width="6.500" height="6.500"/><rect x="4" y="13.500" width="6.500" height="6.500"/><rect x="13.500" y="13.500" width="6.500" height="6.500"/>',
  list: '<path d="M9 6h11M9 12h11M9 18h11"/><circle cx="5" cy="6" r="1"/><circle cx="5" cy="12" r="1"/><circle cx="5" cy="18" r="1"/>',
  clock: '<circle cx="12" cy="12" r="8.500"/><path d="M12 7v5.500l3.500 2"/>',
  plane: '<path d="m3 13 18-8-6 16-4-6.500z"/>',
  mic: '<rect x="9" y="3" width="6" height="11" rx="3"/><path d="M5.500 11.500a6.500 6.500 0 0 0 13 0M12 18v3.500"/>',
  help: '<circle cx="12" cy="12" r="9"/><path d="M9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.7.300-1 .8-1 1.700M12 16.500v.5"/>',
};
const icon = (name, size = 20, fill = 'none') =>
  `<svg width="${size}" height="${size}" viewBox="0 0 24 24" fill="${fill}" stroke="currentColor" stroke-width="1.800" stroke-linecap="round" stroke-linejoin="round">${SHAPES[name]}</svg>`;

const stars = (value, size = 14, on = '#f0a020', off = '#d8d8d8') => {
  const star = (colour) =>
    `<svg width="${size}" height="${size}" viewBox="0 0 20 20"><path fill="${colour}" d="m10 1.500 2.600 5.600 6.100.7-4.500 4.200 1.200 6.100-5.400-3-5.400 3 1.200-6.100L1.300 7.800l6.100-.7z"/></svg>`;
  return `<span class="stars">${[1, 2, 3, 4, 5].map((n) => star(value >= n - 0.4 ? on : off)).join('')}</span>`;
};

// Buttons carry data-act="name" or data-act="name:argument"; the page's table of actions does the rest.
const actions = {};
document.addEventListener('click', (event) => {
  const holder = event.target.closest('[data-act]');
  if (!holder) return;
  const [name, ...rest] = holder.dataset.act.split(':');
  event.preventDefault();
  actions[name](rest.join(':'), holder);
});
document.addEventListener('submit', (event) => {
  event.preventDefault();
  const form = event.target;
  if (form.dataset.go) location.href = form.dataset.go + '?q=' + encodeURIComponent(form.elements.q.value);
});

const footerOf = ({ owner, links }) =>
  `<footer class="foot">${links.map((text) => `<a href="/about/${text.toLowerCase().replace(/ /g, '-')}">${text}</a>`).join('')}<span>${owner}</span></footer>`;

let draw = () => {};
function route(table) {
  const [, view] = table.find(([pattern]) => pattern.test(path)) ?? table[table.length - 1];
  draw = () => {
    const { title, html } = view(...(path.match(table.find(([, v]) => v === view)[0]) ?? []).slice(1));
    document.title = title;
    document.body.innerHTML = html + (typeof FOOT === 'undefined' ? '' : footerOf(FOOT));
  };
  draw();
}
const matches = (text, q) => q.toLowerCase().split(/\s+/).filter(Boolean).every((word) => text.toLowerCase().includes(word.replace(/s$/, '')));
