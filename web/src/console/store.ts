// The applications, as the stream of events has them.

import { open, Refused } from "./api";
import { keyOf, type Application } from "./data";

export type Link = "connecting" | "live" | "lost";

/** Between two attempts to reach the stream, in ms: twice as long each time. */
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 30_000;

export class Store {
  readonly applications = new Map<string, Application>();
  link: Link = "connecting";
  /** Why the link is lost, in words. */
  why = "";
  /** Something was received: before, an empty list means nothing. */
  known = false;
  private readonly listeners = new Set<(key: string | null) => void>();
  private life = new AbortController();

  /** Calls back with the application that has changed, or null if it is something else; until the result is called. */
  listen(listener: (key: string | null) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Follows the stream until stop is called. `refused` is called when the access is not good any more. */
  async follow(refused: (text: string) => void): Promise<void> {
    const life = (this.life = new AbortController());
    let pause = FIRST_PAUSE;
    while (!life.signal.aborted) {
      try {
        await this.read(life.signal, () => (pause = FIRST_PAUSE));
        this.set("connecting", "");
      } catch (fault) {
        if (life.signal.aborted) return;
        if (fault instanceof Refused && fault.code === 401) return refused(fault.message);
        this.set("lost", fault instanceof Error ? fault.message : String(fault));
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }

  stop(): void {
    this.life.abort();
  }

  private set(link: Link, why: string): void {
    this.link = link;
    this.why = why;
    this.tell(null);
  }

  private tell(key: string | null): void {
    for (const listener of [...this.listeners]) listener(key);
  }

  private async read(signal: AbortSignal, answered: () => void): Promise<void> {
    const response = await open("events", {}, signal);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const seen = new Set<string>();
    let first = true;
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      answered();
      const parts = (rest + value).split("\n\n");
      rest = parts.pop()!;
      for (const part of parts) {
        const key = this.take(part);
        if (key) seen.add(key);
        if (first && part.startsWith(": ready")) {
          // What was there before the stream was lost may be gone.
          first = false;
          for (const key of [...this.applications.keys()]) if (!seen.has(key)) this.applications.delete(key);
          this.known = true;
          this.set("live", "");
        }
      }
    }
  }

  /** Takes one event, and returns the key of its application. */
  private take(text: string): string | null {
    let kind = "";
    let data = "";
    for (const line of text.split("\n")) {
      if (line.startsWith("event: ")) kind = line.slice(7);
      else if (line.startsWith("data: ")) data += line.slice(6);
    }
    if (!data) return null;
    const about = JSON.parse(data) as Application;
    const key = keyOf(about);
    if (kind === "application") this.applications.set(key, about);
    else if (kind === "gone") this.applications.delete(key);
    this.tell(key);
    return key;
  }
}
