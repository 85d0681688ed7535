// Flat landscapes, plates and posters.
const SCENE = {
  sea: (a, b) => `<rect width="320" height="200" fill="#bfe3f2"/><circle cx="248" cy="52" r="24" fill="#ffd36b"/><rect y="104" width="320" height="60" fill="${a}"/><path d="M0 156c60-18 110 14 170 0s100-8 150 2v42H0z" fill="#f2dcae"/><path d="m70 104 26-48 22 48z" fill="#fff"/><path d="M58 104h70l-12 16H72z" fill="${b}"/>`,
  mountain: (a, b) => `<rect width="320" height="200" fill="#d7e6f5"/><path d="m-10 170 96-124 62 76 46-58 136 106z" fill="${a}"/><path d="m86 46 24 30-16 6-12-8-14 8-8-2z" fill="#fff"/><path d="m194 64 24 22-14 4-12-6-14 6z" fill="#fff"/><rect y="158" width="320" height="42" fill="${b}"/>`,
  city: (a, b) => `<rect width="320" height="200" fill="#f6dfc8"/>${[0, 1, 2, 3, 4, 5, 6].map((i) => { const h = [92, 132, 76, 150, 108, 128, 84][i]; return `<rect x="${i * 47 - 4}" y="${190 - h}" width="40" height="${h}" fill="${i % 2 ? a : b}"/>` + [0, 1, 2].map((r) => `<rect x="${i * 47 + 6}" y="${204 - h + r * 20}" width="8" height="10" fill="#fff2b3"/><rect x="${i * 47 + 20}" y="${204 - h + r * 20}" width="8" height="10" fill="#fff2b3"/>`).join(''); }).join('')}<rect y="186" width="320" height="14" fill="#565a66"/>`,
  forest: (a, b) => `<rect width="320" height="200" fill="#dff0e2"/><rect y="150" width="320" height="50" fill="${b}"/>${[20, 70, 130, 185, 240, 290].map((x, i) => `<path d="m${x} ${40 + (i % 3) * 16} 34 112H${x - 34}z" fill="${a}"/><rect x="${x - 5}" y="150" width="10" height="18" fill="#6b4a32"/>`).join('')}`,
  lake: (a, b) => `<rect width="320" height="200" fill="#fbe3d0"/><path d="m0 112 70-50 60 40 80-62 110 72z" fill="${b}"/><rect y="110" width="320" height="90" fill="${a}"/><path d="M20 132h80M140 146h110M50 166h90M200 178h80" stroke="#fff" stroke-width="3"/>`,
  room: (a, b) => `<rect width="320" height="200" fill="#efe6da"/><rect y="152" width="320" height="48" fill="#c9a882"/><rect x="60" y="96" width="170" height="60" rx="8" fill="${a}"/><rect x="60" y="66" width="170" height="44" rx="8" fill="${b}"/><rect x="76" y="86" width="56" height="26" rx="6" fill="#fff"/><rect x="152" y="86" width="56" height="26" rx="6" fill="#fff"/><rect x="252" y="30" width="46" height="60" fill="#a9d3e8"/>`,
  bath: (a, b) => `<rect width="320" height="200" fill="#e3eef0"/><path d="M0 50h320M0 100h320M80 0v150M160 0v150M240 0v150" stroke="#fff" stroke-width="3"/><path d="M60 106h200v24a40 40 0 0 1-40 34H100a40 40 0 0 1-40-34z" fill="${a}"/><path d="M84 106V58h26v12" fill="none" stroke="${b}" stroke-width="8"/>`,
  pool: (a, b) => `<rect width="320" height="200" fill="#cfeaf6"/><rect y="118" width="320" height="82" fill="#e9d8b8"/><rect x="36" y="126" width="248" height="54" rx="24" fill="${a}"/><path d="M246 118V64" stroke="#7b5a3a" stroke-width="6"/><path d="M204 70a44 34 0 0 1 84 0z" fill="${b}"/>`,
};
const scene = (kind, a = '#4a90b8', b = '#2f5d50') =>
  `<svg class="art" viewBox="0 0 320 200" preserveAspectRatio="xMidYMid slice">${SCENE[kind](a, b)}</svg>`;

const round = (a, b, more) => `<circle cx="160" cy="104" r="78" fill="#fff"/><circle cx="160" cy="104" r="64" fill="${a}"/>${more(b)}`;
const dots = (b, list) => list.map(([x, y, r]) => `<circle cx="${x}" cy="${y}" r="${r}" fill="${b}"/>`).join('');
const FOOD = {
  pizza: (a, b) => round(a, b, (c) => dots(c, [[134, 80, 12], [182, 78, 12], [160, 112, 13], [128, 126, 11], [194, 124, 12], [162, 148, 10]]) + '<path d="M150 60l10 12M200 100l-14 8" stroke="#4c8a3a" stroke-width="6"/>'),
  bowl: (a, b) => `<path d="M76 96h168a84 70 0 0 1-168 0z" fill="${b}"/><ellipse cx="160" cy="96" rx="84" ry="26" fill="${a}"/><ellipse cx="134" cy="92" rx="22" ry="9" fill="#6fa84f"/><ellipse cx="186" cy="96" rx="24" ry="10" fill="#e9764b"/><circle cx="160" cy="86" r="10" fill="#fff6d6"/>`,
  burger: (a, b) => `<path d="M92 92a68 52 0 0 1 136 0z" fill="${a}"/><rect x="88" y="96" width="144" height="12" rx="6" fill="#6fa84f"/><rect x="92" y="110" width="136" height="20" rx="8" fill="${b}"/><rect x="92" y="132" width="136" height="24" rx="12" fill="${a}"/>`,
  sushi: (a, b) => [96, 160, 224].map((x, i) => `<ellipse cx="${x}" cy="118" rx="29" ry="24" fill="#fff"/><path d="M${x - 30} 112a30 22 0 0 1 60 0z" fill="${i === 1 ? b : a}"/><rect x="${x - 6}" y="90" width="12" height="50" fill="#26402f"/>`).join(''),
  taco: (a, b) => `<path d="M74 140a86 86 0 0 1 172 0z" fill="#6fa84f"/><path d="M80 150a80 76 0 0 1 160 0z" fill="${a}"/>${dots(b, [[120, 74, 10], [160, 62, 11], [200, 74, 10]])}`,
  salad: (a, b) => round('#8cc063', b, (c) => dots(c, [[136, 84, 13], [186, 92, 12], [150, 130, 12], [190, 134, 11]]) + dots(a, [[160, 104, 12], [122, 112, 9], [170, 70, 8]])),
  noodle: (a, b) => `<path d="M76 98h168a84 68 0 0 1-168 0z" fill="${b}"/><ellipse cx="160" cy="98" rx="84" ry="26" fill="${a}"/><path d="M96 96c14-12 26 12 40 0s26 12 40 0 26 12 44-2" fill="none" stroke="#fff1c9" stroke-width="7"/><path d="m196 88 48-58M208 92l50-52" stroke="#8a5a3a" stroke-width="5"/>`,
  cake: (a, b) => `<ellipse cx="160" cy="156" rx="92" ry="14" fill="#fff"/><rect x="98" y="84" width="124" height="70" rx="8" fill="${a}"/><path d="M98 92a10 10 0 0 1 10-10h104a10 10 0 0 1 10 10v10c-10 14-20-4-31 6s-20 8-31-2-20 10-31 4-12 2-21-4z" fill="${b}"/><circle cx="160" cy="72" r="11" fill="#d8334a"/>`,
  pancakes: (a, b) => `<ellipse cx="160" cy="158" rx="96" ry="14" fill="#fff"/>${[144, 124, 104].map((y) => `<rect x="92" y="${y}" width="136" height="18" rx="9" fill="${a}"/>`).join('')}<path d="M104 104c20-14 92-14 112 0v14c-8 10-14-4-24 2s-16 14-26 2-40 6-62-4z" fill="${b}"/><rect x="146" y="84" width="28" height="14" rx="3" fill="#fff0a6"/>`,
  soup: (a, b) => round(a, b, (c) => `<path d="M122 104c20-20 46 20 76-2" fill="none" stroke="${c}" stroke-width="8"/>` + dots('#6fa84f', [[140, 84, 6], [176, 124, 7], [190, 86, 5]])),
  drink: (a, b) => `<path d="M112 52h96l-12 112h-72z" fill="${a}"/><path d="M112 52h96l-3 26h-90z" fill="#fff"/><path d="m170 52 16-34" stroke="${b}" stroke-width="8"/><circle cx="204" cy="60" r="18" fill="${b}"/>`,
  bread: (a, b) => `<rect x="82" y="78" width="156" height="74" rx="30" fill="${a}"/><path d="m112 86 18 24M148 84l18 24M184 84l18 24" stroke="${b}" stroke-width="9"/>`,
};
const food = (kind, a = '#f2c14e', b = '#c8412f', bg = '#f7ead8') =>
  `<svg class="art" viewBox="0 0 320 200" preserveAspectRatio="xMidYMid slice"><rect width="320" height="200" fill="${bg}"/>${FOOD[kind](a, b)}</svg>`;

const MOTIF = {
  rings: (a, b) => [70, 50, 30].map((r, i) => `<circle cx="100" cy="118" r="${r}" fill="${i % 2 ? b : a}"/>`).join(''),
  peaks: (a, b) => `<path d="m0 210 60-110 50 70 40-60 50 100z" fill="${a}"/><circle cx="142" cy="62" r="24" fill="${b}"/>`,
  stripes: (a, b) => [0, 1, 2, 3, 4].map((i) => `<path d="M${i * 46 - 20} 210 ${i * 46 + 40} 30h20L${i * 46} 210z" fill="${i % 2 ? a : b}"/>`).join(''),
  moon: (a, b) => `<circle cx="100" cy="104" r="58" fill="${a}"/><circle cx="122" cy="92" r="50" fill="${b}"/>`,
  waves: (a, b) => [0, 1, 2, 3].map((i) => `<path d="M0 ${90 + i * 32}c50-34 70 30 110 0s60 10 90-10v130H0z" fill="${i % 2 ? a : b}"/>`).join(''),
  robot: (a, b) => `<rect x="52" y="70" width="96" height="84" rx="16" fill="${a}"/><circle cx="82" cy="106" r="13" fill="${b}"/><circle cx="118" cy="106" r="13" fill="${b}"/><path d="M80 134h40M100 70V46" stroke="${b}" stroke-width="7"/>`,
  house: (a, b) => `<path d="m100 56 70 58v90H30v-90z" fill="${a}"/><rect x="84" y="146" width="32" height="58" fill="${b}"/><rect x="50" y="124" width="24" height="24" fill="${b}"/><rect x="126" y="124" width="24" height="24" fill="${b}"/>`,
  guitar: (a, b) => `<circle cx="86" cy="150" r="42" fill="${a}"/><circle cx="106" cy="114" r="30" fill="${a}"/><circle cx="92" cy="140" r="14" fill="${b}"/><path d="m108 112 52-74" stroke="${b}" stroke-width="10"/>`,
};
const poster = (motif, title, a, b, bg) =>
  `<svg class="art" viewBox="0 0 200 280" preserveAspectRatio="xMidYMid slice"><rect width="200" height="280" fill="${bg}"/>${MOTIF[motif](a, b)}<rect y="210" width="200" height="70" fill="${bg}"/><text x="100" y="244" text-anchor="middle" font-family="Noto Sans" font-weight="800" font-size="${title.length > 14 ? 17 : 21}" fill="#fff">${title}</text></svg>`;
