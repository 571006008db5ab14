// Every application in one table, what needs attention first.

import { percent } from "../charts/format";
import { h } from "../base/dom";
import { budget, keyOf, needsAttention, worst, type Application } from "./data";
import type { Store } from "./store";
import type { View } from "./view";
import { against, bar, budgetText, difference, modeBadge, money, percentile, rungBadge } from "./words";

/** Rows that are drawn at once; the filter finds the others. */
const MOST_ROWS = 200;

export function overview(store: Store): View {
  const tiles = h("dl", { class: "tiles" });
  const body = h("tbody", {});
  const rest = h("p", { class: "soft rest" });
  const find = h("input", { type: "search", id: "find", placeholder: "namespace, name or policy" });
  const only = h("input", { type: "checkbox", id: "only" });
  const head = (text: string) => h("th", { scope: "col" }, text);
  const table = h(
    "table",
    { class: "applications" },
    h("caption", { class: "unseen" }, "Applications, what needs attention first"),
    h("thead", {}, h("tr", {}, head("Application"), head("Latency and its target"), head("Error budget left"), head("Cost now"), head("Against the rule beside it"), head("Mode"), head("Rung"))),
    body,
  );
  const empty = h("p", { class: "empty-note" });
  const element = h(
    "div",
    {},
    tiles,
    h("div", { class: "tools" }, h("label", { class: "field" }, "Find", find), h("label", { class: "switch" }, only, "only what needs attention")),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Applications" }, table),
    empty,
    rest,
  );
  const rows = new Map<string, { of: Application; row: HTMLTableRowElement }>();

  const draw = () => {
    const all = [...store.applications.values()].sort(order);
    showTiles(tiles, all);
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = all.filter((a) => (!only.checked || needsAttention(a)) && words.every((w) => `${a.namespace}/${a.name} ${a.policy ?? ""}`.toLowerCase().includes(w)));
    const there = new Set<string>();
    shown.slice(0, MOST_ROWS).forEach((a, i) => {
      const key = keyOf(a);
      there.add(key);
      let drawn = rows.get(key);
      if (!drawn || drawn.of !== a) {
        const row = rowOf(a);
        const focused = drawn?.row.contains(document.activeElement);
        drawn?.row.replaceWith(row);
        rows.set(key, (drawn = { of: a, row }));
        if (focused) row.querySelector("a")?.focus();
      }
      if (body.children[i] !== drawn.row) body.insertBefore(drawn.row, body.children[i] ?? null);
    });
    for (const [key, drawn] of rows) {
      if (there.has(key)) continue;
      drawn.row.remove();
      rows.delete(key);
    }
    table.hidden = shown.length === 0;
    rest.textContent = shown.length > MOST_ROWS ? `${shown.length - MOST_ROWS} more: narrow it down with Find.` : "";
    empty.textContent = shown.length > 0 ? "" : all.length > 0 ? "Nothing matches." : store.known ? "There is no LoadLine that you may read." : "";
  };
  let pending = 0;
  const later = () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(draw);
  };
  find.addEventListener("input", later);
  only.addEventListener("change", later);
  const forget = store.listen(later);
  draw();
  return {
    title: "Applications",
    element,
    close() {
      cancelAnimationFrame(pending);
      forget();
    },
  };
}

function order(a: Application, b: Application): number {
  const urgent = Number(needsAttention(b)) - Number(needsAttention(a));
  if (urgent !== 0) return urgent;
  const left = (x: Application) => budget(x.objectives)?.budget_left ?? 2;
  return left(a) - left(b) || keyOf(a).localeCompare(keyOf(b));
}

function showTiles(tiles: HTMLElement, all: Application[]): void {
  const sums = (of: (a: Application) => number | undefined) => {
    const by = new Map<string, number>();
    for (const a of all) {
      const v = of(a);
      if (v !== undefined) by.set(a.money!.currency, (by.get(a.money!.currency) ?? 0) + v);
    }
    return by.size === 0 ? "–" : [...by].map(([currency, v]) => money(v, currency)).join(", ");
  };
  const attention = all.filter(needsAttention).length;
  const missed = all.filter((a) => a.slo_met === "False").length;
  const tile = (name: string, value: string, bad = false) => h("div", {}, h("dt", {}, name), h("dd", { class: bad ? "hue-mark" : "" }, value));
  tiles.replaceChildren(
    tile("applications", String(all.length)),
    tile("need attention", String(attention), attention > 0),
    tile("miss their SLO now", String(missed), missed > 0),
    tile("cost an hour", sums((a) => a.money?.per_hour)),
    tile("saved a month against the rules beside, by the twin", sums((a) => a.money?.baseline?.saved)),
  );
}

function rowOf(a: Application): HTMLTableRowElement {
  const o = worst(a.objectives);
  const b = budget(a.objectives);
  const urgent = needsAttention(a);
  const cell = (name: string, ...children: (Node | string | null)[]) => h("td", { "data-name": name }, ...children);
  const share = o?.over_slo;
  const shown = o ?? a.objectives[0];
  return h(
    "tr",
    { class: urgent ? "urgent" : "", "data-key": keyOf(a) },
    h(
      "th",
      { scope: "row" },
      h("a", { href: `#/${encodeURIComponent(a.namespace)}/${encodeURIComponent(a.name)}` }, a.name),
      h("span", { class: "soft in" }, ` ${a.namespace}`),
      h("span", { class: "policy-name soft" }, a.policy ?? "no policy yet"),
      ...a.attention.slice(0, 2).map((text) => h("span", { class: "attention" }, text)),
    ),
    cell("Latency", bar(share, share === undefined ? "plain" : share > 1 ? "bad" : "good", true), h("span", { class: share !== undefined && share > 1 ? "hue-mark strong" : "" }, o ? against(o) : "not measured"), shown ? h("span", { class: "soft small kind" }, `${percentile(shown)} of ${shown.kind}${a.objectives.length > 1 ? `, worst of ${a.objectives.length}` : ""}`) : null),
    cell("Budget", bar(b?.budget_left, b?.budget_left === undefined ? "plain" : b.budget_left < 0.25 ? "bad" : "good"), h("span", { class: (b?.budget_left ?? 1) < 0 ? "hue-mark strong" : "" }, budgetText(b?.budget_left)), b?.attainment !== undefined ? h("span", { class: "soft small" }, `${percent(b.attainment)} within`) : null),
    cell("Cost now", h("span", { class: "strong nowrap" }, money(a.money?.per_hour, a.money?.currency ?? "")), h("span", { class: "soft small" }, "an hour")),
    cell("Against", ...saved(a)),
    cell("Mode", modeBadge(a.mode), h("span", { class: "soft small" }, a.services_moved ? `${a.services_moved} services` : "")),
    cell("Rung", rungBadge(a.rung)),
  );
}

function saved(a: Application): (Node | string)[] {
  const base = a.money?.baseline;
  if (!base || !a.money || a.money.per_month === undefined) return [h("span", { class: "soft" }, "no estimate")];
  return [
    difference(base),
    h("span", { class: "soft small" }, `${money(a.money.per_month, a.money.currency)} a month, ${base.name} ${money(base.per_month, a.money.currency)}`),
  ];
}
