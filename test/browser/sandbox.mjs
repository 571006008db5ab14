// Opens the sandbox in a real browser, as a visitor would, uses every control
// and waits for the clusters to answer:
// node sandbox.mjs SERVED-URL STATIC-URL OUTPUT-FOLDER HOSTILE-NAME
//
// SERVED-URL has the engine in the program, STATIC-URL in the browser. Pictures
// go to the output folder. CHROMIUM names the browser. Nothing here depends on
// how fast the machine is: every wait is for a condition.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";

const [served, folder, out, hostile] = process.argv.slice(2);
if (!hostile) {
  console.error("usage: node sandbox.mjs SERVED-URL STATIC-URL OUTPUT-FOLDER HOSTILE-NAME");
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PATIENCE = 10 * 60_000;

const views = [
  { name: "light", colorScheme: "light", width: 1440, height: 900 },
  { name: "dark", colorScheme: "dark", width: 1440, height: 900 },
  { name: "phone", colorScheme: "light", width: 390, height: 844 },
  { name: "phone-dark", colorScheme: "dark", width: 390, height: 844 },
];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  for (const view of views) await look(view, view.name, served, appearance);
  await look(views[0], "controls", served, everyControl);
  await look(views[0], "static", folder, inBrowser);
} finally {
  await browser.close();
}

/** Opens a page, lets a function inspect it, and makes sure that it complained of nothing. */
async function look(view, name, url, inspect) {
  const page = await browser.newPage({ viewport: { width: view.width, height: view.height }, colorScheme: view.colorScheme });
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => complaints.push(`a name ran as script: ${dialog.message()}`) && dialog.dismiss());
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) complaints.push(`requested ${request.url()}`);
  });
  await page.goto(url);
  await page.waitForSelector("html[data-ready]");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now());
  await page.waitForSelector("html[data-running]");
  await inspect(page, view, name);
  assert.deepEqual(complaints, [], `${name}: the page complained`);
  console.log(`${name}: first paint after ${Math.round(paint)} ms, all well`);
  await page.close();
}

/** Everything is there, drawn, within its window, and usable by all. */
async function appearance(page, view, name) {
  await page.selectOption("#speed", "300");
  await until(page, "ten simulated minutes", () => clockOf("#time") > 25 * 60);
  await page.selectOption("#pattern", "bursts");
  await until(page, "a quarter of an hour more", () => clockOf("#time") > 42 * 60);
  await page.locator("#play").click();
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: path.join(out, `sandbox-${name}.png`), fullPage: true });
  const inked = await page.evaluate(() =>
    [...document.querySelectorAll("canvas")].map((canvas) => {
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let n = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i] > 0) n++;
      return n;
    }),
  );
  assert.ok(inked.length === 4 && inked.every((n) => n > 500), `charts: ${inked}`);
  assert.ok((await page.locator(".node .pod").count()) > 20, "hardly any pod");
  assert.ok((await page.locator(".event").count()) > 0, "no decision");
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const bright = background.match(/\d+/g).slice(0, 3).reduce((sum, v) => sum + Number(v), 0) > 380;
  assert.equal(bright, view.colorScheme === "light", `background ${background} in ${view.colorScheme}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `the page is ${wide} pixels wider than its window`);

  // Names come from files of others.
  assert.equal(await page.locator("img").count(), 0, "a name became markup");
  assert.ok((await page.locator("#pattern option").allTextContents()).includes(hostile), "the hostile name is not shown as it is");

  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter((v) => ["serious", "critical"].includes(v.impact));
  assert.deepEqual(serious.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html).join(" ")}`), [], "axe-core");
  console.log(`${name}: axe-core has no serious finding, ${violations.length} others: ${violations.map((v) => v.id).join(" ")}`);
}

/** Each control acts, and both clusters answer. */
async function everyControl(page) {
  // Time.
  await page.selectOption("#speed", "60");
  const began = await page.evaluate(() => document.querySelector("#time").textContent);
  await until(page, "time to pass", (t) => document.querySelector("#time").textContent !== t, began);
  await page.locator("#play").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#play").textContent(), "Go on");
  await page.selectOption("#speed", "300");
  let still = await page.locator("#time").textContent();
  for (let same = 0; same < 5; ) { // one step may be on its way
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 200)));
    const now = await page.locator("#time").textContent();
    same = now === still ? same + 1 : 0;
    still = now;
  }
  await page.keyboard.press("Enter");
  await until(page, "time to go on", (t) => document.querySelector("#time").textContent !== t, still);

  // Load: by pattern, then by keyboard on the slider.
  await page.selectOption("#pattern", "steady");
  await until(page, "the pattern", () => document.querySelector("#pattern").value === "steady" && parseFloat(document.querySelector("#rate").textContent) > 0);
  await until(page, "the usual rate", () => document.querySelector("#rate").textContent === "50 requests/s");
  const before = await pods(page);
  await page.locator("#load").focus();
  await page.keyboard.press("End");
  await until(page, "four times the load", () => document.querySelector("#rate").textContent === "200 requests/s");
  await until(page, "more pods on both sides", (n) => podsOf().every((pods, i) => pods > n[i]), before);
  await page.keyboard.press("Home");
  await until(page, "a tenth of the load", () => parseFloat(document.querySelector("#rate").textContent) <= 5.1);
  await until(page, "nodes to be given back", () => [...document.querySelectorAll(".feed")].every((f) => f.textContent.includes("is given back")));

  // A decision opens and says why.
  const decision = page.locator(".feed").nth(1).locator("details").first();
  await page.locator("#play").click(); // the feed stays as it is
  await decision.locator("summary").click();
  assert.ok((await decision.locator("li").first().textContent()).length > 20, "a decision does not say why");
  await page.locator("#play").click();

  // Faults.
  await page.locator("#calm").click();
  await until(page, "the usual load", () => document.querySelector("#rate").textContent === "50 requests/s");
  await page.locator("#prometheus").click();
  await until(page, "the guard to leave the planner", () => pressed("#prometheus") && !["", "primary"].includes(guard()));
  assert.match(await page.locator("#status").textContent(), /Metrics are gone/);
  assert.ok((await page.locator(".rung-event").count()) > 0, "the feed does not say that the guard acts");
  await page.locator("#prometheus").click();
  await until(page, "the planner to decide again", () => !pressed("#prometheus") && guard() === "primary");

  await page.locator("#node").click();
  await until(page, "a lost node on each side", () => [...document.querySelectorAll(".nodes")].every((n) => n.querySelector(".node.lost")));
  await until(page, "the lost nodes to be replaced", () => !document.querySelector(".node.lost"));

  await page.locator("#neighbour").click();
  await until(page, "neighbours on all nodes", () => pressed("#neighbour") && [...document.querySelectorAll(".node.up .others")].every((o) => parseFloat(o.style.width) > 30));
  await page.locator("#neighbour").click();
  await until(page, "neighbours to sleep", () => !pressed("#neighbour") && [...document.querySelectorAll(".node.up .others")].every((o) => parseFloat(o.style.width) < 30));

  const used = await page.evaluate(() => usedCores("currencyservice"));
  await page.locator("#version").click();
  await until(page, "the slow version to use more CPU", (u) => pressed("#version") && usedCores("currencyservice").every((cores, i) => cores > 1.4 * u[i]), used);
  await page.locator("#calm").click();
  await until(page, "all to be undone", () => !["#prometheus", "#neighbour", "#version"].some((id) => pressed(id)) && Math.abs(document.querySelector("#load").value) < 0.01);

  await page.locator("#theme").click(); // light
  await page.locator("#theme").click(); // dark
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");

  await page.locator("#restart").click();
  await until(page, "the beginning", () => document.documentElement.dataset.running === "" && clockOf("#time") < 40 * 60);
}

/** The same page with the engine in the browser. */
async function inBrowser(page) {
  await page.selectOption("#speed", "120");
  await until(page, "time to pass", () => clockOf("#time") > 16 * 60);
  await page.locator("#node").click();
  await until(page, "a lost node on each side", () => [...document.querySelectorAll(".nodes")].every((n) => n.querySelector(".node.lost")));
  await page.screenshot({ path: path.join(out, "sandbox-static.png") });
}

function pods(page) {
  return page.evaluate(() => podsOf());
}

/** Waits for a condition in the page. */
async function until(page, what, condition, argument) {
  await page.evaluate(() => {
    window.clockOf ??= (id) => document.querySelector(id).textContent.match(/^(\d+):(\d+):(\d+)/).slice(1).reduce((sum, v) => 60 * sum + Number(v), 0);
    window.podsOf ??= () => [...document.querySelectorAll(".side dl")].map((dl) => Number(dl.children[3].querySelector("dd").textContent));
    window.pressed ??= (id) => document.querySelector(id).getAttribute("aria-pressed") === "true";
    window.guard ??= () => document.querySelectorAll(".side dl")[1].children[4]?.querySelector("dd").textContent ?? "";
    window.usedCores ??= (service) => {
      const cells = [...document.querySelectorAll(".services tbody tr")].find((r) => r.querySelector("th").textContent === service).querySelectorAll("td");
      return [0, 3].map((i) => (parseFloat(cells[i].textContent) * parseFloat(cells[i + 1].textContent) * parseFloat(cells[i + 2].textContent)) / 1e5);
    };
  });
  try {
    await page.waitForFunction(condition, argument, { polling: 50 });
  } catch (fault) {
    throw new Error(`waited in vain for ${what}: ${fault.message}; the page says ${await page.locator("body").innerText()}`);
  }
}
