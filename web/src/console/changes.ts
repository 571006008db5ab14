// The decisions that changed something, latest first; each opens.

import { h } from "../base/dom";
import type { Change } from "./data";
import { when } from "./words";

/** Rows that are drawn at once. */
const MOST = 150;

export interface ChangeList {
  readonly element: HTMLElement;
  show(changes: Change[], service: string): void;
}

export function changeList(onOpen: (c: Change) => void): ChangeList {
  const body = h("tbody", {});
  const own = h("input", { type: "checkbox", id: "own" });
  const name = h("span", {}, "");
  const count = h("span", { class: "soft small" });
  const head = (text: string, kind = "") => h("th", { scope: "col", class: kind }, text);
  const table = h("table", { class: "changes" }, h("caption", { class: "unseen" }, "Decisions, latest first"), h("thead", {}, h("tr", {}, head("Time"), head("Service"), head("Change"), head("Guards"), head("Why", "why"))), body);
  const element = h("div", {}, h("div", { class: "tools" }, h("label", { class: "switch" }, own, "only ", name), count), h("div", { class: "scroll changes-box", tabindex: 0, role: "region", "aria-label": "List of decisions" }, table));
  let last: [Change[], string] = [[], ""];
  const rows = new Map<string, HTMLTableRowElement>();
  const draw = () => {
    const [changes, service] = last;
    name.textContent = service;
    const shown = changes.filter((c) => !own.checked || c.service === service);
    count.textContent = shown.length > MOST ? `the latest ${MOST} of ${shown.length}` : shown.length === 0 ? "nothing was changed in this time" : "";
    const there = new Set<string>();
    shown.slice(0, MOST).forEach((c, i) => {
      const key = `${c.at} ${c.service}`;
      there.add(key);
      let row = rows.get(key);
      if (!row) rows.set(key, (row = rowOf(c, onOpen)));
      if (body.children[i] !== row) body.insertBefore(row, body.children[i] ?? null);
    });
    for (const [key, row] of rows) {
      if (there.has(key)) continue;
      row.remove();
      rows.delete(key);
    }
  };
  own.addEventListener("change", draw);
  return {
    element,
    show(changes, service) {
      last = [changes, service];
      draw();
    },
  };
}

function rowOf(c: Change, onOpen: (c: Change) => void): HTMLTableRowElement {
  const button = h("button", { type: "button", class: "quiet open" }, `${c.from} → ${c.to}`, h("span", { class: "unseen" }, `, ${c.service}: open this decision`));
  button.addEventListener("click", () => onOpen(c));
  const state = c.error ? h("span", { class: "attention" }, c.error) : c.applied ? null : h("span", { class: "soft small" }, c.mode === "Act" ? "not applied" : `${c.mode ?? "not applied"}: not applied`);
  return h(
    "tr",
    {},
    h("td", {}, when(c.at)),
    h("td", { class: "name" }, c.service),
    h("td", {}, button, state),
    h("td", {}, ...(c.guards ?? []).map((g) => h("span", { class: "badge-text guard" }, g))),
    h("td", { class: "why soft", title: c.why ?? "" }, c.why ?? ""),
  );
}
