const ITEMS = [
  { id: 'fog-mug', name: 'Fogline Stoneware Mug', cat: 'Kitchen', kind: 'mug', price: 18, rating: 4.6, reviews: 312, colours: ['Sea Blue', 'Oat', 'Moss'] },
  { id: 'ember-candle', name: 'Ember & Cedar Candle', cat: 'Home', kind: 'candle', price: 24, rating: 4.8, reviews: 541, colours: ['Rust', 'Moss', 'Plum'] },
  { id: 'gull-lamp', name: 'Gull Desk Lamp', cat: 'Home', kind: 'lamp', price: 46, rating: 4.3, reviews: 128, colours: ['Mustard', 'Sea Blue', 'Rust'] },
  { id: 'pivot-lamp', name: 'Pivot Reading Lamp', cat: 'Home', kind: 'lamp', price: 32, rating: 4.7, reviews: 402, colours: ['Rust', 'Moss', 'Oat'] },
  { id: 'study-lamp', name: 'Harbor Study Lamp', cat: 'Home', kind: 'lamp', price: 58, rating: 4.5, reviews: 87, colours: ['Moss', 'Mustard', 'Plum'] },
  { id: 'linen-shirt', name: 'Harbor Linen Shirt', cat: 'Clothing', kind: 'shirt', price: 39, rating: 4.2, reviews: 214, colours: ['Oat', 'Sea Blue', 'Moss'], sizes: ['S', 'M', 'L', 'XL'] },
  { id: 'tide-scarf', name: 'Tidewater Wool Scarf', cat: 'Clothing', kind: 'scarf', price: 34, rating: 4.9, reviews: 176, colours: ['Plum', 'Sea Blue', 'Mustard'] },
  { id: 'dune-slippers', name: 'Dune Felt Slippers', cat: 'Clothing', kind: 'slippers', price: 29, rating: 4.4, reviews: 263, colours: ['Mustard', 'Moss', 'Plum'], sizes: ['36', '38', '40', '42'] },
  { id: 'day-pack', name: 'Quayside Day Pack', cat: 'Travel', kind: 'backpack', price: 64, rating: 4.6, reviews: 356, colours: ['Moss', 'Sea Blue', 'Rust'] },
  { id: 'fern-pot', name: 'Little Fern in a Pot', cat: 'Home', kind: 'plant', price: 21, rating: 4.1, reviews: 95, colours: ['Moss', 'Sea Blue'] },
  { id: 'coast-book', name: 'Coastlines: A Picture Book', cat: 'Books', kind: 'book', price: 27, rating: 4.7, reviews: 188, colours: ['Sea Blue'] },
  { id: 'tea-pot', name: 'Drizzle Teapot for Two', cat: 'Kitchen', kind: 'teapot', price: 42, rating: 4.5, reviews: 147, colours: ['Sea Blue', 'Mustard', 'Oat'] },
  { id: 'wave-blanket', name: 'Wavecrest Throw Blanket', cat: 'Home', kind: 'blanket', price: 52, rating: 4.8, reviews: 430, colours: ['Plum', 'Moss', 'Mustard'] },
  { id: 'map-puzzle', name: 'Old Harbor Map Puzzle', cat: 'Books', kind: 'puzzle', price: 23, rating: 4.6, reviews: 221, colours: ['Oat'] },
  { id: 'skillet', name: 'Cove Cast Skillet', cat: 'Kitchen', kind: 'pan', price: 36, rating: 4.7, reviews: 509, colours: ['Plum', 'Moss'] },
];
const COLOURS = { 'Sea Blue': '#2f7ea1', Oat: '#d9c7a3', Moss: '#5d7f4b', Rust: '#c1552f', Mustard: '#dda333', Plum: '#7c4a78' };
const SECOND = { 'Sea Blue': '#17445a', Oat: '#9c8256', Moss: '#33492a', Rust: '#6e2d17', Mustard: '#7b5610', Plum: '#45264a' };
const CATS = ['Home', 'Kitchen', 'Clothing', 'Travel', 'Books'];
const REVIEWS = [
  ['Maren T.', 5, 'Exactly as pictured', 'Arrived in two days and looks lovely on the table. The colour is a touch deeper than on my screen.'],
  ['Joel P.', 4, 'Good, small flaw', 'Well made. The box had a dent but the thing itself was fine, so four stars.'],
  ['Anniken', 5, 'Bought it twice', 'Gave one away and ordered another for myself the same evening.'],
  ['R. Okafor', 2, 'Smaller than I thought', 'Please read the measurements first. I did not.'],
];
