// The messages of internal/sandbox, as they come over the wire.

export interface Kind {
  name: string;
  percentile: number;
  seconds: number;
}

export interface About {
  app: string;
  services: string[];
  kinds: Kind[];
  usual: number;
  patterns: { name: string; about: string }[];
  sides: [string, string];
  currency: string;
  node: string;
  price: number;
  slow: string;
  factors: [number, number];
  speed: number;
  seed: number;
}

/** ID, service, phase, millicores. */
export type Pod = [number, number, number, number];
export const PHASES = ["pending", "starting", "ready", "draining"] as const;

export interface Node {
  slot: number;
  name: string;
  state: "coming" | "up" | "draining" | "lost";
  cores: number;
  free: number;
  others: number;
  pods?: Pod[];
}

export interface Sample {
  t: number;
  load: number;
  p: number | null;
  k: number;
  over: number | null;
  ready: number;
  nodes: number;
  money: number | null;
  request: number;
}

export interface Event {
  t: number;
  type: "decision" | "hold" | "rung" | "node";
  text: string;
  changes?: { service: string; text: string; why?: string; guards?: string[] }[];
}

export interface Service {
  desired: number;
  ready: number;
  request: number;
  use: number | null;
}

export interface Side {
  bill: number;
  per_hour: number;
  requests: number;
  over: number | null;
  rung?: string;
  nodes: Node[];
  pending?: Pod[];
  services: Service[];
  samples?: Sample[];
  events?: Event[];
}

export interface State {
  at: number;
  load: number;
  factor: number;
  pattern: string;
  faults: { blind: boolean; neighbour: boolean; slow: boolean };
  ended?: boolean;
  sides: [Side, Side];
}

export interface Command {
  do: "load" | "pattern" | "prometheus" | "node" | "neighbour" | "version" | "calm";
  factor?: number;
  pattern?: string;
  on?: boolean;
}

export type Request = { open: { seed?: number } } | { step: { seconds: number; commands: Command[] } };

export interface Reply {
  about?: About;
  state?: State;
  error?: string;
}
