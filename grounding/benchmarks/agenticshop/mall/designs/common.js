"use strict";
// What the scripts of all shops share; the pages they make of it differ.
const by = (id) => document.getElementById(id);
const make = (tag, text, name = "") => Object.assign(document.createElement(tag), { textContent: text, className: name });

/** Write a form of the product into whatever the page shows of it: price, shipping, stock. */
const showForm = (form) => {
  for (const name of ["price", "was", "shipping", "stock", "total"]) if (by(name)) by(name).textContent = form[name];
};

/** Fetch reviews once somebody scrolls down to `mark`, a few at a time for as long as it is in sight; `show` makes an
 *  element of one. `none` is said where there are none. */
const reviewsBefore = (mark, address, show, none) => {
  let next = 0;
  const watch = new IntersectionObserver(async (entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    const got = await (await fetch(`${address}?from=${next}`)).json();
    mark.before(...got.reviews.map(show));
    if (got.next === null) mark.textContent = next || got.reviews.length ? "" : none;
    else watch.observe(mark);
    next = got.next;
  });
  watch.observe(mark);
};
