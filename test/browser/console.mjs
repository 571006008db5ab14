// Opens the console's page in a real browser, as a user would, and makes sure that it works:
//
//   node console.mjs UI-ADDRESS CONSOLE-URL OUTPUT-FOLDER TOKEN-OF-ALL TOKEN-OF-MEDIA HOSTILE-NAME
//
// UI-ADDRESS is what `loadline ui` prints, with its key; CONSOLE-URL is the console itself, which asks for a
// token. Behind both are simulated clusters that go on. TestBrowserConsole in internal/cli starts them.
// Pictures go to the output folder. CHROMIUM names the browser. Nothing here depends on how fast the machine
// is: every wait is for a condition.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";

const [ui, consoleURL, out, tokenOfAll, tokenOfMedia, hostile] = process.argv.slice(2);
if (!hostile) {
  console.error("usage: node console.mjs UI-ADDRESS CONSOLE-URL OUTPUT-FOLDER TOKEN-OF-ALL TOKEN-OF-MEDIA HOSTILE-NAME");
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PATIENCE = 10 * 60_000;
const origin = ui.slice(0, ui.indexOf("#"));
const key = ui.slice(ui.indexOf("=") + 1);
const shop = "#/shop/boutique";

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
  for (const view of views) await look(view, view.name, ui, appearance);
  for (const view of views.slice(0, 2)) await look({ ...view, width: 1200 }, `pictures-${view.name}`, ui, pictures);
  await look(views[0], "live", ui, live);
  await look(views[0], "keyboard", ui, keyboard);
  await look(views[0], "hostile", ui, hostileNames);
  await look(views[0], "token", consoleURL, byToken);
  await look(views[0], "no-key", origin, withoutKey);
} finally {
  await browser.close();
}

/** Opens a page, lets a function inspect it, and makes sure that it complained of nothing. */
async function look(view, name, url, inspect) {
  const context = await browser.newContext({ viewport: { width: view.width, height: view.height }, colorScheme: view.colorScheme, timezoneId: "UTC", locale: "en-GB" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  const expected = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => complaints.push(`a name ran as script: ${dialog.message()}`) && dialog.dismiss());
  const base = new URL(url).origin;
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("data:")) complaints.push(`requested ${request.url()}`);
    if (request.url().includes(key) && !request.isNavigationRequest()) complaints.push(`the key is in the address ${request.url()}`);
  });
  await page.goto(url);
  await page.waitForSelector("html[data-ready]");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now());
  await inspect(page, view, name, expected);
  const unexpected = complaints.filter((text) => !expected.some((pattern) => pattern.test(text)));
  assert.deepEqual(unexpected, [], `${name}: the page complained`);
  console.log(`${name}: first paint after ${Math.round(paint)} ms, all well`);
  await context.close();
}

/** Every view is there, drawn, within its window, and usable by all. */
async function appearance(page, view, name) {
  assert.ok(!page.url().includes("key="), "the key stays in the address");
  await page.waitForSelector(".applications tbody tr:nth-child(4)");
  await until(page, "the link", () => document.querySelector(".link").textContent === "live");
  await checked(page, view, `console-overview-${name}`);
  const first = await page.locator(".applications tbody tr").first();
  assert.equal(await first.getAttribute("data-key"), "media/stream", "what needs attention is not first");
  assert.match(await first.textContent(), /Hold|Rule|Floor/);
  assert.match(await page.locator('[data-key="shop/boutique"]').textContent(), /p99 of .*USD.*an hour.*hpa:target=80.*Act.*Primary/s);

  await page.locator('[data-key="shop/boutique"] a').click();
  await page.waitForSelector(".service");
  await until(page, "all charts", () => document.querySelectorAll(".panel canvas").length === 10);
  await checked(page, view, `console-application-${name}`);
  assert.equal(await page.locator(".service").count(), 11);
  assert.ok((await page.locator(".calls path").count()) >= 10, "hardly any call");
  const inked = await ink(page);
  assert.ok(inked.every((n) => n > 300), `charts: ${inked}`);
  assert.match(await page.locator(".service").first().textContent(), /frontend.*visits.*of its CPU request in use.*pods? ready.*p99 share/);

  // A decision opens from the list, and says what the issue asks of it.
  await page.locator(".changes .open").first().click();
  await page.waitForSelector(".decision-body[data-done]");
  const said = await page.locator("dialog").innerText();
  for (const part of [/seen/i, /forecast/i, /planned for/i, /chosen/i, /guards/i, /expected, by the twin/i, /runner-up/i, /what then came/i]) assert.match(said, part);
  await checked(page, view, `console-decision-${name}`, false);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });

  await page.goto(`${origin}#/shop/reviews/models`);
  await page.waitForSelector("html[data-models]");
  await page.waitForSelector(".lineage li:nth-child(3)");
  await checked(page, view, `console-models-${name}`);
  assert.match(await page.locator("main").innerText(), /kubectl loadline rollback reviews -n shop/);
  assert.match(await page.locator(".commands").innerText(), /kubectl loadline promote reviews -n shop --mode Act/);
  assert.ok((await page.locator(".beside tbody tr").count()) >= 8, "hardly any candidate");
  assert.ok((await ink(page)).every((n) => n > 300), "a chart is empty");
  const card = await page.locator(".card-text h3").textContent();
  await page.locator('[data-version="1"] .version-head button').click();
  await until(page, "the card of another version", (was) => document.querySelector(".card-text h3").textContent !== was, card);
}

/** Pictures for the documentation: docs/images/page-*.png are copies. */
async function pictures(page, view) {
  const name = (what) => path.join(out, `page-${what}-${view.colorScheme}.png`);
  const upTo = async (selector) => Math.ceil(await page.locator(selector).evaluate((e) => e.getBoundingClientRect().bottom + scrollY)) + 16;
  const take = async (what, height) => page.screenshot({ path: name(what), fullPage: true, clip: { x: 0, y: 0, width: view.width, height } });
  await page.waitForSelector(".applications tbody tr:nth-child(4)");
  await until(page, "the link", () => document.querySelector(".link").textContent === "live");
  await take("overview", await upTo(".applications"));
  await page.goto(`${origin}${shop}`);
  await until(page, "all charts", () => document.querySelectorAll(".panel canvas").length === 10);
  await page.locator(".service", { hasText: "currencyservice" }).click();
  await until(page, "the service's charts", () => [...document.querySelectorAll(".charts h3")].some((h) => h.textContent === "Service currencyservice"));
  await take("application", await upTo(".charts"));
  // An earlier one: what then came is known.
  await page.locator(".changes .open").nth(4).click();
  await page.waitForSelector(".decision-body[data-done]");
  await page.setViewportSize({ width: view.width, height: 1180 });
  await page.locator("dialog").screenshot({ path: name("decision") });
  await page.keyboard.press("Escape");
  await page.goto(`${origin}#/shop/reviews/models`);
  await page.waitForSelector(".lineage li:nth-child(3)");
  await take("models", await upTo(".lineage"));
}

/** The page as it should be: themed, within its window, without serious findings of axe-core. */
async function checked(page, view, name, whole = true) {
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: path.join(out, `${name}.png`), fullPage: whole });
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const bright = background.match(/\d+/g).slice(0, 3).reduce((sum, v) => sum + Number(v), 0) > 380;
  assert.equal(bright, view.colorScheme === "light", `background ${background} in ${view.colorScheme}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name}: the page is ${wide} pixels wider than its window`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter((v) => ["serious", "critical"].includes(v.impact));
  assert.deepEqual(serious.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html).join(" ")}`), [], `${name}: axe-core`);
  console.log(`${name}: axe-core has no serious finding, ${violations.length} others: ${violations.map((v) => v.id).join(" ")}`);
}

function ink(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("canvas")].map((canvas) => {
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let n = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i] > 0) n++;
      return n;
    }),
  );
}

/** What the clusters do arrives without a reload; cursors and zoom are linked; marks open decisions. */
async function live(page) {
  await page.waitForSelector(".applications tbody tr:nth-child(4)");
  const row = '[data-key="shop/boutique"]';
  const before = await page.locator(row).innerText();
  await until(page, "a row to change", ([row, was]) => document.querySelector(row).innerText !== was, [row, before]);

  await page.goto(`${origin}${shop}`);
  await until(page, "all charts", () => document.querySelectorAll(".panel canvas").length === 10);
  const decided = await page.locator(".facts-row time").first().textContent();
  await until(page, "a later decision", (was) => document.querySelector(".facts-row time").textContent !== was, decided);

  // Another service: the charts are its own.
  await page.locator(".service", { hasText: "frontend" }).first().click();
  await until(page, "the service's charts", () => [...document.querySelectorAll(".charts h3")].some((h) => h.textContent === "Service frontend"));
  assert.equal(await page.locator("#service").inputValue(), "frontend");

  // The cursor of one chart moves that of all.
  const over = page.locator(".u-over");
  await over.nth(1).scrollIntoViewIfNeeded();
  const box = await over.nth(1).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await until(page, "the cursors to be linked", () => [...document.querySelectorAll(".panel")].filter((p) => [...p.querySelectorAll("output")].some((o) => o.textContent)).length >= 8);

  // A stretch that is dragged is shown by all, and stays while data arrive.
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 8 });
  await page.mouse.up();
  const latest = await page.locator(".facts-row time").first().textContent();
  await until(page, "data to arrive", (was) => document.querySelector(".facts-row time").textContent !== was, latest);
  await page.getByRole("button", { name: "Whole stretch" }).click();

  // A mark on the replicas opens the decision.
  const replicas = page.locator(".panel", { hasText: "Replicas" }).locator(".u-over");
  await replicas.scrollIntoViewIfNeeded();
  // Marks move while data arrive: a click may come too late, and is made again.
  const dialog = page.locator("dialog");
  for (let tries = 0; tries < 50 && (await dialog.count()) === 0; tries++) {
    const spot = await replicas.evaluate(markOf);
    assert.ok(spot, "no decision is marked on the replicas");
    await replicas.click({ position: spot });
  }
  await page.waitForSelector(".decision-body[data-done]");
  assert.match(await page.locator("#decision-title").textContent(), /^frontend: .* → /);
  await page.getByRole("button", { name: "Close" }).click();
  await page.waitForSelector("dialog", { state: "detached" });

  await page.locator("#theme").click(); // light
  await page.locator("#theme").click(); // dark
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
}

/** In the page: the middle of the first mark, where the pointer says that there is something to click at. */
function markOf(element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  const found = [];
  for (let x = 2; x < width; x += 3) {
    for (let y = 2; y < height; y += 3) {
      element.dispatchEvent(new MouseEvent("mousemove", { clientX: left + x, clientY: top + y, bubbles: true }));
      if (element.style.cursor === "pointer" && (found.length === 0 || x - found[0].x < 28)) found.push({ x, y });
    }
  }
  const middle = (of) => found.map(of).sort((a, b) => a - b)[Math.floor(found.length / 2)];
  return found.length === 0 ? null : { x: middle((p) => p.x), y: middle((p) => p.y) };
}

/** All of it without a mouse. */
async function keyboard(page) {
  await page.waitForSelector(".applications tbody tr:nth-child(4)");
  await page.locator("#find").focus();
  await page.keyboard.type("boutique");
  await until(page, "one row", () => document.querySelectorAll(".applications tbody tr").length === 1);
  await page.locator(".applications a").focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".service");
  await until(page, "the focus in the view", () => document.activeElement.id === "main");
  await until(page, "all charts", () => document.querySelectorAll(".panel canvas").length === 10);
  await page.locator(".service").nth(3).focus();
  await page.keyboard.press("Enter");
  await until(page, "the service", () => document.querySelectorAll('.service[aria-pressed="true"]').length === 1 && document.activeElement.getAttribute("aria-pressed") === "true");
  await page.locator(".panel .uplot").first().focus();
  await page.keyboard.press("ArrowLeft");
  await until(page, "a reading", () => [...document.querySelectorAll(".panel output")].some((o) => o.textContent));
  await page.locator(".changes .open").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".decision-body[data-done]");
  await page.keyboard.press("Escape");
  await until(page, "the focus where it was", () => document.activeElement.classList.contains("open"));
}

/** Names of others are text. */
async function hostileNames(page) {
  await page.waitForSelector('[data-key="media/hostile"]');
  assert.ok((await page.locator('[data-key="media/hostile"]').innerText()).includes(hostile), "the kind is not shown as it is");
  await page.goto(`${origin}#/media/hostile`);
  await page.waitForSelector(".service");
  await until(page, "all charts", () => document.querySelectorAll(".panel canvas").length === 10);
  assert.ok((await page.locator(".service .name").allTextContents()).includes(hostile), "the service is not shown as it is");
  await page.locator(".service", { hasText: "<img" }).first().click();
  await until(page, "its charts", (name) => [...document.querySelectorAll(".charts h3")].some((h) => h.textContent === `Service ${name}`), hostile);
  const own = page.locator("tr", { has: page.locator(".name", { hasText: "<img" }) }).locator(".open");
  if ((await own.count()) > 0) {
    await own.first().click();
    await page.waitForSelector(".decision-body[data-done]");
    assert.ok((await page.locator("#decision-title").textContent()).startsWith(hostile));
  }
  assert.equal(await page.locator("img").count(), 0, "a name became markup");
}

/** Served by the console itself: a token is needed, and shows what its user may read. */
async function byToken(page, _view, _name, expected) {
  expected.push(/401/);
  await page.locator("#token").fill("no-such-token");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".signin [role=alert]");
  await page.locator("#token").fill(tokenOfMedia);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".applications tbody tr:nth-child(2)");
  assert.deepEqual((await page.locator(".applications tbody tr").evaluateAll((rows) => rows.map((r) => r.dataset.key))).sort(), ["media/hostile", "media/stream"]);
  assert.ok(!(await page.content()).includes(tokenOfMedia), "the token is in the page");
  expected.push(/404/);
  await page.goto(`${consoleURL}${shop}`);
  await page.waitForSelector(".fault:not(:empty)");
  assert.match(await page.locator(".fault").first().textContent(), /no such LoadLine, or you may not read it/);
  await page.reload(); // the token is kept for this tab
  await page.waitForSelector(".fault:not(:empty)");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForSelector("#token");
  await page.locator("#token").fill(tokenOfAll);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".service");
}

/** Without the key of the run there is nothing. */
async function withoutKey(page, _view, _name, expected) {
  expected.push(/401/);
  await page.waitForSelector(".signin");
  assert.match(await page.locator("main").innerText(), /Open the address that loadline ui printed/);
  const answer = await page.evaluate(async () => (await fetch("api/v1/applications", { headers: { Authorization: `Bearer ${"0".repeat(64)}` } }).catch(() => ({ status: 0 }))).status);
  assert.equal(answer, 401);
}

/** Waits for a condition in the page. */
async function until(page, what, condition, argument) {
  try {
    await page.waitForFunction(condition, argument, { polling: 50 });
  } catch (fault) {
    throw new Error(`waited in vain for ${what}: ${fault.message}; the page says ${(await page.locator("body").innerText()).slice(0, 3000)}`);
  }
}
