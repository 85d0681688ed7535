// What can be read: the rendered text of the document, then that of open shadow trees, which it does not have in it.
function (limit) {
  const read = (element) => dom.read(HTMLElement, "innerText", element);
  const body = dom.body() || dom.root();
  const parts = [body instanceof HTMLElement ? read(body) : (body ? body.textContent : "")];
  let length = parts[0].length;
  for (const tree of dom.trees()) {
    for (const child of tree.children) {
      if (length > limit) break;
      if (!(child instanceof HTMLElement) || child.matches("style, script, template")) continue;
      const text = read(child);
      if (text.trim()) { parts.push(text); length += text.length; }
    }
  }
  const whole = parts.join("\n");
  return { text: whole.slice(0, limit), cut: whole.length > limit };
}
