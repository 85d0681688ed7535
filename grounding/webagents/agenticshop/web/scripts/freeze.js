// From now on the page stays where it is: it is about to be looked at.
function () {
  if (globalThis.frozen) return;
  globalThis.frozen = true;
  if (window.navigation) {
    navigation.addEventListener("navigate", (event) => {
      if (event.cancelable && !event.hashChange) event.preventDefault();
    }, true);
  }
  addEventListener("submit", (event) => { event.preventDefault(); event.stopImmediatePropagation(); }, true);
}
