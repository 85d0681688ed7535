// Ways to the document that a page's own names can't stand in: <form name="body"> would be document.body otherwise.
const dom = {
  read: (kind, name, object = document) => Object.getOwnPropertyDescriptor(kind.prototype, name).get.call(object),
  all: (root, selector) => {
    const kind = root instanceof Document ? Document : root instanceof Element ? Element : DocumentFragment;
    return [...kind.prototype.querySelectorAll.call(root, selector)];
  },
  root: () => dom.read(Document, "documentElement"),
  body: () => dom.read(Document, "body"),
  frame: () => new Promise((resolve) => {
    const late = setTimeout(resolve, 1000);
    requestAnimationFrame(() => { clearTimeout(late); resolve(); });
  }),
  // Two frames, after which what is in view is known, and until the page has done all that it does upon that: observers
  // are told by a task of its own, which on a busy machine comes later than the next frame.
  seen: async () => {
    await dom.frame();
    await dom.frame();
    await new Promise((resolve) => requestIdleCallback(resolve, { timeout: 1000 }));
  },
  // Whether it can be asked as any element: the fields of a form stand in for what they are called like.
  plain: (element) => element instanceof HTMLElement && typeof element.innerText === "string"
    && element.style instanceof CSSStyleDeclaration
    && ["matches", "querySelector", "checkVisibility"].every((name) => element[name] === HTMLElement.prototype[name]),
  tree: (element) => dom.read(Element, "shadowRoot", element),
  height: () => {
    const heights = [dom.root(), dom.body()].map((each) => (each ? dom.read(Element, "scrollHeight", each) : 0));
    return Math.ceil(Math.max(...heights));
  },
  // All open shadow trees, those within others too, outer ones first.
  trees: () => {
    const found = [];
    const look = (from) => {
      for (const element of dom.all(from, "*")) {
        const tree = found.length < 2000 ? dom.tree(element) : null;
        if (tree) { found.push(tree); look(tree); }
      }
    };
    look(document);
    return found;
  },
};

const page = {
  // What is painted by now has told observers that it is in view. Whether the page has loaded.
  async frames() {
    await dom.seen();
    return dom.read(Document, "readyState") === "complete";
  },
  // From now on the page stays where it is: it is about to be looked at.
  freeze() {
    navigation.addEventListener("navigate", (event) => {
      if (event.cancelable && !event.hashChange) event.preventDefault();
    }, true);
    addEventListener("submit", (event) => { event.preventDefault(); event.stopImmediatePropagation(); }, true);
  },
  // Go to a height at once, whatever the page thinks of smoothness, and stay until what comes into view is told so; where
  // that led, and how tall the page now is.
  async scroll(top) {
    window.scrollTo({ top, left: 0, behavior: "instant" });
    await dom.seen();
    return { top: Math.round(window.scrollY), height: dom.height() };
  },
  // Movement comes to its end, and pictures that have come are ready to be painted.
  async settle() {
    for (const animation of Document.prototype.getAnimations.call(document)) {
      try { animation.finish(); } catch { animation.cancel(); }
    }
    for (const video of dom.all(document, "video")) video.pause();
    const wait = new Promise((resolve) => setTimeout(resolve, 1500));
    const pictures = dom.all(document, "img").slice(0, 400).filter((each) => each.complete && each.naturalWidth);
    const ready = [dom.read(Document, "fonts").ready, ...pictures.map((each) => each.decode())];
    await Promise.race([wait, Promise.allSettled(ready)]);
  },
  // All that is kept of the document: where it is, its title, how tall it is in CSS pixels, what can be read, and itself.
  async kept({ text, html }) {
    window.scrollTo({ top: 0, left: 0, behavior: "instant" });
    await page.settle();
    // Halves of characters can be kept in no file.
    const title = dom.read(Document, "title").slice(0, 500).toWellFormed();
    return { url: location.href, title, height: dom.height(), text: page.text(text), html: page.html(html) };
  },
  // What can be read: the rendered text of the document, then that of open shadow trees, which it does not have in it.
  text(limit) {
    const read = (element) => dom.read(HTMLElement, "innerText", element);
    const body = dom.body() || dom.root();
    const parts = [body instanceof HTMLElement ? read(body) : (body ? body.textContent : "")];
    let length = parts[0].length;
    for (const tree of dom.trees()) {
      for (const child of tree.children) {
        if (length > limit) break;
        if (!(child instanceof HTMLElement) || ["STYLE", "SCRIPT", "TEMPLATE"].includes(dom.read(Element, "tagName", child))) continue;
        const text = read(child);
        if (text.trim()) { parts.push(text); length += text.length; }
      }
    }
    const whole = parts.join("\n");
    return { text: whole.slice(0, limit).toWellFormed(), cut: whole.length > limit };
  },
  // The document as it now stands, open shadow trees written out; only its length where that is above the limit.
  html(limit) {
    const root = dom.root();
    if (!root) return { length: 0, html: "" };
    const trees = dom.trees();
    let written = dom.read(Element, "outerHTML", root);
    if (trees.length && root.getHTML) {
      const opening = root.cloneNode(false).outerHTML.replace(/<\/html>$/i, "");
      written = opening + root.getHTML({ shadowRoots: trees }) + "</html>";
    }
    const html = (dom.read(Document, "doctype") ? "<!DOCTYPE html>\n" : "") + written;
    return { length: html.length, html: html.length > limit ? "" : html };
  },
  // Take out of view what lies over the page: banners that speak of cookies or a newsletter, and windows that want an
  // answer first. Nothing is pressed. Returns what each was about.
  banners() {
    const cookies = new RegExp("(use[sd]?|using|accept|manage|allow|verwende\\w*|nutze\\w*|utilis\\w+|utiliz\\w+|usa(mos|ndo)?|"
      + "gebruik\\w*|u\u017cywa\\w*|anv\u00e4nder|bruger|bruker) (\\S+ ){0,2}(cookies?|kakor)|cookie[ -]?(policy|notice|settings|"
      + "preferences|consent)|this site uses|your (privacy|consent)|ihre privatsph|vie priv\u00e9e|privacidad|"
      + "\u30af\u30c3\u30ad\u30fc|cookie ?\u3092|ev\u00e4ste", "i");
    const newsletter = /newsletter|(sign|stay|join|subscribe)\b.{0,30}\b(emails?|list|loop|save)|off your (first|next) order|nieuwsbrief/i;
    const sells = /add to (cart|bag|basket)|buy now|in den warenkorb/i;
    const all = dom.all(document, "body *").concat(...dom.trees().map((tree) => dom.all(tree, "*"))).slice(0, 30000);
    const style = (element) => getComputedStyle(element);
    const box = (element) => Element.prototype.getBoundingClientRect.call(element);
    const share = (element) => {
      const { left, right, top, bottom } = box(element);
      const width = Math.min(right, innerWidth) - Math.max(left, 0), height = Math.min(bottom, innerHeight) - Math.max(top, 0);
      return width > 4 && height > 4 ? (width * height) / (innerWidth * innerHeight) : 0;
    };
    const asks = (element) => element.matches("dialog[open], [role=dialog], [role=alertdialog], [aria-modal=true]");
    const liesOver = (element) => {
      const { position, zIndex } = style(element);
      return position === "fixed" || position === "sticky" || (position === "absolute" && Number(zIndex) > 10) || asks(element);
    };
    // The page itself, or a large part of it, is no banner, however it is placed.
    const holdsThePage = (element) => element.matches("main, article, nav, header")
      || element.querySelector("main, article, nav, h1, [itemtype*='schema.org/Product']");
    const hide = (element) => element.style.setProperty("display", "none", "important");
    const done = [];
    for (const element of all) {
      if (!dom.plain(element) || !liesOver(element)) continue;
      if (!share(element) || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      if (holdsThePage(element)) continue;
      const frame = element.matches("iframe") ? element : element.querySelector("iframe");
      const named = `${element.id} ${element.className} ${frame ? `${frame.id} ${frame.title} ${frame.src}` : ""}`;
      const text = element.innerText + [...(dom.tree(element)?.children || [])].map((child) => child.innerText || "").join(" ");
      if (text.length > 4000 || sells.test(text)) continue;
      const about = cookies.test(text) || (frame && /cookie|consent|gdpr|privacy-mgmt/i.test(named)) ? "cookies"
        : newsletter.test(text) ? "newsletter" : asks(element) && share(element) > 0.2 ? "window" : "";
      if (about) { hide(element); done.push(about); }
    }
    // What made the page behind a banner dark, and kept it from being scrolled.
    for (const element of done.length ? all : []) {
      if (dom.plain(element) && style(element).position === "fixed" && share(element) > 0.9
          && !holdsThePage(element) && element.innerText.trim() === ""
          && !element.querySelector("img, video, canvas, iframe, input")) hide(element);
    }
    for (const element of done.length ? [dom.root(), dom.body()] : []) {
      if (element && style(element).overflowY === "hidden") element.style.setProperty("overflow-y", "auto", "important");
      if (element && style(element).position === "fixed") element.style.setProperty("position", "static", "important");
    }
    return done;
  },
};
globalThis.grounding = page;
