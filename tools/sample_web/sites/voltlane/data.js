const ITEMS = [
  { id: 'aria-700', name: 'Orbit Aria 700', type: 'Over-ear headphones', kind: 'headphones', a: '#374151', b: '#111827', price: 89, rating: 4.7, reviews: 1204, battery: '40 h', tags: ['Noise cancelling', 'Bluetooth'], stock: 'In stock' },
  { id: 'hum-lite', name: 'Hum Lite', type: 'On-ear headphones', kind: 'headphones', a: '#dc2626', b: '#7f1d1d', price: 34, rating: 4.1, reviews: 388, battery: '22 h', tags: ['Bluetooth'], stock: 'In stock' },
  { id: 'drift-pro', name: 'Drift Pro Wireless', type: 'Over-ear headphones', kind: 'headphones', a: '#2563eb', b: '#1e3a8a', price: 129, rating: 4.8, reviews: 2210, battery: '50 h', tags: ['Noise cancelling', 'Bluetooth', 'Multipoint'], stock: 'In stock' },
  { id: 'pebble-2', name: 'Pebble 2 Earbuds', type: 'Wireless earbuds', kind: 'earbuds', a: '#e5e7eb', b: '#6b7280', price: 59, rating: 4.4, reviews: 951, battery: '28 h', tags: ['Bluetooth', 'Waterproof'], stock: 'In stock' },
  { id: 'studio-m', name: 'Northvale Studio M', type: 'Over-ear headphones', kind: 'headphones', a: '#a16207', b: '#422006', price: 74, rating: 4.5, reviews: 640, battery: '35 h', tags: ['Bluetooth', 'Foldable'], stock: 'Only 3 left' },
  { id: 'keys-60', name: 'Clacker 60 Keyboard', type: 'Mechanical keyboard', kind: 'keyboard', a: '#1f2937', b: '#facc15', price: 79, rating: 4.6, reviews: 533, battery: '90 h', tags: ['Wireless', 'Hot-swap'], stock: 'In stock' },
  { id: 'keys-full', name: 'Longrow Keyboard', type: 'Full-size keyboard', kind: 'keyboard', a: '#94a3b8', b: '#2563eb', price: 45, rating: 4.2, reviews: 274, battery: '12 months', tags: ['Wireless', 'Quiet'], stock: 'In stock' },
  { id: 'keys-tiny', name: 'Tidbit Keyboard', type: 'Compact keyboard', kind: 'keyboard', a: '#f9a8d4', b: '#9d174d', price: 39, rating: 4.4, reviews: 198, battery: '6 months', tags: ['Wireless', 'Bluetooth'], stock: 'In stock' },
  { id: 'glide', name: 'Glide Silent Mouse', type: 'Wireless mouse', kind: 'mouse', a: '#475569', b: '#38bdf8', price: 29, rating: 4.5, reviews: 812, battery: '18 months', tags: ['Wireless', 'Quiet'], stock: 'In stock' },
  { id: 'boom', name: 'Boomlet Speaker', type: 'Portable speaker', kind: 'speaker', a: '#059669', b: '#064e3b', price: 49, rating: 4.3, reviews: 467, battery: '16 h', tags: ['Bluetooth', 'Waterproof'], stock: 'In stock' },
  { id: 'zap', name: 'Zapcube 65W Charger', type: 'USB-C charger', kind: 'charger', a: '#6b7280', b: '#374151', price: 36, rating: 4.8, reviews: 1530, battery: '-', tags: ['Fast charge'], stock: 'In stock' },
  { id: 'port', name: 'Sevenport Hub', type: 'USB-C hub', kind: 'hub', a: '#64748b', b: '#e2e8f0', price: 42, rating: 4.0, reviews: 156, battery: '-', tags: ['HDMI', 'Ethernet'], stock: 'In stock' },
  { id: 'peek', name: 'Peekaboo Webcam', type: 'HD webcam', kind: 'webcam', a: '#334155', b: '#0ea5e9', price: 55, rating: 4.2, reviews: 301, battery: '-', tags: ['1080p', 'Privacy cover'], stock: 'In stock' },
  { id: 'tick', name: 'Tickwell Smartwatch', type: 'Smartwatch', kind: 'watch', a: '#0f766e', b: '#134e4a', price: 68, rating: 4.3, reviews: 722, battery: '9 days', tags: ['Waterproof', 'GPS'], stock: 'In stock' },
];
const TAGS = ['Noise cancelling', 'Bluetooth', 'Waterproof', 'Wireless', 'Quiet'];
const FOOT = { owner: 'Voltlane Electronics', links: ['Track an order', 'Returns', 'Gift cards', 'Contact'] };
