// A product's evidence: its address, pictures, facts and text. Used to look at verdicts, and to label without them.
function pairs(values, more) {
  return el("dl", { class: "facts", ...(more || {}) }, values.flatMap((one) => [text("dt", one.name), text("dd", one.text)]));
}
const address = (url, link) => (link
  ? el("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, [url])
  : text("span", url || "no address", { class: "url" }));
const classBadge = (kind) => text("span", kind, { class: `badge class-${kind.replace(" ", "-")}` });

// The chosen segment in full, with the place that a verdict rests on; the small picture lies under it.
function viewer(product, view, choose) {
  const segments = product.segments || [];
  if (!segments.length) return text("p", "No pictures of this page were kept.", { class: "muted" });
  const at = Math.min(view.segment, segments.length - 1), one = segments[at];
  const box = view.box && view.boxSegment === at ? view.box : null;
  const marks = box ? ["halo", "region"].map((kind) => svg("rect", {
    class: kind, x: box.left_px, y: box.top_px, width: Math.max(1, box.right_px - box.left_px), height: Math.max(1, box.bottom_px - box.top_px),
  })) : [];
  const size = { width: one.width, height: one.height, preserveAspectRatio: "none" };
  const picture = svg("svg", { class: "picture", viewBox: `0 0 ${one.width} ${one.height}`, role: "img", "aria-label": `Part ${at + 1} of the page` }, [
    small(one) ? svg("image", { ...size, href: small(one) }) : null,
    one.full ? svg("image", { ...size, href: one.full }) : null, marks]);
  const thumbs = segments.map((each, place) => el("button", {
    type: "button", class: "thumb", "aria-pressed": String(place === at), "aria-label": `Part ${place + 1}, from ${each.top_px} px`,
    onclick: () => choose(place),
  }, [small(each) || each.full
    ? el("img", { src: small(each) || each.full, alt: "", loading: "lazy", width: 96 }) : `part ${place + 1}`]));
  return el("figure", { class: "viewer" }, [
    segments.length > 1 ? el("div", { class: "thumbs" }, thumbs) : null, picture,
    el("figcaption", {}, [`part ${at + 1} of ${segments.length}, from ${number(one.top_px)} px`,
      one.full ? [" · ", el("a", { href: one.full, target: "_blank" }, ["full size"])] : null])]);
}

function factRows(product) {
  const facts = product.facts || [];
  if (!facts.length) return text("p", "No facts of a product were read from this page.", { class: "muted" });
  return el("table", { class: "read" }, [el("tbody", {}, facts.map((fact) => el("tr", {}, [
    text("th", fact.name, { scope: "row" }), el("td", { class: "long" }, [text("span", fact.text)]),
    el("td", { class: "from" }, [fact.source ? text("span", fact.source, { class: "tag" }) : null,
      fact.quote && fact.quote !== fact.text ? text("q", fact.quote) : null]),
  ])))]);
}

function pageText(product, found) {
  const pieces = product.text || [];
  if (!pieces.length) return text("p", "No text of this page was kept.", { class: "muted" });
  const parts = [];
  pieces.forEach((piece, place) => {
    if (place) parts.push(text("span", " […] ", { class: "gap-mark" }));
    if (found && found[0] === place) {
      parts.push(piece.text.slice(0, found[1]), text("mark", piece.text.slice(found[1], found[2])), piece.text.slice(found[2]));
    } else parts.push(piece.text);
  });
  if (product.text_more) parts.push(text("span", ` … ${number(product.text_more)} characters are not shown`, { class: "gap-mark" }));
  return el("pre", { class: "pagetext", tabindex: "0" }, parts);
}

function visited(product) {
  const extra = product.page || [], lost = extra.find((one) => one.name === "no page");
  return el("div", {}, [
    el("p", { class: "where" }, [address(product.url, product.link)]),
    extra.length ? el("details", {}, [text("summary", "how it was fetched"), pairs(extra)]) : null,
    lost ? text("p", lost.text, { class: "wrong" }) : null,
    product.failure ? text("p", product.failure, { class: "wrong" }) : null]);
}
