// The last hours of an application and of one of its services, in columns that grow at their end.

import { ask, pathOf } from "./api";
import type { Application, Column, Series, Service } from "./data";

/** How much of the end is asked for again: the last steps were not over. */
const AGAIN_SECONDS = 240;

/** Forecasts for what is to come are drawn so far ahead. */
const AHEAD_SECONDS = 600;

export interface Past {
  /** When it was asked for, by the reader's clock in ms. */
  asked: number;
  /** Unix seconds, without gaps: a step without a measurement has nulls. */
  t: number[];
  step: number;
  kinds: Map<string, { rate: Column; latency: Column; over: Column }>;
  service: { rate: Column; cpu: Column; requested: Column; throttled: Column; latency: Column; wanted: Column; applied: Column; ready: Column; median: Column; high: Column };
  nodes: Column;
  money: Column;
  currency: string;
  complete: boolean;
}

/** Asks for the whole window, or with `before` for what came since and its end. */
export async function load(app: Pick<Application, "namespace" | "name" | "decided">, service: string, span: number, before: Past | null, signal: AbortSignal): Promise<Past> {
  const asked = Date.now();
  let seconds = span;
  if (before) {
    // By the reader's clock, which runs while the page is not seen, and by that of the decisions.
    const decided = app.decided ? Date.parse(app.decided) / 1000 - (before.t[before.t.length - 1] ?? 0) : 0;
    seconds = Math.min(span, Math.ceil(Math.max((asked - before.asked) / 1000, decided)) + AGAIN_SECONDS);
  }
  const series = await ask<Series>(`${pathOf(app)}/series`, { since: `${seconds}s`, service }, signal);
  const fresh = columns(series, service, asked);
  return before ? join(before, fresh, span) : fresh;
}

/** Fills the steps that are not there. */
function columns(s: Series, service: string, asked: number): Past {
  const t: number[] = [];
  const from: number[] = [];
  s.times.forEach((at, i) => {
    for (let last = t[t.length - 1]; last !== undefined && at - last > 1.5 * s.step_s; last = t[t.length - 1]) {
      t.push(last + s.step_s);
      from.push(-1);
    }
    t.push(at);
    from.push(i);
  });
  const spread = (column: Column | undefined): Column => from.map((i) => (i < 0 ? null : (column?.[i] ?? null)));
  const of = s.services.find((o) => o.service === service);
  const requested = of?.cpu_request_cores.map((cores, i) => (cores === null || of.replicas_ready[i] == null ? null : cores * of.replicas_ready[i]!));
  return {
    asked,
    t,
    step: s.step_s,
    kinds: new Map(s.kinds.map((k) => [k.kind, { rate: spread(k.rate), latency: spread(k.latency_s), over: spread(k.over_slo) }])),
    service: {
      rate: spread(of?.rate),
      cpu: spread(of?.cpu_cores),
      requested: spread(requested),
      throttled: spread(of?.throttled),
      latency: spread(of?.p99_s),
      wanted: spread(of?.replicas_wanted),
      applied: spread(of?.replicas_applied),
      ready: spread(of?.replicas_ready),
      median: spread(of?.forecast_median),
      high: spread(of?.forecast_high),
    },
    nodes: spread(s.nodes),
    money: spread(s.per_hour),
    currency: s.currency,
    complete: s.complete,
  };
}

/** Puts the end of `fresh` in the place of that of `old`, and drops what is older than the span. */
function join(old: Past, fresh: Past, span: number): Past {
  const first = fresh.t[0];
  if (first === undefined) return { ...old, asked: fresh.asked };
  const end = fresh.t[fresh.t.length - 1]!;
  const overlap = old.t.findIndex((t) => t >= first);
  const kept = overlap < 0 ? old.t.length : overlap;
  const gap: number[] = [];
  for (let t = (old.t[kept - 1] ?? first) + old.step; t < first - old.step / 2; t += old.step) gap.push(t);
  const all = [...old.t.slice(0, kept), ...gap, ...fresh.t];
  const drop = all.findIndex((t) => t > end - span);
  const cut = <T>(list: T[]) => list.slice(Math.max(0, drop));
  const merge = (was: Column | undefined, now: Column | undefined): Column =>
    cut([...(was ?? new Array<null>(kept).fill(null)).slice(0, kept), ...gap.map(() => null), ...(now ?? fresh.t.map(() => null))]);
  const s = Object.fromEntries((Object.keys(fresh.service) as (keyof Past["service"])[]).map((key) => [key, merge(old.service[key], fresh.service[key])])) as Past["service"];
  return {
    ...fresh,
    t: cut(all),
    kinds: new Map([...fresh.kinds].map(([kind, now]) => {
      const was = old.kinds.get(kind);
      return [kind, { rate: merge(was?.rate, now.rate), latency: merge(was?.latency, now.latency), over: merge(was?.over, now.over) }];
    })),
    service: s,
    nodes: merge(old.nodes, fresh.nodes),
    money: merge(old.money, fresh.money),
  };
}

/** The past with what is forecast from now on: further times, at which nothing is measured yet. */
export function withAhead(past: Past, forecast: Service["forecast"]): Past {
  const last = past.t[past.t.length - 1];
  if (!forecast || last === undefined) return past;
  const made = Date.parse(forecast.at) / 1000;
  const more: number[] = [];
  const median: Column = [];
  const high: Column = [];
  for (let t = last + past.step; t <= last + AHEAD_SECONDS; t += past.step) {
    const values = forecast.median.map((_, i) => i).filter((i) => Math.floor((made + (i + 1) * forecast.step_s) / past.step) * past.step === t);
    const most = (column: Column | undefined) => values.reduce<number | null>((so, i) => (column?.[i] == null ? so : Math.max(so ?? -Infinity, column[i]!)), null);
    const [m, q] = [most(forecast.median), most(forecast.high)];
    if (m === null && q === null) continue;
    more.push(t);
    median.push(m);
    high.push(q);
  }
  const none = more.map(() => null);
  const pad = (column: Column) => [...column, ...none];
  const s = Object.fromEntries(Object.entries(past.service).map(([key, column]) => [key, pad(column)])) as Past["service"];
  s.median = [...past.service.median, ...median];
  s.high = [...past.service.high, ...high];
  return {
    ...past,
    t: [...past.t, ...more],
    kinds: new Map([...past.kinds].map(([kind, k]) => [kind, { rate: pad(k.rate), latency: pad(k.latency), over: pad(k.over) }])),
    service: s,
    nodes: pad(past.nodes),
    money: pad(past.money),
  };
}
