// Asks the console, with what the user gave or what `loadline ui` put into the address. It is kept for
// this tab only, and never shown.

const KEPT = "loadline-access";

export class Refused extends Error {
  constructor(
    readonly code: number,
    text: string,
  ) {
    super(text);
  }
}

/** How the page is used: with a token of the cluster, or with the key of a run of loadline ui. */
export const byFragment = document.body.dataset["access"] === "fragment";

let access = "";

/** Takes the key from the address, if it is there, and out of it: it is not to be copied or kept by the browser. */
export function takeAccess(): void {
  const key = /^#key=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (key) {
    history.replaceState(null, "", location.pathname);
    keepAccess(key);
  } else {
    access = sessionStorage.getItem(KEPT) ?? "";
  }
}

export function keepAccess(secret: string): void {
  access = secret;
  if (secret) sessionStorage.setItem(KEPT, secret);
  else sessionStorage.removeItem(KEPT);
}

export function hasAccess(): boolean {
  return access !== "";
}

/** Opens an answer. The path is below api/v1/. */
export async function open(path: string, query: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
  const search = new URLSearchParams(query).toString();
  let response: Response;
  try {
    response = await fetch(`api/v1/${path}${search ? `?${search}` : ""}`, { headers: { Authorization: `Bearer ${access}` }, cache: "no-store", credentials: "omit", redirect: "error", signal });
  } catch (fault) {
    if (signal?.aborted) throw fault;
    throw new Refused(0, byFragment ? "loadline ui does not answer: is it still running?" : "the console does not answer");
  }
  if (response.ok) return response;
  const text = await response.text();
  let said = `the console answered ${response.status}`;
  try {
    const body = JSON.parse(text) as { error?: string; message?: string };
    said = body.error ?? body.message ?? said;
  } catch {
    // Not an answer of the console.
  }
  throw new Refused(response.status, said);
}

export async function ask<T>(path: string, query: Record<string, string> = {}, signal?: AbortSignal): Promise<T> {
  return (await (await open(path, query, signal)).json()) as T;
}

/** The path of an application. */
export function pathOf(a: { namespace: string; name: string }): string {
  return `applications/${encodeURIComponent(a.namespace)}/${encodeURIComponent(a.name)}`;
}
