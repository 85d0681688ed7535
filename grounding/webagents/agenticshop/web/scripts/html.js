// The document as it now stands, open shadow trees written out; only its length where that is above the limit.
function (limit) {
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
}
