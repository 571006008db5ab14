// The bar: time, load, and what goes wrong.

import { clock, figure } from "../charts/format";
import { h } from "../base/dom";
import type { About, Command, State } from "./protocol";

export interface Controls {
  readonly element: HTMLElement;
  readonly speed: () => number;
  readonly playing: () => boolean;
  pause(): void;
  show(state: State, achieved: number): void;
}

interface Actions {
  /** Gives a command to both sides, and says so. */
  order(command: Command, said: string): void;
  restart(): void;
}

const SPEEDS = [1, 10, 30, 60, 120, 300, 600];

/** A switch for a fault that lasts: pressed while it does. */
interface Fault {
  button: HTMLButtonElement;
  isOn: (state: State) => boolean;
}

export function controls(about: About, actions: Actions): Controls {
  let running = true;
  const play = h("button", { type: "button", id: "play", class: "main" }, "Pause");
  const setRunning = (on: boolean) => {
    running = on;
    play.textContent = on ? "Pause" : "Go on";
  };
  play.addEventListener("click", () => setRunning(!running));
  const speeds = [...new Set([...SPEEDS, about.speed])].sort((a, b) => a - b);
  const speed = h("select", { id: "speed" }, ...speeds.map((v) => h("option", { value: v, selected: v === about.speed }, `${v}×`)));
  const time = h("output", { id: "time" });
  const pattern = h("select", { id: "pattern" }, ...about.patterns.map((p) => h("option", { value: p.name, title: p.about }, p.name)));
  pattern.addEventListener("change", () => actions.order({ do: "pattern", pattern: pattern.value }, `Load pattern: ${pattern.selectedOptions[0]?.title ?? pattern.value}`));

  // The slider is logarithmic: half and double are as far from the middle.
  const [low, high] = about.factors;
  const step = 0.05;
  const within = (power: number) => (Math.trunc(power / step) * step).toFixed(2);
  const load = h("input", { type: "range", id: "load", min: within(Math.log2(low)), max: within(Math.log2(high)), step, value: 0 });
  const rate = h("output", { for: "load", id: "rate" });
  const factor = () => Math.min(high, Math.max(low, 2 ** Number(load.value)));
  let held = false; // while the slider is dragged, states do not move it
  load.addEventListener("input", () => {
    held = true;
    actions.order({ do: "load", factor: factor() }, "");
  });
  load.addEventListener("change", () => {
    held = false;
    actions.order({ do: "load", factor: factor() }, `Load: ${figure(factor(), 2)} times the pattern`);
  });

  const faults: Fault[] = [];
  const lasting = (id: string, label: string, title: string, command: Command["do"], on: boolean, isOn: Fault["isOn"], said: [string, string]) => {
    const button = h("button", { type: "button", id, title, "aria-pressed": "false", class: "fault" }, label);
    button.addEventListener("click", () => {
      const wanted = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(wanted));
      actions.order({ do: command, on: wanted === on }, wanted ? said[0] : said[1]);
    });
    faults.push({ button, isOn });
    return button;
  };
  const node = h("button", { type: "button", id: "node", class: "fault", title: "The node with most pods fails on each side. Its pods are replaced after 350 s, as by Kubernetes’ defaults." }, "Lose a node");
  node.addEventListener("click", () => actions.order({ do: "node" }, "A node has failed on each side"));
  const calm = h("button", { type: "button", id: "calm" }, "Undo all");
  calm.addEventListener("click", () => actions.order({ do: "calm" }, "Metrics, neighbours, version and load are as before"));
  const restart = h("button", { type: "button", id: "restart" }, "Start again");
  restart.addEventListener("click", () => actions.restart());

  const element = h(
    "div",
    { class: "filters bar", role: "region", "aria-label": "Controls" },
    h("div", { class: "knobs" }, play, h("label", { class: "field" }, "Speed", speed), time),
    h("div", { class: "knobs" }, h("label", { class: "field" }, "Load", pattern), h("label", { class: "field slider" }, h("span", { class: "unseen" }, "Level of the load"), load), rate),
    h(
      "div",
      { class: "knobs faults", role: "group", "aria-label": "Faults, on both sides" },
      lasting("prometheus", "Kill Prometheus", "No metrics reach either autoscaler, those of HPA’s metrics server included.", "prometheus", false, (s) => s.faults.blind, ["Metrics are gone on both sides", "Metrics are back on both sides"]),
      node,
      lasting("neighbour", "Wake a neighbour", "Other tenants want 85 % of every node. They request 20 % of it.", "neighbour", true, (s) => s.faults.neighbour, ["Neighbours are awake on both sides", "Neighbours are asleep on both sides"]),
      lasting("version", "Ship a slow version", `${about.slow} needs twice the CPU for each request.`, "version", true, (s) => s.faults.slow, [`A slow version of ${about.slow} is shipped on both sides`, `${about.slow} is rolled back on both sides`]),
      calm,
      restart,
    ),
  );
  return {
    element,
    speed: () => Number(speed.value),
    playing: () => running,
    pause: () => setRunning(false),
    show(state, achieved) {
      const slower = achieved > 0 && achieved < 0.8 * Number(speed.value);
      time.textContent = `${clock(state.at)}${slower ? ` (${figure(achieved, 2)}× is possible here)` : ""}`;
      rate.textContent = `${figure(state.load)} requests/s`;
      pattern.value = state.pattern;
      if (!held) load.value = Math.log2(state.factor).toFixed(2);
      load.setAttribute("aria-valuetext", `${figure(factor(), 2)} times the pattern, ${figure(state.load)} requests per second`);
      for (const f of faults) f.button.setAttribute("aria-pressed", String(f.isOn(state)));
      if (state.ended) setRunning(false);
    },
  };
}
