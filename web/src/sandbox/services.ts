// The services of both sides in one table, which is also the key to the colours
// of pods.

import { figure } from "../charts/format";
import { h } from "../base/dom";
import { formOf } from "./cluster";
import type { About, State } from "./protocol";

export interface Services {
  readonly element: HTMLElement;
  show(state: State): void;
}

export function services(about: About, titles: [string, string]): Services {
  const cells: HTMLElement[][] = [];
  const rows = about.services.map((name, i) => {
    const own = Array.from({ length: 6 }, () => h("td", {}));
    cells.push(own);
    return h("tr", {}, h("th", { scope: "row" }, h("span", { class: `pod ready hue-${i % 8}${formOf(i)}`, "aria-hidden": "true" }), name), ...own);
  });
  const each = () => [h("th", { scope: "col" }, "pods"), h("th", { scope: "col" }, "request"), h("th", { scope: "col" }, "use")];
  const element = h(
    "section",
    { class: "services" },
    h("h2", {}, "Services"),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Services" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h("tr", {}, h("td", { rowspan: 2 }), ...titles.map((t) => h("th", { colspan: 3, scope: "colgroup", class: "group" }, t))),
          h("tr", {}, ...each(), ...each()),
        ),
        h("tbody", {}, ...rows),
      ),
    ),
  );
  return {
    element,
    show(state) {
      state.sides.forEach((side, s) =>
        side.services.forEach((of, i) => {
          const [pods, request, use] = cells[i]!.slice(3 * s, 3 * s + 3) as [HTMLElement, HTMLElement, HTMLElement];
          pods.textContent = of.ready === of.desired ? String(of.ready) : `${of.ready} of ${of.desired}`;
          request.textContent = `${Math.round(1000 * of.request)}m`;
          use.textContent = of.use === null ? "–" : `${figure(100 * of.use, 2)} %`;
        }),
      );
    },
  };
}
