// What stays in view wherever one scrolls is taken out of the picture: it has been seen once.
function () {
  for (const element of dom.all(document, "body *").slice(0, 30000)) {
    if (getComputedStyle(element).position === "fixed" && element.style) {
      element.style.setProperty("visibility", "hidden", "important");
      element.style.setProperty("transition", "none", "important");
    }
  }
}
