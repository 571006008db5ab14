// The engine as WebAssembly, beside the page, so that it stays smooth. Loaded
// only by a page that was written as a static folder.

// Of Go's wasm_exec.js, and of cmd/loadline-wasm.
declare class Go {
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}
declare function importScripts(...urls: string[]): void;
declare const loadlineSettings: (settings: string) => string;
declare const loadlineAnswer: (message: string) => string;

const port = self as unknown as { postMessage(message: unknown): void; onmessage: ((event: MessageEvent<string>) => void) | null };
const early: string[] = [];
port.onmessage = (event) => early.push(event.data);

load().then(
  () => {
    const answer = (message: string) => port.postMessage({ reply: loadlineAnswer(message) });
    port.onmessage = (event) => answer(event.data);
    early.forEach(answer);
  },
  (fault: unknown) => port.postMessage({ fault: `the engine could not be loaded: ${fault instanceof Error ? fault.message : String(fault)}` }),
);

async function load(): Promise<void> {
  importScripts("wasm_exec.js");
  const go = new Go();
  const settings = await (await fetched("settings.json")).text();
  const { instance } = await WebAssembly.instantiateStreaming(await engine(), go.importObject);
  void go.run(instance).then(() => port.postMessage({ fault: "the engine has stopped" }));
  const fault = loadlineSettings(settings);
  if (fault) throw new Error(fault);
}

async function fetched(name: string): Promise<Response> {
  const response = await fetch(name);
  if (!response.ok || !response.body) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response;
}

/** The engine is compressed, unless the server has said so and the browser has undone it. */
async function engine(): Promise<Response> {
  const response = await fetched("engine.wasm.gz");
  const total = Number(response.headers.get("Content-Length"));
  let loaded = 0;
  let first: Uint8Array<ArrayBuffer> | undefined;
  const reader = response.body!.getReader();
  const read = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    const { done, value } = await reader.read();
    if (done) return undefined;
    loaded += value.length;
    port.postMessage({ progress: `Loading the engine: ${(loaded / 1e6).toFixed(1)} MB${total >= loaded ? ` of ${(total / 1e6).toFixed(1)}` : ""}` });
    return value;
  };
  first = await read();
  const packed = first?.[0] === 0x1f && first[1] === 0x8b;
  const whole = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const chunk = first ?? (await read());
      first = undefined;
      if (chunk) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const body = packed ? whole.pipeThrough(new DecompressionStream("gzip")) : whole;
  return new Response(body, { headers: { "Content-Type": "application/wasm" } });
}
