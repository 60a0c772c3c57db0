// Runs before the page's own scripts. NAME and CLICKS are put in by whoever sends it.
(() => {
  // A browser without a network says so, and pages give up then.
  Object.defineProperty(Navigator.prototype, 'onLine', { get: () => true, configurable: true });

  // Closed shadow roots are shown like open ones, so they are read like open ones.
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    return attach.call(this, { ...options, mode: 'open' });
  };
  if (!CLICKS) return;

  PROTOTYPES
  const matches = method(Element, 'matches');
  const attribute = method(Element, 'getAttribute');
  const dispatch = method(EventTarget, 'dispatchEvent');
  const target = getter(HTMLAnchorElement, 'href');
  const onclick = getter(HTMLElement, 'onclick');
  const onmousedown = getter(HTMLElement, 'onmousedown');
  const inner = { iframe: getter(HTMLIFrameElement, 'contentWindow'), frame: getter(HTMLFrameElement, 'contentWindow') };
  const look = getComputedStyle;
  const send = method(HTMLFormElement, 'requestSubmit');
  const TYPES = new Set(['click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'mouseover', 'mouseenter',
    'touchstart', 'touchend', 'dblclick', 'keydown', 'keyup', 'focus', 'change', 'input']);
  const MOST_ELEMENTS = 5000;
  const MOST_FIELDS = 200;
  const listening = new Set();
  const born = new Map();
  const clicks = new Map();
  const filled = new Set();
  const submitted = new Set();
  let round = 0;

  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if (this instanceof Element && TYPES.has(type) && listening.size < MOST_ELEMENTS) listening.add(this);
    return listen.call(this, type, ...rest);
  };

  const SELECTOR = 'button,summary,[onclick],[onmousedown],[onmouseover],[role=button],[role=link],[role=tab],' +
    '[role=menuitem],[role=option],input[type=button],input[type=submit],input[type=image],a:not([href]),' +
    'a[href^="#"],a[href^="javascript:" i],a[href=""]';
  const leads = element => element instanceof HTMLAnchorElement && /^https?:/.test(target(element)) &&
    target(element).split('#')[0] !== location.href.split('#')[0];
  const isClickable = element => {
    if (leads(element) || element === document.body || element === document.documentElement) return false;
    if (matches(element, SELECTOR) || listening.has(element) || typeof element.__click === 'function') return true;
    return element instanceof HTMLElement &&
      (typeof onclick(element) === 'function' || typeof onmousedown(element) === 'function');
  };
  const isShown = element => {
    const style = look(element);
    return style.display !== 'none' && style.visibility !== 'hidden';
  };
  const all = function* (root) {
    const stack = [root];
    while (stack.length > 0) {
      const node = stack.pop();
      for (const element of finders[nodeType(node)](node, '*')) {
        yield element;
        if (shadowRoot(element)) stack.push(shadowRoot(element));
      }
    }
  };

  // What appeared last comes first, so that a decoy is not clicked before the door behind it; each
  // element comes a second time, because its handler may be another one by then.
  const next = () => {
    round += 1;
    let best = null;
    for (const element of all(document)) {
      if (!isClickable(element)) continue;
      if (!born.has(element)) {
        if (born.size >= MOST_ELEMENTS) continue;
        born.set(element, round);
      }
      const count = clicks.get(element) || 0;
      const isDisabled = attribute(element, 'disabled') !== null;
      if (count > 1 || isDisabled || !isShown(element)) continue;
      const rank = [count, -born.get(element)];
      if (!best || rank[0] < best.rank[0] || (rank[0] === best.rank[0] && rank[1] < best.rank[1])) {
        best = { element, rank };
      }
    }
    return best && best.element;
  };

  const VALUES = { email: 'search@example.com', number: '1', range: '1', tel: '1', url: 'https://example.com/',
    date: '2020-01-01', text: 'search', search: 'search', '': 'search', textarea: 'search' };
  const fill = () => {
    for (const field of all(document)) {
      if (filled.size >= MOST_FIELDS) return;
      if (!['input', 'textarea', 'select'].includes(localName(field)) || filled.has(field)) continue;
      filled.add(field);
      if (field.disabled || field.readOnly) continue;
      if (field.localName === 'select') {
        if (field.options.length > 1) field.selectedIndex = 1;
      } else {
        const value = VALUES[field.localName === 'textarea' ? 'textarea' : field.type];
        if (value === undefined || field.value) continue;
        // Frameworks hide the property behind one of their own.
        const kind = field.localName === 'textarea' ? HTMLTextAreaElement : HTMLInputElement;
        Object.getOwnPropertyDescriptor(kind.prototype, 'value').set.call(field, value);
      }
      field.dispatchEvent(new Event('input', { bubbles: true }));
      field.dispatchEvent(new Event('change', { bubbles: true }));
    }
  };

  const press = element => {
    const about = { bubbles: true, cancelable: true, composed: true, view: window };
    for (const type of ['pointerover', 'pointerdown', 'pointerup']) {
      if (type === 'pointerover') dispatch(element, new MouseEvent('mouseover', about));
      dispatch(element, new PointerEvent(type, about));
      if (type === 'pointerdown') dispatch(element, new MouseEvent('mousedown', about));
      if (type === 'pointerup') dispatch(element, new MouseEvent('mouseup', about));
    }
    if (element instanceof HTMLElement) click(element);
    else dispatch(element, new MouseEvent('click', about));
  };

  const submit = () => {
    for (const form of all(document)) {
      if (!(form instanceof HTMLFormElement) || submitted.has(form) || submitted.size >= MOST_FIELDS) continue;
      submitted.add(form);
      send(form);
      return true;
    }
    return false;
  };

  // False when there is nothing left to do.
  const step = () => {
    fill();
    const element = next();
    if (element) {
      clicks.set(element, (clicks.get(element) || 0) + 1);
      press(element);
      return true;
    }
    for (const frame of finders[9](document, 'iframe, frame')) {
      try {
        const window = inner[localName(frame)](frame);
        if (window[NAME] && window[NAME].step()) return true;
      } catch {
        // A frame of somebody else.
      }
    }
    return submit();
  };
  Object.defineProperty(window, NAME, { value: Object.freeze({ step }) });
})();
