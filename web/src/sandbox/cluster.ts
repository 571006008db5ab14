// One side: its figures, its nodes with their pods, and its decisions.

import { clock, figure, percent } from "../charts/format";
import { h } from "../base/dom";
import { PHASES, type About, type Event, type Node, type Pod, type Side } from "./protocol";

/** A share of requests over the SLO beyond which a bill does not count. */
const COUNTS_IF = 0.01;
const MOST_EVENTS = 80;

export interface Cluster {
  /** Figures and nodes. */
  readonly element: HTMLElement;
  readonly decisions: HTMLElement;
  show(side: Side): void;
}

export function cluster(about: About, title: string, subtitle: string, hue: number): Cluster {
  const bill = h("span", { class: "money" });
  const figures = {
    hourly: h("dd", {}),
    over: h("dd", {}),
    nodes: h("dd", {}),
    pods: h("dd", {}),
    rung: h("dd", {}),
  };
  const fact = (name: string, value: HTMLElement) => h("div", {}, h("dt", {}, name), value);
  const facts = h("dl", { class: "figures" }, fact("an hour", figures.hourly), fact("over SLO", figures.over), fact("nodes", figures.nodes), fact("pods ready", figures.pods));
  const nodes = h("div", { class: "nodes", role: "list", "aria-label": `Nodes of ${title}` });
  const feed = h("ol", { class: "feed", tabindex: 0, "aria-label": `Decisions of ${title}, newest first` });
  const element = h(
    "section",
    { class: "side", "aria-label": title },
    h("div", { class: "side-head" }, h("h2", {}, h("span", { class: `swatch hue-${hue}` }), title), h("span", { class: "soft sub" }, subtitle)),
    h("div", { class: "account" }, bill, facts),
    nodes,
  );
  const decisions = h("section", { class: "side", "aria-label": `Decisions of ${title}` }, h("h2", {}, h("span", { class: `swatch hue-${hue}` }), `Decisions of ${title}`), feed);
  const drawn = new Map<string, NodeBox>();
  return {
    element,
    decisions,
    show(side) {
      const met = (side.over ?? 0) <= COUNTS_IF;
      bill.replaceChildren(h(met ? "span" : "s", { title: met ? "" : "More than 1 % of the requests are over their SLO: the bill does not count" }, `${side.bill.toFixed(4)} ${about.currency}`));
      figures.hourly.textContent = side.per_hour.toFixed(3);
      figures.over.textContent = percent(side.over);
      figures.over.className = met ? "" : "hue-mark";
      figures.nodes.textContent = String(side.nodes.filter((n) => n.state !== "lost").length);
      figures.pods.textContent = String(side.services.reduce((sum, s) => sum + s.ready, 0));
      if (side.rung !== undefined) {
        if (!figures.rung.parentElement) facts.append(fact("guard", figures.rung));
        figures.rung.textContent = side.rung;
        figures.rung.className = side.rung === "primary" ? "" : "hue-mark";
      }
      showNodes(about, nodes, drawn, side);
      for (const event of side.events ?? []) feed.prepend(entry(event));
      while (feed.children.length > MOST_EVENTS) feed.lastElementChild!.remove();
    },
  };
}

interface NodeBox {
  element: HTMLElement;
  head: HTMLElement;
  fill: HTMLElement;
  others: HTMLElement;
  pods: HTMLElement;
  drawn: Map<number, HTMLElement>;
}

function showNodes(about: About, list: HTMLElement, drawn: Map<string, NodeBox>, side: Side): void {
  const there = new Set<string>();
  const boxes = side.nodes.map((node): [string, Node] => [node.name, node]);
  if (side.pending?.length) boxes.push(["", { slot: -1, name: "", state: "coming", cores: 0, free: 0, others: 0, pods: side.pending }]);
  for (const [name, node] of boxes) {
    there.add(name);
    let box = drawn.get(name);
    if (!box) {
      box = nodeBox(name === "");
      drawn.set(name, box);
    }
    if (name === "" || box.element.parentElement !== list) list.append(box.element); // what pends comes last
    showNode(about, box, node);
  }
  for (const [name, box] of drawn) {
    if (there.has(name)) continue;
    box.element.remove();
    drawn.delete(name);
  }
}

function nodeBox(pending: boolean): NodeBox {
  const head = h("div", { class: "node-head" });
  const fill = h("span", { class: "requested" });
  const others = h("span", { class: "others" });
  const pods = h("div", { class: "pods" });
  const element = h("div", { class: pending ? "node pending" : "node", role: "listitem" }, head, pending ? null : h("div", { class: "level", "aria-hidden": "true" }, fill, others), pods);
  return { element, head, fill, others, pods, drawn: new Map() };
}

function showNode(about: About, box: NodeBox, node: Node): void {
  const pods = node.pods ?? [];
  if (node.name === "") {
    box.head.textContent = "waiting for a node";
    box.element.setAttribute("aria-label", `${pods.length} pods wait for a node`);
  } else {
    box.element.className = `node ${node.state}`;
    box.head.textContent = node.state === "up" ? node.name : `${node.name}: ${node.state}`;
    const requested = pods.reduce((sum, p) => sum + p[3], 0) / 1000;
    box.fill.style.width = `${Math.min(100, (100 * requested) / node.cores)}%`;
    box.others.style.width = `${Math.min(100, (100 * node.others) / node.cores)}%`;
    box.element.setAttribute("aria-label", `${node.name}, ${node.state}: ${pods.length} pods request ${figure(requested, 2)} of ${node.cores} cores, others want ${figure(node.others, 2)}`);
    box.element.title = box.element.getAttribute("aria-label")!;
  }
  const there = new Set<number>();
  for (const pod of pods) {
    there.add(pod[0]);
    let square = box.drawn.get(pod[0]);
    if (!square) {
      square = box.pods.appendChild(h("span", {}));
      box.drawn.set(pod[0], square);
    }
    const look = podClass(pod);
    if (square.className !== look) {
      square.className = look;
      square.title = `${about.services[pod[1]]}: ${PHASES[pod[2]]}`;
    }
  }
  for (const [id, square] of box.drawn) {
    if (there.has(id)) continue;
    square.remove();
    box.drawn.delete(id);
  }
}

/** Colours repeat after eight services; the form tells them apart. */
export function podClass(pod: Pod): string {
  return `pod hue-${pod[1] % 8} ${PHASES[pod[2]]}${formOf(pod[1])}`;
}

export function formOf(service: number): string {
  return service >= 16 ? " diamond" : service >= 8 ? " round" : "";
}

function entry(event: Event): HTMLElement {
  const changes = event.changes ?? [];
  const time = h("time", { class: "soft" }, clock(event.t));
  if (changes.length === 0) return h("li", { class: `event ${event.type}-event` }, time, " ", event.text);
  const first = changes[0]!;
  const line = (c: (typeof changes)[number]) =>
    h("li", {}, h("strong", {}, c.service), ": ", c.text, ".", c.why ? ` ${c.why}` : "", ...(c.guards ?? []).map((g) => h("span", { class: "guard" }, ` Guard ${g}.`)));
  const brief = changes.length === 1 ? `${first.service}: ${first.text}` : `${event.text}: ${changes.map((c) => c.service).slice(0, 3).join(", ")}${changes.length > 3 ? ` and ${changes.length - 3} more` : ""}`;
  return h("li", { class: `event ${event.type}-event` }, h("details", {}, h("summary", {}, time, " ", brief), h("ul", {}, ...changes.map(line))));
}
