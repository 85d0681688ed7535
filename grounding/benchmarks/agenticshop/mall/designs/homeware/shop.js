"use strict";
const veil = by("veil");
if (document.cookie.includes("consent=")) veil?.remove();
document.querySelectorAll("[data-consent]").forEach((button) => button.addEventListener("click", () => {
  document.cookie = "consent=chosen; path=/; max-age=86400; samesite=lax";
  veil.remove();
}));

if (by("product-data")) {
  const { forms } = JSON.parse(by("product-data").textContent);
  document.querySelectorAll("input[name=form]").forEach((input) => input.addEventListener("change", () => {
    showForm(forms[Number(input.value)]);
    by("buy").disabled = forms[Number(input.value)].soldOut;
  }));
}
