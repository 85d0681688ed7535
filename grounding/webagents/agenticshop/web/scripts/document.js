// What kind of document this is, how tall it is in CSS pixels, and its title.
function () {
  return {
    contentType: dom.read(Document, "contentType"),
    url: location.href,
    title: dom.read(Document, "title").slice(0, 500),
    height: dom.height(),
  };
}
