// Ways to the document that a page's own names can't stand in: <form name="body"> would be document.body otherwise.
const dom = {
  read: (kind, name, object = document) => Object.getOwnPropertyDescriptor(kind.prototype, name).get.call(object),
  all: (root, selector) => {
    const kind = root instanceof Document ? Document : root instanceof Element ? Element : DocumentFragment;
    return [...kind.prototype.querySelectorAll.call(root, selector)];
  },
  root: () => dom.read(Document, "documentElement"),
  body: () => dom.read(Document, "body"),
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
