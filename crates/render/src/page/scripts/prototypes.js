  // Stands in both scripts where they say PROTOTYPES: within their functions, where no page sees it.
  // A form with a name, or a field in a form, hides what its document or form is asked by that name. The
  // prototypes know no names.
  const getter = (owner, name) => {
    const get = Object.getOwnPropertyDescriptor(owner.prototype, name).get;
    return object => get.call(object);
  };
  const method = (owner, name) => {
    const own = owner.prototype[name];
    return (object, ...values) => own.apply(object, values);
  };
  const nodeType = getter(Node, 'nodeType');
  const localName = getter(Element, 'localName');
  const shadowRoot = getter(Element, 'shadowRoot');
  const click = method(HTMLElement, 'click');
  const finders = { 1: method(Element, 'querySelectorAll'), 9: method(Document, 'querySelectorAll'),
    11: method(DocumentFragment, 'querySelectorAll') };
