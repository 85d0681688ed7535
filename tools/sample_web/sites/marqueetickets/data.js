const EVENTS = [
  { id: 'tin-orchard', name: 'The Tin Orchard', kind: 'Movies', genre: 'Family', motif: 'robot', a: '#fbbf24', b: '#7c2d12', bg: '#1e3a5f', rating: 4.6, where: 'Lumen Cinema', price: 12, len: '1 h 42 min', age: '6+' },
  { id: 'nightferry', name: 'Night Ferry', kind: 'Movies', genre: 'Thriller', motif: 'moon', a: '#e2e8f0', b: '#0f172a', bg: '#0f172a', rating: 4.3, where: 'Lumen Cinema', price: 13, len: '2 h 05 min', age: '16+' },
  { id: 'paper-moons', name: 'Paper Moons', kind: 'Movies', genre: 'Romance', motif: 'rings', a: '#fda4af', b: '#fff1f2', bg: '#881337', rating: 4.1, where: 'Odeon Nine', price: 11, len: '1 h 50 min', age: '12+' },
  { id: 'last-cairn', name: 'The Last Cairn', kind: 'Movies', genre: 'Adventure', motif: 'peaks', a: '#94a3b8', b: '#fde68a', bg: '#134e4a', rating: 4.8, where: 'Odeon Nine', price: 13, len: '2 h 20 min', age: '12+' },
  { id: 'house-nine', name: 'House Number Nine', kind: 'Movies', genre: 'Horror', motif: 'house', a: '#3f3f46', b: '#facc15', bg: '#18181b', rating: 3.9, where: 'Lumen Cinema', price: 12, len: '1 h 38 min', age: '18+' },
  { id: 'velvet-tide', name: 'Velvet Tide', kind: 'Concerts', genre: 'Indie', motif: 'waves', a: '#38bdf8', b: '#6366f1', bg: '#312e81', rating: 4.9, where: 'Quay Arena', price: 48, len: 'Jun 19', age: 'All' },
  { id: 'mara-quill', name: 'Mara Quill', kind: 'Concerts', genre: 'Folk', motif: 'guitar', a: '#d97706', b: '#fef3c7', bg: '#3f2a14', rating: 4.7, where: 'Old Mill Hall', price: 35, len: 'Jun 12', age: 'All' },
  { id: 'neon-heron', name: 'Neon Heron', kind: 'Concerts', genre: 'Electronic', motif: 'stripes', a: '#f472b6', b: '#22d3ee', bg: '#1e1b4b', rating: 4.5, where: 'Quay Arena', price: 42, len: 'Jun 26', age: '16+' },
  { id: 'brass-owls', name: 'The Brass Owls', kind: 'Concerts', genre: 'Jazz', motif: 'rings', a: '#facc15', b: '#78350f', bg: '#451a03', rating: 4.6, where: 'Old Mill Hall', price: 29, len: 'Jun 5', age: 'All' },
  { id: 'pip-whale', name: 'Pip and the Whale', kind: 'Shows', genre: 'Puppets', motif: 'waves', a: '#5eead4', b: '#0d9488', bg: '#115e59', rating: 4.8, where: 'Lantern Theatre', price: 16, len: 'Jun 13', age: '4+' },
  { id: 'cloud-circus', name: 'Cloud Circus', kind: 'Shows', genre: 'Circus', motif: 'peaks', a: '#fb7185', b: '#fde047', bg: '#4c1d95', rating: 4.7, where: 'Harbour Tent', price: 24, len: 'Jun 20', age: 'All' },
  { id: 'two-keys', name: 'Two Keys, One Door', kind: 'Shows', genre: 'Comedy', motif: 'house', a: '#60a5fa', b: '#fef08a', bg: '#1e40af', rating: 4.2, where: 'Lantern Theatre', price: 27, len: 'Jun 18', age: '12+' },
];
const DAYS = ['Thu 10', 'Fri 11', 'Sat 12', 'Sun 13', 'Mon 14'];
const TIMES = [['14:30', '2D'], ['17:15', '3D'], ['20:00', '2D'], ['22:10', '2D, original sound']];
const ZONES = [['Floor', 1.4, '#f472b6'], ['Lower ring', 1.15, '#a78bfa'], ['Upper ring', 0.8, '#38bdf8'], ['Balcony', 0.6, '#34d399']];
const FOOT = { owner: 'Marquee', links: ['My orders', 'Resale', 'Venues', 'Accessibility'] };
