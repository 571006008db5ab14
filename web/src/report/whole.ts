// Policies over each other, over all of the data that the answer is about: what each requests, and
// how near its latency comes to the SLO.

import { figure, milliseconds } from "../charts/format";
import { timeline, type Line, type Panel } from "../charts/timeline";
import { openChunk, times, type Kind, type Lead, type Story, type Summary } from "./data";
import { h } from "../base/dom";
import type { Look } from "./policies";

interface Drawn {
  label: string;
  look: Look;
  story: Story;
}

export function whole(summary: Summary, answer: Lead, looks: Look[]): HTMLElement | null {
  const shown = answer.whole;
  if (!shown || shown.runs.length === 0) return null;
  const box = h("div", { class: "whole" });
  const draw = async () => {
    const drawn = await Promise.all(
      shown.runs.map(async (run): Promise<Drawn> => ({
        label: run.label,
        look: looks[summary.policies.findIndex((p) => p.label === run.label)]!,
        story: await openChunk<Story>("run", run.chunk),
      })),
    );
    for (const panel of panels(drawn, shown.kinds ?? [])) {
      const place = h("div", { class: "panel" });
      box.append(place);
      timeline({ box: place, t: times(drawn[0]!.story), panel, key: "whole", about: `${panel.title} over time: ${drawn.map((d) => d.label).join(", ")}` });
    }
  };
  queueMicrotask(draw);
  return h("div", {}, h("h3", {}, shown.title), h("p", {}, shown.about), box);
}

function panels(drawn: Drawn[], kinds: Kind[]): Panel[] {
  const lines = (values: (story: Story) => Line["values"], step: boolean): Line[] => drawn.map((d) => ({ name: d.label, values: values(d.story), hue: d.look.hue, dash: d.look.dash, step }));
  const first = drawn[0]!.story;
  const one = kinds.length === 1 ? kinds[0]! : null;
  const level = one ? { name: `SLO ${milliseconds(one.slo_ms)}`, value: one.slo_ms } : { name: "SLO", value: 100 };
  return [
    { title: "Load", unit: "requests/s", format: (v) => figure(v), height: 84, lines: [{ name: "arrived", values: first.load, hue: 7, area: true }] },
    { title: "CPU", unit: "cores requested", format: (v) => figure(v), height: 180, lines: [...lines((s) => s.asked, true), { name: `used by ${drawn[0]!.label}`, values: first.used, hue: 7, area: true }] },
    {
      title: `Latency at the SLO’s percentile${one ? "" : " of the kind nearest to it"}`,
      unit: one ? "log scale" : "% of the SLO, log scale",
      format: one ? milliseconds : (v) => (v == null ? "–" : `${figure(v, 2)} %`),
      height: 150,
      log: true,
      lines: lines((s) => nearest(s, kinds, one), false),
      levels: [level],
    },
  ];
}

/** The latency of the kind that comes nearest to its SLO in each step: in milliseconds if there is
 * one kind, otherwise in per cent of its SLO. */
function nearest(story: Story, kinds: Kind[], one: Kind | null): (number | null)[] {
  return story.load.map((_, t) => {
    let worst: number | null = null;
    for (const k of kinds) {
      const v = story.at_slo[k.name]?.[t] ?? null;
      if (v !== null) worst = Math.max(worst ?? 0, one ? v : (100 * v) / k.slo_ms);
    }
    return worst;
  });
}
