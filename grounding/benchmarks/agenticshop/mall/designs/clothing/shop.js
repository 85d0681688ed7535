"use strict";
const one = (id) => document.getElementById(id);
const make = (tag, text, name) => Object.assign(document.createElement(tag), { textContent: text, className: name || "" });
const press = (element, does) => {
  element.addEventListener("click", (event) => { event.preventDefault(); does(element); });
  element.addEventListener("keydown", (event) => { if (event.key === "Enter") does(element); });
};
if (localStorage.getItem("crumb")) one("crumb")?.remove();
for (const link of document.querySelectorAll("[data-hide]")) press(link, () => {
  localStorage.setItem("crumb", "hidden");
  one("crumb").remove();
});

const looks = (goods) => goods.map((piece) => {
  const link = make("a", "", "look");
  link.href = piece.path;
  if (piece.picture) {
    const picture = document.createElement("img");
    Object.assign(picture, { src: piece.picture, alt: piece.title, width: 280, height: 350 });
    link.append(picture);
  }
  link.append(make("span", piece.title), make("span", piece.price + (piece.soldOut ? " · sold out" : "")));
  return link;
});

// The search has no form and no address of its own: results replace what the page shows.
const seek = async () => {
  const words = one("seek").value.trim();
  if (!words) return;
  const found = await (await fetch(`/api/search?words=${encodeURIComponent(words)}`)).json();
  const title = make("div", found.goods.length ? `“${words}” ` : `Nothing for “${words}”`, "claim");
  if (found.goods.length) title.append(make("small", String(found.goods.length)));
  const grid = make("div", "", "looks");
  grid.id = "results";
  grid.append(...looks(found.goods));
  one("stage").replaceChildren(title, grid);
  window.scrollTo(0, 0);
};
if (one("seek")) {
  one("seek").addEventListener("keydown", (event) => { if (event.key === "Enter") seek(); });
  press(one("go"), seek);
}

const more = one("more");
if (more) press(more, async () => {
  const answer = await (await fetch(`${more.dataset.path}?as=json&page=${more.dataset.next}`)).json();
  one("looks").append(...looks(answer.goods));
  if (answer.next === null) more.remove(); else more.dataset.next = answer.next;
});

if (one("piece")) {
  const piece = JSON.parse(one("piece").textContent);
  for (const size of document.querySelectorAll("[data-form]")) press(size, () => {
    document.querySelector(".sizes .now").classList.remove("now");
    size.classList.add("now");
    const form = piece.forms[Number(size.dataset.form)];
    one("price").textContent = form.price;
    one("was").textContent = form.was;
    one("shipping").textContent = form.shipping;
    one("stock").textContent = form.stock;
    one("add").textContent = form.soldOut ? "Not available" : "Add to bag";
  });
  const words = one("words"), end = document.createElement("div");
  end.style.height = "1px";
  words.append(end);
  let next = 0;
  const near = new IntersectionObserver(async (entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    const answer = await (await fetch(`${piece.reviews}?from=${next}`)).json();
    for (const review of answer.reviews) {
      const word = make("div", "", "word");
      word.append(make("b", review.title), make("p", review.text), make("i", review.rating));
      words.insertBefore(word, end);
    }
    if (next === 0 && !answer.reviews.length) words.insertBefore(make("p", "Nobody has said anything yet."), end);
    next = answer.next;
    if (next !== null) near.observe(end);
  });
  near.observe(end);
}
