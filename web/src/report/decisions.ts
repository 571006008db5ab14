// The decisions of a run: when, what, why. Those at the cursor are marked.

import { clock } from "../charts/format";
import type { Decision, Story } from "./data";
import { h, select } from "../base/dom";

/** Rows that are made at once: a list of thousands would stall the page. */
const PAGE = 150;

export interface DecisionList {
  element: HTMLElement;
  /** Shows the decisions nearest to an instant. */
  near(t: number | null): void;
}

export function decisionList(story: Story, onChoose: (t: number) => void): DecisionList {
  const all = story.shown ?? [];
  const services = [...new Set(all.map((d) => d.service))].sort();
  let service = "";
  let limit = PAGE;
  let shown: Decision[] = [];
  const body = h("tbody", {});
  const box = h("div", { class: "scroll decisions", tabindex: 0, role: "region", "aria-label": "Decisions" });
  const more = h("button", { type: "button", class: "quiet", onclick: () => ((limit += PAGE), fill()) }, "Show more");
  const fill = () => {
    shown = all.filter((d) => !service || d.service === service);
    body.replaceChildren(...shown.slice(0, limit).map((d) => line(d, onChoose)));
    more.hidden = shown.length <= limit;
    if (shown.length === 0) body.append(h("tr", {}, h("td", { colspan: 4, class: "absent" }, "No decision changed anything.")));
  };
  fill();
  box.append(h("table", {}, h("thead", {}, h("tr", {}, ...["Time", "Service", "Change", "Reason"].map((name) => h("th", { scope: "col" }, name)))), body), more);
  const counted = story.decisions > all.length ? `${all.length} of ${story.decisions} decisions: small ones, and some of very many, are omitted; the last one shown is at ${clock(all[all.length - 1]?.t ?? 0)}` : `${story.decisions} decisions`;
  const chooser = select("Service", [{ value: "", text: "all" }, ...services.map((s) => ({ value: s, text: s }))], "", (value) => {
    service = value;
    limit = PAGE;
    fill();
  });
  return {
    element: h("div", { class: "decision-list" }, h("div", { class: "tools" }, h("span", { class: "soft" }, counted), services.length > 1 && chooser), box),
    near(t) {
      const best = t === null ? -1 : nearest(shown, t);
      if (best >= limit) {
        limit = best + PAGE;
        fill();
      }
      [...body.children].forEach((row, i) => row.classList.toggle("near", i === best));
      const row = body.children[best] as HTMLElement | undefined;
      // Only the list may move, not the page.
      if (row) box.scrollTop = row.offsetTop - box.clientHeight / 2;
    },
  };
}

function line(d: Decision, onChoose: (t: number) => void): HTMLElement {
  return h("tr", {}, h("td", {}, h("button", { type: "button", class: "quiet", title: "Show this moment in the charts", onclick: () => onChoose(d.t) }, clock(d.t))), h("td", {}, d.service), h("td", { class: "change" }, d.change), h("td", { class: "reason" }, d.reason));
}

function nearest(list: Decision[], t: number): number {
  let best = -1;
  list.forEach((d, i) => {
    if (best < 0 || Math.abs(d.t - t) < Math.abs(list[best]!.t - t)) best = i;
  });
  return best;
}
