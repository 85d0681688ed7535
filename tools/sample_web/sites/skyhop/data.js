const CITIES = ['Lisbon', 'Porto', 'Oslo', 'Vienna', 'Dublin', 'Geneva', 'Innsbruck'];
const FLIGHTS = [
  { id: 'NW214', line: 'Northwind', mark: '#2563eb', dep: '06:40', arr: '09:05', dur: '3h 25m', stops: 0, price: 148, co2: 'low' },
  { id: 'CU880', line: 'Cumulus Air', mark: '#d97706', dep: '08:15', arr: '12:50', dur: '5h 35m', stops: 1, price: 96, co2: 'average' },
  { id: 'NW220', line: 'Northwind', mark: '#2563eb', dep: '11:30', arr: '13:55', dur: '3h 25m', stops: 0, price: 172, co2: 'low' },
  { id: 'PL031', line: 'Pelican', mark: '#be185d', dep: '13:05', arr: '15:40', dur: '3h 35m', stops: 0, price: 131, co2: 'average' },
  { id: 'CU902', line: 'Cumulus Air', mark: '#d97706', dep: '16:20', arr: '22:35', dur: '7h 15m', stops: 2, price: 79, co2: 'high' },
  { id: 'PL047', line: 'Pelican', mark: '#be185d', dep: '19:45', arr: '22:15', dur: '3h 30m', stops: 0, price: 119, co2: 'average' },
];
const MONTHS = [['June 2027', 30, 1], ['July 2027', 31, 3], ['August 2027', 31, 6]];
const FOOT = { owner: 'Skyhop Travel', links: ['Help centre', 'Refunds', 'Baggage', 'Jobs'] };
