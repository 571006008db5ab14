// Elements. Text only ever enters as text, so that no name can become markup.

type Child = Node | string | number | null | undefined | false;
type Properties = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

/** Makes an element: functions are listeners, everything else attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, properties);
  element.append(...children.filter(present).map(asNode));
  return element;
}

/** The same for SVG. */
export function s(tag: string, properties: Properties = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, properties);
  element.append(...children.filter(present).map(asNode));
  return element;
}

function set(element: Element, properties: Properties): void {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
}

function present(child: Child): child is Node | string | number {
  return child !== null && child !== undefined && child !== false;
}

function asNode(child: Node | string | number): Node | string {
  return typeof child === "number" ? String(child) : child;
}

export interface Choice {
  value: string;
  text: string;
}

/** A labelled select. */
export function select(label: string, choices: Choice[], chosen: string, onChange: (value: string) => void): HTMLLabelElement {
  const options = choices.map((c) => h("option", { value: c.value, selected: c.value === chosen }, c.text));
  const box = h("select", { onchange: (event: Event) => onChange((event.target as HTMLSelectElement).value) }, ...options);
  return h("label", { class: "field" }, h("span", {}, label), box);
}

/** A section of the page with its heading. */
export function section(id: string, title: string, about: string, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("div", { class: "section-head" }, h("h2", { id: `${id}-title` }, title), h("p", { class: "about" }, about)), ...children);
}
