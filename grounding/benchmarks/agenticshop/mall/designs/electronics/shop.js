"use strict";
(() => {
  const letter = by("letter");
  if (letter && !sessionStorage.getItem("letter")) setTimeout(() => {
    const shown = letter.content.firstElementChild.cloneNode(true);
    document.body.append(shown);
    for (const way of shown.querySelectorAll(".x, .no")) way.onclick = () => {
      sessionStorage.setItem("letter", "seen");
      shown.remove();
    };
  }, 600);

  if (!by("data")) return;
  const data = JSON.parse(by("data").textContent);
  // The price isn't in the document: it is written here, again for every choice.
  const show = (number) => {
    const form = data.forms[number];
    showForm(form);
    by("stock").className = form.soldOut ? "stock off" : "stock";
    by("cart").disabled = form.soldOut;
    document.querySelectorAll("#forms button").forEach((one, place) => one.setAttribute("aria-pressed", place === number));
  };
  if (by("forms")) data.forms.forEach((form, number) => {
    const button = make("button", form.name, form.soldOut ? "off" : "");
    button.type = "button";
    button.onclick = () => show(number);
    by("forms").append(button);
  });
  show(data.chosen);
  document.querySelectorAll(".thumb").forEach((one) => { one.onclick = () => { by("shot").src = one.src; }; });

  reviewsBefore(document.querySelector("#reviews .spin"), data.reviews, (review) => {
    const item = make("div", "", "rv");
    item.append(make("b", review.title), make("span", ` ${review.rating}`), make("p", review.text));
    return item;
  }, "There are no reviews.");
})();
