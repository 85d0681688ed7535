// Find what lies over the page, use its safest button or take it out of view, and say what was done.
async function ({ words, most }) {
  const lower = (text) => (text || "").replace(/\s+/g, " ").trim().toLowerCase();
  const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  const named = /cookie|consent|gdpr|onetrust|didomi|usercentrics|truste|newsletter|popup|pop-up|modal|overlay|lightbox/i;
  const strong = /cookie|consent|gdpr|onetrust|didomi|usercentrics|truste/i;
  // At the beginning of a word, as "order" is in "order now" and not in "border"; some scripts have no blanks.
  const forbidden = new RegExp(words.never.map((word) =>
    (/^[\p{Script=Latin}' ]+$/u.test(word) ? "(?<!\\p{L})" : "") + word).join("|"), "u");
  const view = { width: innerWidth, height: innerHeight };

  const visible = (element) => {
    if (!element.isConnected) return false;
    const box = element.getBoundingClientRect();
    if (box.width < 4 || box.height < 4) return false;
    if (box.bottom <= 0 || box.top >= view.height || box.right <= 0 || box.left >= view.width) return false;
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  };
  const nameOf = (element) => `${element.id} ${element.getAttribute("class") || ""}`;
  const isDialog = (element) =>
    element.matches("dialog[open], [role=dialog], [role=alertdialog], [aria-modal=true]");
  const liesOver = (element) => {
    const style = getComputedStyle(element);
    return style.position === "fixed" || style.position === "sticky" || isDialog(element) ||
      (style.position === "absolute" && Number(style.zIndex) > 10);
  };
  const share = (element) => {
    const box = element.getBoundingClientRect();
    const width = Math.max(0, Math.min(box.right, view.width) - Math.max(box.left, 0));
    const height = Math.max(0, Math.min(box.bottom, view.height) - Math.max(box.top, 0));
    return (width * height) / (view.width * view.height);
  };
  // The page itself, or a large part of it, is no banner, however it is placed.
  const holdsThePage = (element) =>
    element === dom.body() || element === dom.root() || element.matches("main, article, nav") ||
    element.querySelector("main, article, h1, [itemtype*='schema.org/Product']") !== null;

  const everything = [];
  const collect = (root) => {
    for (const element of dom.all(root, "*")) {
      if (everything.length >= 30000) return;
      // A form whose fields are called like its own methods can't be asked anything; no banner is like that.
      if (element instanceof HTMLFormElement && typeof element.matches !== "function") continue;
      everything.push(element);
      if (dom.tree(element)) collect(dom.tree(element));
    }
  };
  collect(dom.body() || dom.root());

  const subject = (element, text) => {
    if (words.cookies.some((phrase) => text.includes(phrase))) return "cookies";
    if (words.newsletter.some((phrase) => text.includes(phrase))) return "newsletter";
    if (strong.test(nameOf(element)) && text.includes("cookie")) return "cookies";
    return isDialog(element) && share(element) > 0.2 ? "window" : "";
  };
  const buttonText = (element) =>
    lower(element.innerText) || lower(element.value) || lower(element.getAttribute("aria-label")) || lower(element.title);
  const isSafe = (element) => {
    if (element.disabled || !visible(element)) return false;
    const link = element.closest("a[href]");
    if (link) {
      const href = link.getAttribute("href").trim();
      if (!(href === "" || href.startsWith("#") || /^javascript:(void|;|\/\/)/i.test(href))) return false;
    }
    const type = (element.getAttribute("type") || "").toLowerCase();
    const sends = element.form && element.form.getAttribute("method") !== "dialog" &&
      (type === "submit" || type === "image" || (element.tagName === "BUTTON" && type === ""));
    const said = `${buttonText(element)} ${lower(element.getAttribute("aria-label"))}`;
    return !sends && !forbidden.test(said);
  };
  const starts = (text, phrase) => text === phrase || (text.startsWith(`${phrase} `) && text.length <= phrase.length + 24);
  const choose = (banner, about) => {
    const inside = [];
    const look = (root) => {
      for (const element of root.querySelectorAll("button, [role=button], input[type=button], a, [aria-label], [class*=close]")) {
        inside.push(element);
      }
      for (const element of root.querySelectorAll("*")) if (element.shadowRoot) look(element.shadowRoot);
    };
    look(banner);
    if (banner.shadowRoot) look(banner.shadowRoot);
    const safe = inside.slice(0, 200).filter(isSafe);
    const kinds = about === "cookies" ? ["reject", "close", "accept"] : ["close", "reject"];
    for (const kind of kinds) {
      for (const element of safe) {
        const texts = [buttonText(element), lower(element.getAttribute("aria-label"))].filter(Boolean);
        if (texts.some((text) => words[kind].some((phrase) => starts(text, phrase)))) return element;
      }
    }
    if (about === "cookies") return null;
    return safe.find((element) => buttonText(element) === "" && /(^|[-_ ])close/i.test(nameOf(element))) || null;
  };
  const hide = (element) => element.style.setProperty("display", "none", "important");

  const candidates = [];
  for (const element of everything) {
    if (!(element instanceof HTMLElement)) continue;
    const over = liesOver(element);
    if (!over && !strong.test(nameOf(element))) continue;
    if (!visible(element) || holdsThePage(element)) continue;
    if (candidates.some((other) => other.element.contains(element))) continue;
    if (element.tagName === "IFRAME" || (element.querySelector("iframe") && lower(element.innerText) === "")) {
      const frame = element.tagName === "IFRAME" ? element : element.querySelector("iframe");
      const said = `${nameOf(element)} ${nameOf(frame)} ${frame.title} ${frame.src}`;
      if (over && /cookie|consent|gdpr|sp_message|privacy-mgmt|trustarc/i.test(said)) {
        candidates.push({ element, about: "cookies", over, frame: true });
      }
      continue;
    }
    let text = lower(element.innerText);
    if (element.shadowRoot) for (const child of element.shadowRoot.children) text += ` ${lower(child.innerText)}`;
    if (text.length > 4000 || (text === "" && !named.test(nameOf(element)))) continue;
    const about = subject(element, text);
    if (about) candidates.push({ element, about, over, frame: false });
  }

  const done = [];
  for (const { element, about, over, frame } of candidates.slice(0, most)) {
    if (!visible(element)) continue;
    const button = frame ? null : choose(element, about);
    if (button) {
      const said = buttonText(button).slice(0, 60) || "close";
      button.click();
      for (let wait = 0; wait < 8 && visible(element); wait += 1) await sleep(50);
      if (!visible(element)) { done.push(`${about}: pressed '${said}'`); continue; }
      if (over && about !== "window") { hide(element); done.push(`${about}: pressed '${said}', then hidden`); continue; }
      done.push(`${about}: pressed '${said}', and it stayed`);
      continue;
    }
    if (over && about !== "window") { hide(element); done.push(`${about}: hidden`); }
  }
  if (done.length) {
    // What made the page behind a banner dark, and kept it from being scrolled.
    for (const element of everything) {
      if (!(element instanceof HTMLElement) || !visible(element) || holdsThePage(element)) continue;
      if (getComputedStyle(element).position === "fixed" && share(element) > 0.9 && lower(element.innerText) === "" &&
          !element.querySelector("img, video, canvas, iframe, input")) hide(element);
    }
    for (const element of [dom.root(), dom.body()]) {
      if (element && getComputedStyle(element).overflowY === "hidden") {
        element.style.setProperty("overflow-y", "auto", "important");
        if (getComputedStyle(element).position === "fixed") element.style.setProperty("position", "static", "important");
      }
    }
  }
  return done;
}
