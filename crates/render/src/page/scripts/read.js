// Reads a page from a world of its own, where the page's scripts cannot replace what this one uses.
(() => {
  const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'param',
    'source', 'track', 'wbr']);
  const RAW = new Set(['script', 'style', 'xmp', 'plaintext']);
  const MOST_LINKS = 5000;
  const LONGEST_LINK = 4096;
  const seen = new Set();

  const frameBody = element => {
    try {
      return element.contentDocument && element.contentDocument.body;
    } catch {
      return null;
    }
  };

  // Children as they are shown: shadow roots replace them, slots show what was put into them.
  const children = node => {
    if (node.shadowRoot) return node.shadowRoot.childNodes;
    if (node.localName === 'template' && node.content) return node.content.childNodes;
    if (node.localName === 'slot' && node.assignedNodes) {
      const assigned = node.assignedNodes();
      if (assigned.length > 0) return assigned;
    }
    return node.childNodes;
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
      } else if (item.nodeType === 3) {
        const parent = item.parentNode && item.parentNode.localName;
        text = RAW.has(parent) ? item.data : inText(item.data);
      } else if (item.nodeType === 1 && item.localName !== 'noscript') {
        const name = item.localName;
        text = '<' + name;
        for (const attribute of item.attributes) text += ` ${attribute.name}="${inAttribute(attribute.value)}"`;
        text += '>';
        // What is pushed last is written first.
        const body = (name === 'iframe' || name === 'frame') && frameBody(item);
        if (body) {
          stack.push('</div>');
          pushAll(stack, body.childNodes);
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
      for (const element of node.querySelectorAll('*')) {
        yield element;
        if (element.shadowRoot) stack.push(element.shadowRoot);
        const body = (element.localName === 'iframe' || element.localName === 'frame') && frameBody(element);
        if (body) stack.push(body);
      }
    }
  };

  const links = () => {
    const found = new Set();
    for (const element of elements(document)) {
      if (element.localName !== 'a' && element.localName !== 'area') continue;
      const target = element.href;
      if (typeof target === 'string' && /^https?:/.test(target) && target.length <= LONGEST_LINK) found.add(target);
    }
    return found;
  };

  globalThis.clewline = {
    size: () => document.getElementsByTagName('*').length,
    note: () => {
      for (const link of links()) if (seen.size < MOST_LINKS) seen.add(link);
    },
    scroll: () => {
      const height = document.documentElement ? document.documentElement.scrollHeight : 0;
      window.scrollTo(0, height);
      for (const element of elements(document)) {
        if (element.scrollHeight > element.clientHeight + 50 && element.clientHeight > 100) {
          element.scrollTop = element.scrollHeight;
        }
      }
      return height * 1000 + document.getElementsByTagName('*').length;
    },
    top: () => window.scrollTo(0, 0),
    click: selector => {
      const element = document.querySelector(selector);
      if (element) element.click();
      return Boolean(element);
    },
    height: () => document.documentElement.scrollHeight,
    // `from` is where the page came from: its links are relative to where scripts took it since.
    read: (limit, from) => {
      const now = links();
      const passing = [...seen].filter(link => !now.has(link));
      const root = document.documentElement;
      const { html, truncated } = root ? write(root, limit) : { html: '', truncated: false };
      const isMoved = document.baseURI.split('#')[0] !== from && !document.querySelector('base[href]');
      const base = isMoved ? `<base href="${inAttribute(document.baseURI)}">` : '';
      const based = base ? html.replace(/<head[^>]*>/, head => head + base) : html;
      return { html: '<!DOCTYPE html>\n' + based, truncated, title: document.title || null, passing };
    },
  };
})();
