// Go to a height at once, whatever the page thinks of smoothness; where that led, and how tall the page now is.
function (top) {
  window.scrollTo({ top, left: 0, behavior: "instant" });
  return { top: Math.round(window.scrollY), height: dom.height() };
}
