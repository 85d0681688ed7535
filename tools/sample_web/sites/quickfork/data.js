const PLACES = [
  { id: 'napoli', name: 'Nonna Pia Pizza', tag: 'Pizza', kind: 'pizza', a: '#f2c14e', b: '#c8412f', rating: 4.7, mins: 25, fee: 1.99, cost: '$$' },
  { id: 'kumo', name: 'Kumo Sushi Bar', tag: 'Sushi', kind: 'sushi', a: '#f08a6b', b: '#e5533c', rating: 4.8, mins: 40, fee: 3.49, cost: '$$$' },
  { id: 'basil', name: 'Basil & Bowl', tag: 'Healthy', kind: 'bowl', a: '#f6e3b4', b: '#4f7f52', rating: 4.5, mins: 20, fee: 0, cost: '$$' },
  { id: 'patty', name: 'Patty Parlour', tag: 'Burgers', kind: 'burger', a: '#d99a4e', b: '#7a4526', rating: 4.2, mins: 30, fee: 0.99, cost: '$' },
  { id: 'ramen', name: 'Steamy Ramen House', tag: 'Noodles', kind: 'noodle', a: '#e8b563', b: '#3d405b', rating: 4.6, mins: 35, fee: 2.49, cost: '$$' },
  { id: 'cactus', name: 'Little Cactus Tacos', tag: 'Mexican', kind: 'taco', a: '#eec25b', b: '#c8412f', rating: 4.4, mins: 15, fee: 1.49, cost: '$' },
  { id: 'greens', name: 'Garden Grove Salads', tag: 'Healthy', kind: 'salad', a: '#e4572e', b: '#f3a712', rating: 4.3, mins: 18, fee: 1.99, cost: '$$' },
  { id: 'slice', name: 'Slice Republic', tag: 'Pizza', kind: 'pizza', a: '#eeb04c', b: '#8c2f39', rating: 4.1, mins: 20, fee: 0, cost: '$' },
  { id: 'crumb', name: 'Crumb & Cake', tag: 'Dessert', kind: 'cake', a: '#f7d6c4', b: '#e07a9b', rating: 4.9, mins: 30, fee: 2.99, cost: '$$' },
];
const MENU = {
  Pizza: [['margherita', 'Margherita', 'Tomato, mozzarella, basil', 11.5, 'pizza'], ['funghi', 'Funghi', 'Mushrooms, thyme, cream', 13, 'pizza'], ['diavola', 'Diavola', 'Spicy salami, chilli', 14, 'pizza'], ['garlic-bread', 'Garlic bread', 'With parsley butter', 5.5, 'bread'], ['green-salad', 'Green salad', 'Leaves, lemon dressing', 6, 'salad'], ['lemonade', 'Homemade lemonade', 'Half a litre', 4, 'drink'], ['tiramisu', 'Tiramisu', 'Coffee, mascarpone', 6.5, 'cake']],
  Sushi: [['salmon-set', 'Salmon set', '12 pieces, miso soup', 18, 'sushi'], ['veggie-set', 'Garden set', '10 pieces, no fish', 14, 'sushi'], ['party', 'Party platter', '40 pieces for four', 52, 'sushi'], ['miso', 'Miso soup', 'Tofu, seaweed', 4, 'soup'], ['green-tea', 'Iced green tea', '0.4 l', 3.5, 'drink']],
  Healthy: [['harvest', 'Harvest bowl', 'Rice, pumpkin, kale', 12, 'bowl'], ['salmon-bowl', 'Salmon bowl', 'Rice, salmon, edamame', 15, 'bowl'], ['chickpea', 'Chickpea salad', 'Feta, cucumber, mint', 10.5, 'salad'], ['lentil', 'Lentil soup', 'With flat bread', 8, 'soup'], ['ginger', 'Ginger lemonade', '0.4 l', 4, 'drink']],
};
const EXTRAS = [['Extra cheese', 1.5], ['Olives', 1], ['Chilli oil', 0.5]];
const FOOT = { owner: 'Quickfork', links: ['Support', 'Offers', 'Allergens', 'Ride with us'] };
