// What the console answers: mirrors internal/console. What is not known is absent, or null in a column.

export interface Rung {
  name: string;
  since?: string;
  why?: string;
}

export interface Objective {
  kind: string;
  percentile?: number;
  target_s?: number;
  latency_s?: number;
  over_slo?: number;
  rate?: number;
  met?: boolean;
  attainment?: number;
  budget_left?: number;
  since?: string;
}

export interface Money {
  currency: string;
  per_hour?: number;
  per_month?: number;
  baseline?: { name: string; per_month: number; saved: number };
  basis?: string;
}

export interface Condition {
  type: string;
  status: string;
  reason: string;
  message?: string;
  since: string;
}

export interface Application {
  namespace: string;
  name: string;
  mode: string;
  policy?: string;
  rung?: Rung;
  slo_met?: string;
  objectives: Objective[];
  money?: Money;
  services_moved?: string;
  decided?: string;
  conditions: Condition[];
  attention: string[];
}

export type Column = (number | null)[];

export interface Size {
  cpu_request_cores: number;
  cpu_limit_cores: number;
  memory_request_bytes: number;
  memory_limit_bytes: number;
}

export interface Service {
  name: string;
  state?: string;
  rate?: number;
  cpu_cores?: number;
  utilisation?: number;
  p99_over_slo?: number;
  share?: { percentile: number; latency_s: number };
  replicas_wanted?: number;
  replicas_applied?: number;
  replicas_ready?: number;
  size?: Size;
  forecast?: { at: string; step_s: number; median: Column; high?: Column };
  why?: string;
  changed?: string;
}

export interface Call {
  from: string;
  to: string;
}

export interface Detail extends Application {
  services: Service[];
  calls?: Call[];
  record: string;
}

export interface ServiceSeries {
  service: string;
  rate: Column;
  cpu_cores: Column;
  throttled: Column;
  p99_s: Column;
  replicas_wanted: Column;
  replicas_applied: Column;
  replicas_ready: Column;
  cpu_request_cores: Column;
  forecast_median: Column;
  forecast_high: Column;
}

export interface Series {
  step_s: number;
  times: number[];
  kinds: { kind: string; rate: Column; latency_s: Column; over_slo: Column }[];
  services: ServiceSeries[];
  nodes: Column;
  per_hour: Column;
  currency: string;
  complete: boolean;
}

export interface Change {
  at: string;
  service: string;
  from: string;
  to: string;
  applied: boolean;
  mode?: string;
  policy: string;
  rung?: string;
  why?: string;
  guards?: string[];
  error?: string;
}

/** A sample is its value and its age in seconds; the value may be "NaN". */
export type Sample = [value: number | string, age: number];

export interface Allocation {
  replicas: number;
  size: { cpu_request: number; cpu_limit: number; memory_request: number; memory_limit: number };
  brownout?: boolean;
}

export interface Setting {
  replicas?: number;
  cpu_request?: number;
  cpu_limit?: number;
  memory_request?: number;
  memory_limit?: number;
  brownout?: boolean;
}

export interface Estimate {
  allocation: Allocation;
  capacity: number | string;
  latency_s?: number;
  per_hour: number | string;
}

export interface DecidedService {
  name: string;
  seen: {
    rate?: Sample;
    cpu?: Sample;
    memory?: Sample;
    throttled?: Sample;
    errors?: Sample;
    queue?: Sample;
    latency_s?: { p50?: Sample; p99?: Sample };
    pods?: { phase: string }[];
  };
  told: Allocation;
  forecast?: { step_s: number; median: (number | string)[]; high?: (number | string)[] };
  proposal?: { setting: Setting; reason?: string; expects?: { rate: number | string; within_s: number }; runner_up?: { setting: Setting; reason?: string } };
  guards?: { name: string; from: Setting; to: Setting; reason?: string }[];
  plan?: Setting;
  outlook?: {
    load: number | string;
    ahead_s?: number;
    part: { percentile: number; latency_s: number };
    users?: { kind: string; percentile: number; latency_s: number; over_slo: number | string };
    currency: string;
    before: Estimate;
    planned: Estimate;
    runner_up: Estimate;
  };
}

export interface Decision {
  service: string;
  text: string;
  changed: boolean;
  decision: {
    at: string;
    applied?: string;
    policy: string;
    mode?: string;
    rung?: string;
    error?: string;
    services?: DecidedService[];
    kinds?: { name: string; rate?: Sample; at_slo_s?: Sample }[];
  };
  then?: { from: string; until: string; rate?: number; p99_s?: number; throttled?: number; replicas_ready?: number; over_slo?: number; per_hour?: number };
}

export interface DeploymentEstimate {
  name: string;
  policy?: string;
  per_month?: number;
  over_slo?: number;
  error?: number;
}

export interface Candidate {
  label: string;
  role: string;
  method?: string;
  policy?: string;
  on: string;
  slo: string;
  per_month: number | null;
  per_month_range: [number | null, number | null];
  over_slo_ratio: number | null;
  over_slo_range: [number | null, number | null];
  front: boolean;
  promoted?: boolean;
}

export interface Curve {
  candidate: string;
  service: string;
  points: { steps: number; return: number | null; loss: number | null; evaluation: number | null }[];
}

export interface Version {
  version: number;
  former: number;
  candidate: string;
  policy?: string;
  formulation: string;
  verdict: string;
  forced: boolean;
  training: { data: string; from?: string; to?: string; samples?: number; seed: number };
  at: string;
  by: string;
  prefer?: string;
}

export interface Models {
  policy?: string;
  mode: string;
  source: string;
  previous?: { policy: string; mode: string };
  estimate?: { basis: string; currency?: string; current: DeploymentEstimate; others: DeploymentEstimate[]; ahead?: string; in_a_row?: number };
  judged?: {
    app: string;
    from: string;
    to: string;
    peak_rate: number;
    p99_error: number | null;
    currency: string;
    deployments: { label: string; policy?: string; per_month: number | null; over_slo_ratio: number | null }[];
    candidates?: Candidate[];
    curves?: Curve[];
  };
  versions?: Version[];
  current?: number;
  pinned?: number;
  card?: string;
  notes?: string[];
}

export function keyOf(a: { namespace: string; name: string }): string {
  return `${a.namespace}/${a.name}`;
}

/** A number of a record, where NaN is text. */
export function plain(v: number | string | null | undefined): number | null {
  return typeof v === "number" && Number.isFinite(v) ? v : null;
}

export function valueOf(sample: Sample | undefined): number | null {
  return sample ? plain(sample[0]) : null;
}

/** The objective that is closest to its target, or furthest beyond it. */
export function worst(objectives: Objective[]): Objective | undefined {
  return objectives.reduce<Objective | undefined>((found, o) => (o.over_slo !== undefined && (found?.over_slo === undefined || o.over_slo > found.over_slo) ? o : found), undefined);
}

/** The least error budget that any objective has left. */
export function budget(objectives: Objective[]): Objective | undefined {
  return objectives.reduce<Objective | undefined>((found, o) => (o.budget_left !== undefined && (found?.budget_left === undefined || o.budget_left < found.budget_left) ? o : found), undefined);
}

export function needsAttention(a: Application): boolean {
  return a.attention.length > 0 || a.slo_met === "False" || (a.rung !== undefined && a.rung.name !== "Primary") || (budget(a.objectives)?.budget_left ?? 1) < 0;
}
