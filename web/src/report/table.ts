// The table: policies by scenario, every measure with its interval.

import type { Measure, Row } from "./data";
import { difference, value, whisker } from "./cells";
import { h, section } from "../base/dom";
import { badge, type Look } from "./policies";
import { scenarioName } from "./scenarios";
import type { Store } from "./state";

interface Column {
  key: string;
  counts?: boolean; // means something only where the SLO is met
  name: string;
  about: string;
  number: (row: Row) => number | string | null;
  cell: (row: Row, group: Row[]) => Node | string;
}

export function table(store: Store, looks: Look[]): HTMLElement {
  const { summary } = store;
  const grid = h("table", {});
  const buttons = h("div", { class: "tools" });
  const draw = () => {
    const columns = columnsOf(store, looks);
    buttons.replaceChildren(
      switchOf("Differences to the baseline", store.state.difference, !summary.baseline, () => store.set({ difference: !store.state.difference })),
      switchOf("All measures", store.state.everything, false, () => store.set({ everything: !store.state.everything })),
    );
    grid.replaceChildren(
      h("caption", { class: "unseen" }, "Policies by scenario, with means and 95 % intervals over seeds"),
      h("thead", {}, h("tr", {}, ...columns.map((c) => heading(store, c)))),
      ...store.scenarios().map((scenario) => group(store, columns, scenario)),
    );
  };
  store.listen((changed) => {
    if (["app", "workload", "perturbation", "difference", "everything", "sort", "falling"].some((key) => changed.has(key as never))) {
      const focused = (document.activeElement as HTMLElement | null)?.dataset["sort"];
      draw();
      if (focused) grid.querySelector<HTMLElement>(`[data-sort="${CSS.escape(focused)}"]`)?.focus();
    }
  });
  draw();
  return section("table", "Table", "Means over seeds with the half-width of their 95 % interval. A cost that is struck through does not count: that policy violates the SLO.", buttons, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of results" }, grid));
}

function switchOf(text: string, on: boolean, disabled: boolean, toggle: () => void): HTMLElement {
  return h("label", { class: "switch" }, h("input", { type: "checkbox", checked: on, disabled, onchange: toggle }), text);
}

function heading(store: Store, column: Column): HTMLElement {
  const { sort, falling } = store.state;
  const sorted = sort === column.key;
  const order = sorted ? (falling ? "descending" : "ascending") : "none";
  return h(
    "th",
    { scope: "col", "aria-sort": order },
    h(
      "button",
      { type: "button", title: column.about, "data-sort": column.key, onclick: () => store.set({ sort: column.key, falling: sorted ? !falling : false }) },
      column.name,
      h("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (falling ? "▼" : "▲") : ""),
    ),
  );
}

function group(store: Store, columns: Column[], scenario: number): HTMLElement {
  const rows = store.rowsOf(scenario).map((i) => store.summary.rows[i]!);
  const by = columns.find((c) => c.key === store.state.sort) ?? columns[0]!;
  const sign = store.state.falling ? -1 : 1;
  const sorted = [...rows].sort((a, b) => (by.counts ? Number(b.met) - Number(a.met) : 0) || sign * compare(by.number(a), by.number(b)));
  return h(
    "tbody",
    {},
    h("tr", { class: "group" }, h("th", { colspan: columns.length, scope: "rowgroup" }, h("span", {}, scenarioName(store, scenario)))),
    ...sorted.map((row) =>
      h("tr", { class: `${row.met ? "" : "unmet"}${store.summary.policies[row.policy]!.reference ? " reference" : ""}` }, ...columns.map((c, i) => (i === 0 ? h("th", { scope: "row" }, c.cell(row, rows)) : h("td", {}, c.cell(row, rows))))),
    ),
  );
}

function compare(a: number | string | null, b: number | string | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return typeof a === "string" ? a.localeCompare(String(b)) : a - Number(b);
}

function columnsOf(store: Store, looks: Look[]): Column[] {
  const { summary, state } = store;
  const measures = summary.measures.filter((m) => m.main || state.everything);
  const cost = measures.find((m) => m.key === summary.cost);
  const columns: Column[] = [policyColumn(store, looks), sloColumn()];
  if (cost) {
    columns.push(costColumn(cost, looks));
    if (summary.rows.some((r) => r.over_clairvoyant)) columns.push(oracleColumn());
    if (summary.baseline) columns.push(againstColumn(store, cost));
  }
  if (state.everything && summary.rows.some((r) => r.bound)) columns.push(boundColumn());
  return [...columns, ...measures.filter((m) => m !== cost).map((m) => measureColumn(store, m))];
}

function policyColumn(store: Store, looks: Look[]): Column {
  const label = (row: Row) => store.summary.policies[row.policy]!.label;
  return {
    key: "policy",
    name: "Policy",
    about: "Select a policy to show its runs over time",
    number: label,
    cell: (row) => {
      const run = row.runs?.[0]?.id;
      const name = h("span", { class: "label" }, label(row));
      if (run === undefined) return name;
      const open = () => {
        store.set({ scenario: row.scenario, right: run });
        document.getElementById("stories")?.scrollIntoView();
      };
      return h("button", { type: "button", class: "policy", title: `${row.settings}: show its runs over time`, onclick: open }, badge(looks[row.policy]!), name);
    },
  };
}

function sloColumn(): Column {
  return {
    key: "met",
    name: "SLO",
    about: "Whether at most the allowed share of requests was over the SLO",
    number: (row) => (row.met ? 0 : 1),
    cell: (row) => h("span", { class: row.met ? "kept" : "broken" }, row.met ? "✓ met" : "✗ violated"),
  };
}

function costColumn(cost: Measure, looks: Look[]): Column {
  return {
    key: cost.key,
    counts: true,
    name: cost.unit ? `${cost.name}, ${cost.unit}` : cost.name,
    about: cost.about,
    number: (row) => row.values[cost.key]?.[0] ?? null,
    cell: (row, group) => {
      const largest = Math.max(...group.map((r) => r.values[cost.key]?.[2] ?? r.values[cost.key]?.[0] ?? 0));
      const text = value(cost, row.values[cost.key]);
      const shown = row.met ? text : h("s", { title: "does not count: the SLO is violated" }, text);
      const cell = h("span", { class: "cost" }, shown);
      const picture = whisker(row.values[cost.key], largest, looks[row.policy]!.mark, row.met);
      if (picture) cell.append(picture);
      return cell;
    },
  };
}

function oracleColumn(): Column {
  return {
    key: "oracle",
    counts: true,
    name: "× oracle",
    about: "Cost as a multiple of the cost of an oracle that is given the load in advance",
    number: (row) => row.over_clairvoyant?.[0] ?? null,
    cell: (row) => {
      const t = row.over_clairvoyant ?? undefined;
      const text = value({ key: "", name: "", unit: "", main: false, about: "" }, t);
      return row.met ? text : h("s", {}, text);
    },
  };
}

function boundColumn(): Column {
  return {
    key: "bound",
    name: "Lower bound",
    about: "Lower bound of the bill for any policy that scales the same resources",
    number: (row) => row.bound?.[0] ?? null,
    cell: (row) => value({ key: "", name: "", unit: "", main: false, about: "" }, row.bound ?? undefined),
  };
}

function againstColumn(store: Store, cost: Measure): Column {
  const baseline = store.summary.baseline;
  const baseOf = (group: Row[]) => group.find((r) => store.summary.policies[r.policy]!.label === baseline)?.values[cost.key]?.[0];
  return {
    key: "against",
    counts: true,
    name: `Cost vs ${baseline}`,
    about: `Paired difference in cost to ${baseline}, as a share of its cost`,
    number: (row) => row.against[cost.key]?.[0] ?? null,
    cell: (row, group) => {
      if (store.summary.policies[row.policy]!.label === baseline) return h("span", { class: "absent" }, "baseline");
      const text = difference(cost, row.against[cost.key], baseOf(group));
      return row.met ? text : h("s", {}, text);
    },
  };
}

function measureColumn(store: Store, m: Measure): Column {
  const from = store.state.difference ? (row: Row) => row.against[m.key] : (row: Row) => row.values[m.key];
  return {
    key: m.key,
    name: (store.state.difference ? "Δ " : "") + m.name + (m.unit && m.unit !== "%" && m.unit !== "ms" ? `, ${m.unit}` : ""),
    about: m.about,
    number: (row) => from(row)?.[0] ?? null,
    cell: (row) => (store.state.difference ? difference(m, from(row)) : value(m, from(row))),
  };
}
