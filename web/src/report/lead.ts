// The answer that the runs were made for, before everything else.

import type { Lead } from "./data";
import { h, section } from "./dom";

export function lead(answer: Lead): HTMLElement {
  const list = (title: string, lines: string[]) => (lines.length > 0 ? h("div", {}, h("h3", {}, title), h("ul", {}, ...lines.map((line) => h("li", {}, line)))) : null);
  return section(
    "verdict",
    "Verdict",
    "",
    h("p", { class: `answer ${answer.kind}` }, answer.sentence),
    h("dl", { class: "facts" }, ...answer.facts.map((f) => h("div", {}, h("dt", {}, f.name), h("dd", {}, f.value)))),
    list("Why", answer.reasons),
    list("Assumed", answer.assumptions),
  );
}
