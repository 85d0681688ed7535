// Movement comes to its end, and pictures that have come are ready to be painted. Returns how many pixels at the bottom
// of the view are covered by a bar that stays there.
async function () {
  for (const animation of Document.prototype.getAnimations.call(document)) {
    try { animation.finish(); } catch { animation.cancel(); }
  }
  for (const video of dom.all(document, "video")) video.pause();
  const wait = new Promise((resolve) => setTimeout(resolve, 1500));
  const pictures = dom.all(document, "img").slice(0, 400).filter((each) => each.complete && each.naturalWidth);
  const ready = [dom.read(Document, "fonts").ready, ...pictures.map((each) => each.decode())];
  await Promise.race([wait, Promise.allSettled(ready)]);
  let covered = 0;
  for (const element of dom.all(document, "body *").slice(0, 30000)) {
    if (getComputedStyle(element).position !== "fixed") continue;
    const box = Element.prototype.getBoundingClientRect.call(element);
    const atBottom = Math.abs(box.bottom - innerHeight) < 2 && box.width > innerWidth / 2;
    if (atBottom && box.height < innerHeight / 3 && Element.prototype.checkVisibility.call(element)) {
      covered = Math.max(covered, Math.ceil(box.height));
    }
  }
  return covered;
}
