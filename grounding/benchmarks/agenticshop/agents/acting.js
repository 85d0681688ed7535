// What acting.py asks of a page: an expression, so that a call of one of its functions can stand behind it.
{
  // Where the view is in the page: its top, its height and that of the whole page, in CSS pixels.
  place: () => [scrollY, innerHeight, (document.scrollingElement || document.documentElement).scrollHeight],
  // What can be used at a point of the view, null for nothing.
  atPoint: ([x, y]) => {
    const node = document.elementFromPoint(x, y);
    const used = node
      && node.closest("a, button, input, select, textarea, summary, label, [role], [onclick], [tabindex]");
    return used || (node && getComputedStyle(node).cursor === "pointer" ? node : null);
  },
  // The fields of a PageElement that the document tells.
  detail: (node) => {
    const text = (said, most) => String(said || "").replace(/\s+/g, " ").trim().slice(0, most);
    const marks = (one) => text(`type=${one.type || ""} autocomplete=${one.autocomplete || ""}`, 120)
      + ` ${text(`${one.name || ""} ${one.id || ""}`, 120)}`;
    const choice = node.matches("select");
    const field = node.matches("textarea, [contenteditable=true], input:not([type=button], [type=submit], "
      + "[type=image], [type=reset], [type=checkbox], [type=radio], [type=range], [type=color], [type=file])");
    const form = node.form || node.closest("form");
    const sends = form && node.matches("button:not([type=button]), textarea, input:not([type=button])");
    const link = node.closest("a[href]");
    const said = choice || field ? "" : node.innerText || node.value;
    return {
      kind: choice ? "choice" : field ? "field" : "",
      tag: text(node.tagName, 20).toLowerCase(),
      label: text(node.getAttribute("aria-label") || (node.labels && node.labels[0] && node.labels[0].innerText) || said
        || node.placeholder || node.title || node.alt, 200),
      marks: marks(node),
      form: sends && (field || !choice) ? [...form.elements].slice(0, 40).map(marks).join("\n") : "",
      scheme: link ? text(link.protocol, 30) : "",
      disabled: node.matches(":disabled, [aria-disabled=true]"),
    };
  },
}
