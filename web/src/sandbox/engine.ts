// The simulated clusters, wherever they run: in this browser, as WebAssembly in
// a worker, or in the program that serves the page. Both answer the same
// messages.

import type { Reply, Request } from "./protocol";

export interface Engine {
  ask(request: Request): Promise<Reply>;
}

/** The engine that the page was made for. `progress` has what it waits for, in words. */
export function connect(progress: (text: string) => void): Engine {
  return document.body.dataset["engine"] === "wasm" ? inBrowser(progress) : onServer();
}

/** Each page has clusters of its own, by a name that no other page can guess. */
function onServer(): Engine {
  const name = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  return {
    async ask(request) {
      let response: Response;
      try {
        response = await fetch("message", { method: "POST", headers: { "Content-Type": "application/json", "X-Loadline-Sandbox": name }, body: JSON.stringify(request) });
      } catch {
        return { error: "loadline sandbox does not answer: is it still running?" };
      }
      const text = await response.text();
      if (!response.ok) return { error: text.trim() || `the program answered ${response.status}` };
      return JSON.parse(text) as Reply;
    },
  };
}

function inBrowser(progress: (text: string) => void): Engine {
  const worker = new Worker("worker.js");
  const waiting: ((reply: Reply) => void)[] = [];
  let broken = "";
  worker.onmessage = (event: MessageEvent<{ progress?: string; reply?: string; fault?: string }>) => {
    const { progress: text, reply, fault } = event.data;
    if (text !== undefined) progress(text);
    if (reply !== undefined) waiting.shift()?.(JSON.parse(reply) as Reply);
    if (fault !== undefined) stop(fault);
  };
  worker.onerror = (event) => stop(event.message || "the engine could not be loaded");
  function stop(fault: string): void {
    broken = fault;
    for (const answer of waiting.splice(0)) answer({ error: fault });
  }
  return {
    ask(request) {
      if (broken) return Promise.resolve({ error: broken });
      return new Promise((resolve) => {
        waiting.push(resolve);
        worker.postMessage(JSON.stringify(request));
      });
    },
  };
}
