"use strict";
const veil = document.getElementById("veil");
if (document.cookie.includes("consent=")) veil?.remove();
document.querySelectorAll("[data-consent]").forEach((button) => button.addEventListener("click", () => {
  document.cookie = "consent=chosen; path=/; max-age=86400; samesite=lax";
  veil.remove();
}));

const known = document.getElementById("product-data");
if (known) {
  const { forms } = JSON.parse(known.textContent);
  document.querySelectorAll("input[name=form]").forEach((input) => input.addEventListener("change", () => {
    const form = forms[Number(input.value)];
    document.getElementById("price").innerText = form.price;
    document.getElementById("was").innerText = form.was;
    document.getElementById("shipping").innerText = form.shipping;
    document.getElementById("stock").innerText = form.stock;
    document.getElementById("buy").disabled = form.soldOut;
  }));
}
