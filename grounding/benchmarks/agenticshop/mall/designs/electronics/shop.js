"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const letter = $("letter");
  if (letter && !sessionStorage.getItem("letter")) setTimeout(() => {
    const shown = letter.content.firstElementChild.cloneNode(true);
    document.body.append(shown);
    for (const way of shown.querySelectorAll(".x, .no")) way.onclick = () => {
      sessionStorage.setItem("letter", "seen");
      shown.remove();
    };
  }, 600);

  if (!$("data")) return;
  const data = JSON.parse($("data").textContent);
  // The price isn't in the document: it is written here, again for every choice.
  const show = (number) => {
    const form = data.forms[number];
    $("price").textContent = form.price;
    $("was").textContent = form.was;
    $("stock").textContent = form.stock;
    $("stock").className = form.soldOut ? "stock off" : "stock";
    $("shipping").textContent = form.shipping;
    $("total").textContent = form.total;
    $("cart").disabled = form.soldOut;
    document.querySelectorAll("#forms button").forEach((one, place) => one.setAttribute("aria-pressed", place === number));
  };
  if ($("forms")) data.forms.forEach((form, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = form.name;
    if (form.soldOut) button.className = "off";
    button.onclick = () => show(number);
    $("forms").append(button);
  });
  show(data.chosen);
  document.querySelectorAll(".thumb").forEach((one) => { one.onclick = () => { $("shot").src = one.src; }; });

  const place = $("reviews"), mark = place.querySelector(".spin");
  let next = 0;
  const watch = new IntersectionObserver(async (entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    const got = await (await fetch(`${data.reviews}?from=${next}`)).json();
    for (const review of got.reviews) {
      const item = document.createElement("div");
      item.className = "rv";
      for (const [tag, text] of [["b", review.title], ["span", ` ${review.rating}`], ["p", review.text]])
        item.append(Object.assign(document.createElement(tag), { textContent: text }));
      place.insertBefore(item, mark);
    }
    next = got.next;
    if (next === null) mark.textContent = place.querySelector(".rv") ? "" : "There are no reviews.";
    else watch.observe(mark);
  });
  watch.observe(mark);
})();
