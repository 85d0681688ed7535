"use strict";
const banner = document.getElementById("cookies");
if (localStorage.getItem("cookies")) banner?.remove();
for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => {
  localStorage.setItem("cookies", "chosen");
  banner.remove();
});

const source = document.getElementById("product-data");
if (source) {
  const data = JSON.parse(source.textContent);
  const by = (id) => document.getElementById(id);
  const choice = by("form");
  if (choice) choice.addEventListener("change", () => {
    const form = data.forms[Number(choice.value)];
    by("price").textContent = form.price;
    by("was").textContent = form.was;
    by("shipping").textContent = form.shipping;
    by("stock").textContent = form.stock;
    by("stock").classList.toggle("gone", form.soldOut);
    by("buy").disabled = form.soldOut;
  });

  // Reviews are fetched once somebody scrolls down to them, a few at a time for as long as their end is in sight.
  const box = by("said");
  const more = document.createElement("div");
  more.className = "more";
  box.after(more);
  let next = 0, busy = false;
  const show = (text, tag) => Object.assign(document.createElement(tag), { textContent: text });
  const load = async () => {
    if (busy || next === null) return;
    busy = true;
    const answer = await (await fetch(`${data.reviews}?from=${next}`)).json();
    for (const review of answer.reviews) {
      const item = document.createElement("article");
      item.className = "said";
      item.append(show(review.title, "h3"), show(review.rating, "p"), show(review.text, "p"));
      box.append(item);
    }
    if (!answer.reviews.length && next === 0) box.append(show(box.dataset.empty, "p"));
    next = answer.next;
    busy = false;
    if (next === null) { seen.disconnect(); more.remove(); } else { seen.unobserve(more); seen.observe(more); }
  };
  const seen = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) load(); });
  seen.observe(more);
}
