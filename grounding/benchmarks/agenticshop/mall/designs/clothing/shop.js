"use strict";
const press = (element, does) => {
  element.addEventListener("click", (event) => { event.preventDefault(); does(element); });
  element.addEventListener("keydown", (event) => { if (event.key === "Enter") does(element); });
};
if (localStorage.getItem("crumb")) by("crumb")?.remove();
for (const link of document.querySelectorAll("[data-hide]")) press(link, () => {
  localStorage.setItem("crumb", "hidden");
  by("crumb").remove();
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
  const words = by("seek").value.trim();
  if (!words) return;
  const found = await (await fetch(`/api/search?words=${encodeURIComponent(words)}`)).json();
  const title = make("div", found.goods.length ? `“${words}” ` : `Nothing for “${words}”`, "claim");
  if (found.goods.length) title.append(make("small", String(found.goods.length)));
  const grid = make("div", "", "looks");
  grid.id = "results";
  grid.append(...looks(found.goods));
  by("stage").replaceChildren(title, grid);
  window.scrollTo(0, 0);
};
if (by("seek")) {
  by("seek").addEventListener("keydown", (event) => { if (event.key === "Enter") seek(); });
  press(by("go"), seek);
}

const more = by("more");
if (more) press(more, async () => {
  const answer = await (await fetch(`${more.dataset.path}?as=json&page=${more.dataset.next}`)).json();
  by("looks").append(...looks(answer.goods));
  if (answer.next === null) more.remove(); else more.dataset.next = answer.next;
});

if (by("piece")) {
  const piece = JSON.parse(by("piece").textContent);
  for (const size of document.querySelectorAll("[data-form]")) press(size, () => {
    document.querySelector(".sizes .now").classList.remove("now");
    size.classList.add("now");
    const form = piece.forms[Number(size.dataset.form)];
    showForm(form);
    by("add").textContent = form.soldOut ? "Not available" : "Add to bag";
  });
  const end = make("div", "");
  end.style.height = "1px";
  by("words").append(end);
  reviewsBefore(end, piece.reviews, (review) => {
    const word = make("div", "", "word");
    word.append(make("b", review.title), make("p", review.text), make("i", review.rating));
    return word;
  }, "Nobody has said anything yet.");
}
