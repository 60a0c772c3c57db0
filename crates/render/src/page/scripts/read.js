// Reads a page from a world of its own, where the page's scripts cannot replace what this one uses.
(() => {
  const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'param',
    'source', 'track', 'wbr']);
  const RAW = new Set(['script', 'style', 'xmp', 'plaintext']);
  const MOST_LINKS = 5000;
  const LONGEST_LINK = 4096;
  const HTML = 'http://www.w3.org/1999/xhtml';
  const seen = new Set();

  PROTOTYPES
  const childNodes = getter(Node, 'childNodes');
  const parentNode = getter(Node, 'parentNode');
  const baseURI = getter(Node, 'baseURI');
  const data = getter(CharacterData, 'data');
  const namespace = getter(Element, 'namespaceURI');
  const attributes = getter(Element, 'attributes');
  const scrollHeight = getter(Element, 'scrollHeight');
  const clientHeight = getter(Element, 'clientHeight');
  const scroll = method(Element, 'scrollTo');
  const assignedNodes = method(HTMLSlotElement, 'assignedNodes');
  const content = getter(HTMLTemplateElement, 'content');
  const body = getter(Document, 'body');
  const title = getter(Document, 'title');
  const rootElement = getter(Document, 'documentElement');
  const elementsByName = method(Document, 'getElementsByTagName');
  const first = method(Document, 'querySelector');
  const targets = { a: getter(HTMLAnchorElement, 'href'), area: getter(HTMLAreaElement, 'href') };
  const documents = { iframe: getter(HTMLIFrameElement, 'contentDocument'),
    frame: getter(HTMLFrameElement, 'contentDocument') };
  // What SVG calls by the same name is something else.
  const htmlName = element => namespace(element) === HTML ? localName(element) : '';

  const frameBody = element => {
    const inner = documents[htmlName(element)];
    const document = inner && inner(element);
    return document && body(document);
  };

  // Children as they are shown: shadow roots replace them, slots show what was put into them.
  const children = node => {
    const shadow = shadowRoot(node);
    if (shadow) return childNodes(shadow);
    const name = htmlName(node);
    if (name === 'template') return childNodes(content(node));
    if (name === 'slot') {
      const assigned = assignedNodes(node);
      if (assigned.length > 0) return assigned;
    }
    return childNodes(node);
  };

  const inText = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  const inAttribute = text => text.replace(/&/g, '&amp;').replace(/"/g, '&quot;');

  // Writes without recursion, because pages may be deeper than a stack.
  const write = (root, limit) => {
    const out = [];
    const stack = [root];
    let length = 0;
    while (stack.length > 0) {
      const item = stack.pop();
      let text = '';
      if (typeof item === 'string') {
        text = item;
      } else if (nodeType(item) === 3) {
        const parent = parentNode(item);
        const isRaw = parent && nodeType(parent) === 1 && RAW.has(localName(parent));
        text = isRaw ? data(item) : inText(data(item));
      } else if (nodeType(item) === 1 && localName(item) !== 'noscript') {
        const name = localName(item);
        text = '<' + name;
        for (const attribute of attributes(item)) text += ` ${attribute.name}="${inAttribute(attribute.value)}"`;
        text += '>';
        // What is pushed last is written first.
        const inner = frameBody(item);
        if (inner) {
          stack.push('</div>');
          pushAll(stack, childNodes(inner));
          stack.push('<div>');
        }
        if (!VOID.has(name)) {
          stack.push(`</${name}>`);
          pushAll(stack, children(item));
        }
      }
      length += text.length;
      if (length > limit) return { html: out.join(''), truncated: true };
      out.push(text);
    }
    return { html: out.join(''), truncated: false };
  };

  const pushAll = (stack, nodes) => {
    for (const node of Array.prototype.slice.call(nodes).reverse()) stack.push(node);
  };

  const elements = function* (root) {
    const stack = [root];
    while (stack.length > 0) {
      const node = stack.pop();
      for (const element of finders[nodeType(node)](node, '*')) {
        yield element;
        const inner = shadowRoot(element) || frameBody(element);
        if (inner) stack.push(inner);
      }
    }
  };

  const links = () => {
    const found = new Set();
    for (const element of elements(document)) {
      const targetOf = targets[htmlName(element)];
      const target = targetOf && targetOf(element);
      if (target && /^https?:/.test(target) && target.length <= LONGEST_LINK) found.add(target);
    }
    return found;
  };

  globalThis.clewline = {
    size: () => elementsByName(document, '*').length,
    note: () => {
      for (const link of links()) if (seen.size < MOST_LINKS) seen.add(link);
    },
    scroll: () => {
      const root = rootElement(document);
      const height = root ? scrollHeight(root) : 0;
      window.scrollTo(0, height);
      for (const element of elements(document)) {
        if (scrollHeight(element) > clientHeight(element) + 50 && clientHeight(element) > 100) {
          scroll(element, 0, scrollHeight(element));
        }
      }
      return height * 1000 + elementsByName(document, '*').length;
    },
    top: () => window.scrollTo(0, 0),
    click: selector => {
      const element = first(document, selector);
      if (element) click(element);
      return Boolean(element);
    },
    height: () => scrollHeight(rootElement(document)),
    // `from` is where the page came from: its links are relative to where scripts took it since.
    read: (limit, from) => {
      const now = links();
      const passing = [...seen].filter(link => !now.has(link));
      const root = rootElement(document);
      const { html, truncated } = root ? write(root, limit) : { html: '', truncated: false };
      const isMoved = baseURI(document).split('#')[0] !== from && !first(document, 'base[href]');
      const base = isMoved ? `<base href="${inAttribute(baseURI(document))}">` : '';
      const based = base ? html.replace(/<head[^>]*>/, head => head + base) : html;
      return { html: '<!DOCTYPE html>\n' + based, truncated, title: title(document) || null, passing };
    },
  };
})();
