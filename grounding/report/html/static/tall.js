// A list of rows of one height of which only those in sight exist. Browsers draw nothing taller than some ten million
// pixels: a longer list scrolls row by row when it is moved a little, and by its share of the whole when it is moved far.
const TALLEST_PX = 8_000_000;

class Tall {
  constructor(view, inner, draw) {
    Object.assign(this, { view, inner, draw, count: 0, rowPx: 1, top: 0, last: 0, waiting: false, made: new Map() });
    view.addEventListener("scroll", () => {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.scrolled(); });
    }, { passive: true });
    new ResizeObserver(() => this.show()).observe(view);
    view.addEventListener("keydown", (event) => {
      if (this.whole || (event.key !== "Home" && event.key !== "End") || event.target !== view) return;
      event.preventDefault();
      this.go(event.key === "Home" ? 0 : this.most);
    });
  }
  get total() { return this.count * this.rowPx; }
  get whole() { return this.total <= TALLEST_PX; }
  get height() { return Math.min(this.total, TALLEST_PX); }
  get most() { return Math.max(0, this.total - this.view.clientHeight); }
  get share() { return Math.max(1, this.height - this.view.clientHeight) / Math.max(1, this.most); }
  // Everything is drawn anew; the place in the list stays as far as it is still there.
  fill(count, rowPx) {
    this.clear();
    this.count = count;
    this.rowPx = rowPx;
    this.inner.style.height = `${this.height}px`;
    this.go(this.top);
  }
  // The list has got longer or shorter; rows for which this holds are drawn again, the others stand where they stood.
  extend(count, wanted) {
    this.count = count;
    this.inner.style.height = `${this.height}px`;
    for (const [place, row] of this.made) if (place >= count || wanted(row, place)) { row.remove(); this.made.delete(place); }
  }
  clear() {
    for (const row of this.made.values()) row.remove();
    this.made.clear();
  }
  go(top) {
    this.top = Math.min(Math.max(0, top), this.most);
    this.view.scrollTop = this.whole ? this.top : this.top * this.share;
    this.last = this.view.scrollTop;
    this.show();
  }
  reveal(place) {
    const top = place * this.rowPx, height = this.view.clientHeight;
    if (top < this.top) this.go(top);
    else if (top + this.rowPx > this.top + height) this.go(top + this.rowPx - height);
  }
  scrolled() {
    const now = this.view.scrollTop, moved = now - this.last;
    if (this.whole) this.top = now;
    else if (moved) {
      const near = Math.abs(moved) <= 2 * this.view.clientHeight;
      this.top = Math.min(this.most, Math.max(0, near ? this.top + moved : now / this.share));
      clearTimeout(this.settling);
      // The bar must not come to an end before the list does, and stands at its share of the whole in the end.
      const end = now <= 0 || now >= this.height - this.view.clientHeight - 1;
      if (near && end) { this.go(this.top); return; }
      this.settling = setTimeout(() => this.go(this.top), 150);
    }
    this.last = now;
    this.show();
  }
  show() {
    const spare = 6, shift = this.whole ? 0 : this.last - this.top;
    const first = Math.max(0, Math.floor(this.top / this.rowPx) - spare);
    const last = Math.min(this.count, Math.ceil((this.top + this.view.clientHeight) / this.rowPx) + spare);
    for (const [place, row] of this.made) if (place < first || place >= last) { row.remove(); this.made.delete(place); }
    for (let place = first; place < last; place += 1) {
      let row = this.made.get(place);
      if (!row) {
        row = this.draw(place);
        this.made.set(place, row);
        this.inner.append(row);
      }
      row.style.top = `${place * this.rowPx + shift}px`;
    }
    if (this.shown) this.shown();
  }
  // The rows for which this holds are drawn again.
  again(wanted) {
    for (const [place, row] of this.made) if (wanted(row)) { row.remove(); this.made.delete(place); }
    this.show();
  }
}
