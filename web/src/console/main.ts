// The console's page: a head, and one view chosen by the address.

import "./style.css";
import { h } from "../base/dom";
import { logo, themeButton } from "../base/header";
import { setTheme } from "../charts/theme";
import { byFragment, hasAccess, keepAccess, takeAccess } from "./api";
import { application } from "./application";
import { models } from "./models";
import { overview } from "./overview";
import { signIn } from "./signin";
import { Store } from "./store";
import type { View } from "./view";

setTheme("auto");
takeAccess();

const store = new Store();
const status = h("span", { class: "link", role: "status" });
const out = h("button", { type: "button", class: "quiet", hidden: true }, "Sign out");
const path = h("nav", { "aria-label": "Where you are", class: "where" });
const main = h("main", { id: "main", tabindex: -1 });
const skip = h("a", { href: "#main", class: "skip" }, "Skip to the content");
skip.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.body.append(skip, h("header", {}, h("div", { class: "title" }, h("a", { href: "#/", class: "home" }, logo(), h("span", {}, "Loadline")), path, status, out, themeButton())), main);
let view: View | null = null;

out.addEventListener("click", () => {
  store.stop();
  store.applications.clear();
  store.known = false;
  keepAccess("");
  ask("");
});
addEventListener("hashchange", () => hasAccess() && show());
store.listen(() => {
  status.className = `link ${store.link}`;
  status.textContent = store.link === "live" ? "live" : store.link === "lost" ? `not live: ${store.why}` : "connecting…";
});
if (hasAccess()) begin();
else ask("");
document.documentElement.dataset["ready"] = "";

function begin(): void {
  out.hidden = byFragment;
  void store.follow((text) => {
    keepAccess("");
    ask(text);
  });
  show();
}

function ask(why: string): void {
  out.hidden = true;
  status.textContent = "";
  path.replaceChildren();
  change(signIn(why, begin));
}

/** The view of the address: #/, #/NAMESPACE/NAME or #/NAMESPACE/NAME/models. */
function show(): void {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
  const [namespace, name, part] = parts;
  const crumbs: Node[] = [];
  if (namespace && name) {
    const base = `#/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
    const tab = (href: string, text: string, here: boolean) => h("a", { href, "aria-current": here ? "page" : undefined, class: "tab" }, text);
    crumbs.push(h("span", { class: "crumb" }, `${namespace} / `, h("strong", {}, name)), tab(base, "Services", part !== "models"), tab(`${base}/models`, "Models", part === "models"));
  }
  path.replaceChildren(...crumbs);
  change(!namespace || !name ? overview(store) : part === "models" ? models({ namespace, name }) : application(store, { namespace, name }));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function change(next: View): void {
  view?.close();
  const moved = view !== null;
  view = next;
  document.title = `${next.title} – Loadline`;
  main.replaceChildren(h("h1", { class: "unseen" }, next.title), next.element);
  if (moved) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}
