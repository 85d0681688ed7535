const RECIPES = [
  { id: 'lemon-pancakes', name: 'Lemon ricotta pancakes', kind: 'pancakes', a: '#e3b062', b: '#c26a2d', mins: 30, level: 'Easy', rating: 4.8, tags: ['Brunch', 'Vegetarian'], by: 'Ines Moreau' },
  { id: 'shakshuka', name: 'Smoky shakshuka', kind: 'soup', a: '#c8412f', b: '#fff6e0', mins: 35, level: 'Easy', rating: 4.7, tags: ['Brunch', 'Vegetarian', 'Spicy'], by: 'Dov Hale' },
  { id: 'herb-loaf', name: 'Overnight herb loaf', kind: 'bread', a: '#cf9a55', b: '#80562a', mins: 95, level: 'Medium', rating: 4.6, tags: ['Brunch', 'Baking'], by: 'Ines Moreau' },
  { id: 'plum-cake', name: 'Sunken plum cake', kind: 'cake', a: '#f0cfa0', b: '#7c4a78', mins: 70, level: 'Medium', rating: 4.9, tags: ['Dessert', 'Baking'], by: 'Greta Lund' },
  { id: 'choc-torte', name: 'Ten-minute chocolate torte', kind: 'cake', a: '#6b4226', b: '#3f2413', mins: 40, level: 'Easy', rating: 4.5, tags: ['Dessert'], by: 'Dov Hale' },
  { id: 'berry-cups', name: 'Frozen berry cups', kind: 'drink', a: '#d94f70', b: '#7fb069', mins: 15, level: 'Easy', rating: 4.3, tags: ['Dessert', 'No oven'], by: 'Greta Lund' },
  { id: 'miso-noodles', name: 'Miso butter noodles', kind: 'noodle', a: '#e8b563', b: '#3d405b', mins: 20, level: 'Easy', rating: 4.6, tags: ['Dinner', 'Vegetarian'], by: 'Aya Brandt' },
  { id: 'green-bowl', name: 'Big green bowl', kind: 'salad', a: '#f3a712', b: '#e4572e', mins: 25, level: 'Easy', rating: 4.2, tags: ['Dinner', 'Vegetarian'], by: 'Aya Brandt' },
];
const STUFF = [['ricotta', 250, 'g'], ['flour', 140, 'g'], ['eggs', 2, ''], ['milk', 120, 'ml'], ['sugar', 30, 'g'], ['lemons', 2, ''], ['butter', 20, 'g']];
const STEPS = ['Whisk the wet things together until smooth.', 'Fold in the dry things; a few lumps are fine.', 'Rest for ten minutes while the pan heats.', 'Cook in small batches until golden on both sides.', 'Serve warm, with more lemon than you think.'];
const FOOT = { owner: 'Potluck Pages', links: ['Techniques', 'Newsletter', 'Contribute', 'Imprint'] };
