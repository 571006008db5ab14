// A model card: the Markdown that the registry writes (headings, tables, lists, paragraphs), as elements.
// Text only enters as text.

import { h } from "../base/dom";

export function card(markdown: string): HTMLElement {
  const out = h("div", { class: "card-text" });
  const lines = markdown.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!.trim();
    const heading = /^(#{1,3})\s+(.*)$/.exec(line);
    if (line === "") continue;
    if (heading) {
      out.append(h(heading[1]!.length === 1 ? "h3" : "h4", {}, heading[2]!));
    } else if (line.startsWith("|")) {
      const rows: string[][] = [];
      for (; i < lines.length && lines[i]!.trim().startsWith("|"); i++) rows.push(cellsOf(lines[i]!.trim()));
      i--;
      out.append(table(rows));
    } else if (line.startsWith("- ")) {
      const items: string[] = [];
      for (; i < lines.length && lines[i]!.trim().startsWith("- "); i++) items.push(lines[i]!.trim().slice(2));
      i--;
      out.append(h("ul", {}, ...items.map((text) => h("li", {}, text))));
    } else {
      const strong = /^\*\*(.*)\*\*$/.exec(line);
      out.append(strong ? h("p", { class: "attention" }, strong[1]!) : h("p", {}, line));
    }
  }
  return out;
}

function cellsOf(line: string): string[] {
  return line.replace(/^\|/, "").replace(/\|$/, "").split("|").map((cell) => cell.trim());
}

function table(rows: string[][]): HTMLElement {
  const [head, , ...body] = rows;
  const named = head?.some((cell) => cell !== "");
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": named ? head!.join(", ") : "About the model" },
    h(
      "table",
      {},
      named ? h("thead", {}, h("tr", {}, ...head!.map((text) => h("th", { scope: "col" }, text)))) : null,
      h("tbody", {}, ...body.map((cells) => h("tr", {}, ...cells.map((text, i) => (i === 0 ? h("th", { scope: "row" }, text) : h("td", {}, text)))))),
    ),
  );
}
