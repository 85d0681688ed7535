"use strict";
const banner = by("cookies");
if (localStorage.getItem("cookies")) banner?.remove();
for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => {
  localStorage.setItem("cookies", "chosen");
  banner.remove();
});

if (by("product-data")) {
  const data = JSON.parse(by("product-data").textContent);
  by("form")?.addEventListener("change", (event) => {
    const form = data.forms[Number(event.target.value)];
    showForm(form);
    by("stock").classList.toggle("gone", form.soldOut);
    by("buy").disabled = form.soldOut;
  });

  const box = by("said"), more = make("div", "");
  box.append(more);
  reviewsBefore(more, data.reviews, (review) => {
    const item = make("article", "", "said");
    item.append(make("h3", review.title), make("p", review.rating), make("p", review.text));
    return item;
  }, box.dataset.empty);
}
