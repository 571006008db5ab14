// The services with their calls. Each service is a button that chooses it for the charts.

import { percent } from "../charts/format";
import { h, s } from "../base/dom";
import type { Call, Detail, Service } from "./data";
import { layout, type Place } from "./layout";
import { cores, percentile, rate, seconds, sizeOf } from "./words";

const WIDTH = 206;
const HEIGHT = 98;
const [LEAST_GAP, MOST_GAP] = [54, 150];
const GAP_Y = 14;
const MARGIN = 6;

export interface Graph {
  readonly element: HTMLElement;
  show(detail: Detail): void;
  choose(service: string): void;
}

export function graph(onChoose: (service: string) => void): Graph {
  const lines = s("svg", { class: "calls", "aria-hidden": "true" });
  const nodes = h("div", { class: "graph-nodes" });
  const canvas = h("div", { class: "graph-canvas" }, lines, nodes);
  const element = h("div", { class: "graph", tabindex: 0, role: "group", "aria-label": "Services and their calls, from callers on the left to what they call" }, canvas);
  let shape = "";
  let gap = LEAST_GAP;
  let chosen = "";
  let drawn = new Map<string, Box>();
  let paths: { call: Call; path: SVGElement }[] = [];
  const mark = () => {
    for (const [name, box] of drawn) box.button.setAttribute("aria-pressed", String(name === chosen));
    for (const { call, path } of paths) path.setAttribute("class", call.from === chosen || call.to === chosen ? "near" : "");
  };
  return {
    element,
    show(detail) {
      const names = detail.services.map((of) => of.name);
      const calls = detail.calls ?? [];
      const now = JSON.stringify([names, calls, element.clientWidth]);
      if (now !== shape) {
        shape = now;
        const { places, columns, rows } = layout(names, calls);
        // What width there is goes between the columns.
        const spare = (element.clientWidth - 24 - 2 * MARGIN - columns * WIDTH) / Math.max(1, columns - 1);
        gap = Math.round(Math.max(LEAST_GAP, Math.min(MOST_GAP, spare)));
        canvas.style.width = `${columns * WIDTH + (columns - 1) * gap + 2 * MARGIN}px`;
        canvas.style.height = `${rows * HEIGHT + (rows - 1) * GAP_Y + 2 * MARGIN}px`;
        paths = calls.filter((c) => places.has(c.from) && places.has(c.to) && c.from !== c.to).map((call) => ({ call, path: curve(places.get(call.from)!, places.get(call.to)!, gap) }));
        lines.replaceChildren(...paths.map((p) => p.path));
        drawn = new Map(names.map((name) => [name, boxOf(name, places.get(name)!, gap, () => onChoose(name))]));
        // In the order of reading: column by column.
        const order = [...places.values()].sort((a, b) => a.column - b.column || a.row - b.row);
        nodes.replaceChildren(...order.map((p) => drawn.get(p.name)!.button));
        mark();
      }
      for (const of of detail.services) fill(drawn.get(of.name)!, of);
    },
    choose(service) {
      chosen = service;
      mark();
      const box = drawn.get(service);
      if (!box) return;
      // Into view within the graph only; the page stays where it is.
      const left = box.button.offsetLeft - 24;
      if (left < element.scrollLeft || left + WIDTH + 48 > element.scrollLeft + element.clientWidth) element.scrollLeft = left;
    },
  };
}

function corner(p: Place, gap: number): [number, number] {
  return [MARGIN + p.column * (WIDTH + gap), MARGIN + p.row * (HEIGHT + GAP_Y)];
}

function curve(from: Place, to: Place, gap: number): SVGElement {
  const [fx, fy] = corner(from, gap);
  const [tx, ty] = corner(to, gap);
  const [x0, y0] = [fx + WIDTH, fy + HEIGHT / 2];
  const [x1, y1] = [tx, ty + HEIGHT / 2];
  if (x1 > x0) {
    const bend = Math.min(90, (x1 - x0) / 2);
    const [first, last] = [x0 + bend, x1 - bend];
    return s("path", { d: `M${x0} ${y0}C${first} ${y0} ${last} ${y1} ${x1} ${y1}` });
  }
  // Back to an earlier column, or within one: around below.
  return s("path", { d: `M${x0} ${y0}C${x0 + 40} ${y0 + 70} ${x1 - 40} ${y1 + 70} ${x1} ${y1}` });
}

interface Box {
  button: HTMLButtonElement;
  load: HTMLElement;
  use: HTMLElement;
  fill: HTMLElement;
  pods: HTMLElement;
  size: HTMLElement;
  share: HTMLElement;
  state: HTMLElement;
}

function boxOf(name: string, place: Place, gap: number, onClick: () => void): Box {
  const box: Omit<Box, "button"> = {
    load: h("span", { class: "load" }),
    use: h("span", { class: "use" }),
    fill: h("span", { class: "fill" }),
    pods: h("span", { class: "pods" }),
    size: h("span", { class: "size soft" }),
    share: h("span", { class: "share soft" }),
    state: h("span", { class: "state" }),
  };
  const line = (...children: (HTMLElement | null)[]) => h("span", { class: "line" }, ...children);
  const button = h(
    "button",
    { type: "button", class: "service", "aria-pressed": "false", title: name },
    line(h("span", { class: "name" }, name), box.state),
    line(h("span", {}, box.load, unseen(" visits, ")), h("span", {}, box.use, unseen(" of its CPU request in use, "))),
    h("span", { class: "gauge", "aria-hidden": "true" }, box.fill),
    line(h("span", {}, box.pods, unseen(" ready, ")), h("span", { class: "size-box" }, box.size, unseen(" each, "))),
    line(box.share),
  );
  button.addEventListener("click", onClick);
  const [x, y] = corner(place, gap);
  button.style.left = `${x}px`;
  button.style.top = `${y}px`;
  button.style.width = `${WIDTH}px`;
  button.style.height = `${HEIGHT}px`;
  return { button, ...box };
}

/** Words for those who do not see where a figure stands. */
function unseen(text: string): HTMLElement {
  return h("span", { class: "unseen" }, text);
}

/** Beyond this share of what is requested, a service has no room for a burst. */
const BUSY = 0.9;

function fill(box: Box, of: Service): void {
  const use = of.utilisation;
  box.load.textContent = rate(of.rate);
  box.use.textContent = use === undefined ? cores(of.cpu_cores) : percent(use);
  box.fill.style.width = `${Math.min(1, use ?? 0) * 100}%`;
  box.button.classList.toggle("busy", use !== undefined && use > BUSY);
  const ready = of.replicas_ready;
  const applied = of.replicas_applied;
  const moving = ready !== undefined && applied !== undefined && ready !== applied;
  box.pods.textContent = ready === undefined ? "–" : moving ? `${ready} → ${applied} pods` : `${ready} ${ready === 1 ? "pod" : "pods"}`;
  box.pods.classList.toggle("moving", moving);
  box.size.textContent = sizeOf(of.size);
  box.share.textContent = of.share ? `${percentile(of.share)} share ${seconds(of.share.latency_s)}` : "share of the SLO not known";
  const blocked = of.state && !["Moved", "Recommended"].includes(of.state) ? of.state : "";
  box.state.textContent = blocked;
}
