// What the page is given: the types of internal/report/summary.go and of the
// packed chunks.

export type Triple = [mean: number | null, low: number | null, high: number | null];

export interface Measure {
  key: string;
  name: string;
  unit: string;
  main: boolean;
  about: string;
}

export interface Policy {
  label: string;
  family: string;
  reference: boolean;
}

export interface Kind {
  name: string;
  percentile: number;
  slo_ms: number;
}

export interface Scenario {
  app: string;
  workload: string;
  perturbation: string;
  engine: string;
  kinds: Kind[] | null;
}

export interface Run {
  id: number;
  chunk: number;
  seed: string;
  cost: number | null;
  over_slo_ratio: number | null;
}

export interface Row {
  scenario: number;
  policy: number;
  settings: string;
  met: boolean;
  front: boolean;
  values: Record<string, Triple>;
  against: Record<string, Triple>;
  over_clairvoyant: Triple | null;
  bound: Triple | null;
  runs: Run[] | null;
}

export interface Verdict {
  winner: number;
  sentence: string;
  notes: string[];
}

/** The answer that the runs were made for, and what it rests on. */
export interface Lead {
  kind: string;
  sentence: string;
  facts: { name: string; value: string }[];
  reasons: string[];
  assumptions: string[];
  /** What policies do under conditions other than those of the comparison. */
  conditions: { columns: string[] | null; rows: string[][] | null };
  unit: string;
  points: { label: string; cost: Triple; over_slo_ratio: Triple; front: boolean; note: string }[] | null;
  /** Runs over all of the data that the answer is about. */
  whole?: { title: string; about: string; kinds: Kind[] | null; runs: { label: string; chunk: number }[] };
}

/** How a policy learned: the mean of DRPC's reward over its models. */
export interface Learning {
  app: string;
  workload: string;
  policy: number;
  models: number;
  setting: string;
  steps: number[];
  rewards: (number | null)[];
  final: Triple;
}

export interface Summary {
  suite: string;
  programs: string[];
  baseline: string;
  seeds: number;
  engines: string[];
  counts_if: number;
  /** Key of the measure that policies are ranked by. */
  cost: string;
  measures: Measure[];
  policies: Policy[];
  scenarios: Scenario[];
  perturbations: Record<string, string>;
  rows: Row[];
  verdicts: Verdict[];
  curves?: Learning[];
  lead?: Lead;
}

/** What a cost is counted in, after its figure. */
export function costUnit(summary: Summary): string {
  return summary.cost === "bill" ? "(bill)" : "core-hours";
}

type Series = (number | null)[];

export interface Decision {
  t: number;
  service: string;
  change: string;
  reason: string;
}

export interface Story {
  from: number;
  step: number;
  steps: number;
  t?: number[];
  load: Series;
  failed: Series;
  used: Series;
  asked: Series;
  replicas: Record<string, Series>;
  at_slo: Record<string, Series>;
  changed: number[];
  decisions: number;
  shown: Decision[] | null;
}

/** Distributions of a scenario: by kind of request, then by row. */
export type Latencies = Record<string, Record<string, { ms: number[]; slower: number[] }>>;

export function readSummary(): Summary {
  return JSON.parse(document.getElementById("summary")!.textContent!) as Summary;
}

const opened = new Map<string, Promise<unknown>>();

/** Opens a packed chunk, once. */
export function openChunk<T>(kind: "run" | "scenario", index: number): Promise<T> {
  const id = `${kind}-${index}`;
  let content = opened.get(id);
  if (!content) {
    content = unpack(id);
    opened.set(id, content);
  }
  return content as Promise<T>;
}

async function unpack(id: string): Promise<unknown> {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the report has no part ${id}`);
  const bytes = Uint8Array.from(atob(element.textContent!), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** The instants of a story's steps, in seconds. */
export function times(story: Story): number[] {
  return story.t ?? Array.from({ length: story.steps }, (_, i) => story.from + i * story.step);
}
