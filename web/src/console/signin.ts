// Where the page is served by the controller, the user gives a token of the cluster.

import { h } from "../base/dom";
import { byFragment, keepAccess } from "./api";
import type { View } from "./view";
import { command } from "./words";

export function signIn(why: string, begin: () => void): View {
  return { title: byFragment ? "Key needed" : "Sign in", element: byFragment ? keyNeeded(why) : form(why, begin), close: () => undefined };
}

function keyNeeded(why: string): HTMLElement {
  return h(
    "section",
    { class: "signin" },
    h("h2", {}, "Open the address that loadline ui printed"),
    why ? h("p", { class: "hue-mark", role: "alert" }, why) : null,
    h("p", {}, "It ends with a key that is made for each run. This page has none, or it is that of an earlier run."),
  );
}

function form(why: string, begin: () => void): HTMLElement {
  const token = h("input", { type: "password", id: "token", autocomplete: "off", required: true, spellcheck: "false" });
  const element = h(
    "form",
    { class: "signin" },
    h("h2", {}, "Sign in with a token of the cluster"),
    why ? h("p", { class: "hue-mark", role: "alert" }, why) : null,
    h("label", { for: "token" }, "Token"),
    token,
    h("button", { type: "submit", class: "main" }, "Sign in"),
    h("p", { class: "soft" }, "You see the LoadLines that the token’s user may read. It is kept for this tab only. A service account’s token:"),
    command("kubectl create token NAME", "the command that makes a token"),
    h("p", { class: "soft" }, "Without a token, with your kubeconfig:"),
    command("loadline ui", "the command that serves this page on your machine"),
  );
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    keepAccess(token.value.trim());
    token.value = "";
    begin();
  });
  return element;
}
