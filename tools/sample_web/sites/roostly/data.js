const HOTELS = [
  { id: 'gullhouse', name: 'The Gull House', town: 'Saltmere', where: 'sea', kind: 'sea', a: '#3f8fb5', b: '#c1552f', price: 142, score: 9.1, votes: 812, far: '80 m from the beach', perks: ['Free breakfast', 'Sea view', 'Free cancellation'], x: 30, y: 38 },
  { id: 'pierlodge', name: 'Pier Lodge', town: 'Saltmere', where: 'sea', kind: 'pool', a: '#38bdf8', b: '#be4d5f', price: 98, score: 8.2, votes: 431, far: '350 m from the beach', perks: ['Pool', 'Parking'], x: 58, y: 30 },
  { id: 'dunes', name: 'Marram Dunes Hotel', town: 'Saltmere', where: 'sea', kind: 'sea', a: '#2b7a8c', b: '#6b4a7d', price: 176, score: 9.4, votes: 1290, far: 'On the beach', perks: ['Free breakfast', 'Sea view', 'Spa', 'Pool'], x: 22, y: 66 },
  { id: 'lantern', name: 'Lantern Street Rooms', town: 'Saltmere', where: 'sea', kind: 'city', a: '#9a7b5f', b: '#5f6f8a', price: 74, score: 7.9, votes: 266, far: '900 m from the beach', perks: ['Parking', 'Free cancellation'], x: 76, y: 58 },
  { id: 'anchor', name: 'Anchor & Quilt B&B', town: 'Saltmere', where: 'sea', kind: 'room', a: '#6d8ea0', b: '#d9a441', price: 110, score: 8.8, votes: 198, far: '200 m from the beach', perks: ['Free breakfast', 'Free cancellation'], x: 47, y: 74 },
  { id: 'pinecrest', name: 'Pinecrest Lodge', town: 'Alderhorn', where: 'mountains', kind: 'forest', a: '#3f7d58', b: '#9db88f', price: 128, score: 8.9, votes: 540, far: '300 m from the ski lift', perks: ['Sauna', 'Free breakfast'], x: 34, y: 30 },
  { id: 'summit', name: 'Summit House Alderhorn', town: 'Alderhorn', where: 'mountains', kind: 'mountain', a: '#7c93a8', b: '#8aa67c', price: 189, score: 9.5, votes: 1103, far: 'Next to the ski lift', perks: ['Spa', 'Sauna', 'Free breakfast', 'Free cancellation'], x: 62, y: 44 },
  { id: 'brook', name: 'Brookside Inn', town: 'Alderhorn', where: 'mountains', kind: 'lake', a: '#5aa0c8', b: '#73906b', price: 91, score: 8.4, votes: 377, far: '1.2 km from the ski lift', perks: ['Parking', 'Pets welcome'], x: 24, y: 68 },
  { id: 'larch', name: 'Larch Cabin Hostel', town: 'Alderhorn', where: 'mountains', kind: 'forest', a: '#8a6d3b', b: '#b9c48a', price: 52, score: 8.0, votes: 690, far: '800 m from the ski lift', perks: ['Shared kitchen', 'Free cancellation'], x: 74, y: 70 },
];
const PERKS = ['Free breakfast', 'Free cancellation', 'Pool', 'Spa', 'Parking'];
const ROOMS = [['Standard double', 1, '1 double bed, 18 m2', 'No refund'], ['Superior double', 1.25, '1 large double bed, balcony, 24 m2', 'Free cancellation'], ['Family room', 1.6, '1 double and 2 single beds, 34 m2', 'Free cancellation']];
const OPINIONS = [[10, 'Lena', 'Woke up to waves. Breakfast had fresh bread and five jams.'], [8, 'Tom', 'Quiet and clean. The stairs are steep.'], [6, 'Priya', 'Lovely staff, thin walls.']];
const FOOT = { owner: 'Roostly', links: ['Safety', 'Host guide', 'Careers', 'Contact'] };
