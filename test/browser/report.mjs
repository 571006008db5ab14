// Opens a report in a real browser, as a reader would, and makes sure that it
// works: node report.mjs REPORT.html OUTPUT-FOLDER [ANSWER.html]
//
// ANSWER.html is a report that begins with an answer, as those of evaluate do.
// Pictures go to the output folder. CHROMIUM names the browser; the default is
// the one on the PATH.

import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [report, out, answer] = process.argv.slice(2);
if (!report || !out) {
  console.error("usage: node report.mjs REPORT.html OUTPUT-FOLDER [ANSWER.html]");
  process.exit(2);
}
const executablePath = process.env.CHROMIUM || onPath("chromium") || onPath("chromium-browser") || onPath("google-chrome");
if (!executablePath) {
  console.log("skipped: there is no Chromium; install Debian's package chromium, or name one in CHROMIUM");
  process.exit(0);
}
mkdirSync(out, { recursive: true });
const urlOf = (file) => pathToFileURL(path.resolve(file)).href;

const views = [
  { name: "light", colorScheme: "light", width: 1440, height: 900 },
  { name: "dark", colorScheme: "dark", width: 1440, height: 900 },
  { name: "narrow", colorScheme: "light", width: 420, height: 860 },
  { name: "narrow-dark", colorScheme: "dark", width: 420, height: 860 },
];

const browser = await chromium.launch({
  executablePath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  for (const view of views) {
    await look(view, view.name, urlOf(report), checkReport);
    if (answer) await look(view, `${view.name}-answer`, urlOf(answer), checkAnswer);
  }
} finally {
  await browser.close();
}

function onPath(name) {
  return (process.env.PATH ?? "").split(path.delimiter).map((dir) => path.join(dir, name)).find((file) => existsSync(file));
}

/** Opens a page, lets a function check it, and makes sure that it complained of nothing. */
async function look(view, name, url, inspect) {
  const page = await browser.newPage({ viewport: { width: view.width, height: view.height }, colorScheme: view.colorScheme });
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => complaints.push(`a name ran as script: ${dialog.message()}`) && dialog.dismiss());
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== url && !request.url().startsWith("data:")) complaints.push(`requested ${request.url()}`);
  });

  const began = Date.now();
  await page.goto(url);
  await page.waitForSelector("html[data-ready]");
  const took = Date.now() - began;
  await page.waitForSelector("#stories .panel canvas");
  await page.waitForSelector("#latency canvas");
  await inspect(page, view, name);
  assert.deepEqual(complaints, [], `${name}: the page complained`);
  console.log(`${name}: ready in ${took} ms, all well`);
  await page.close();
}

async function checkReport(page, view, name) {
  assert.ok((await page.locator("#verdicts .card").count()) > 0, "no verdict");
  await check(page, view);
  await picture(page, name);
  if (view.width > 1000) {
    await behave(page);
    await page.evaluate(() => (document.querySelector(".filters").style.position = "static")); // not across the pictures
    for (const section of ["table", "tradeoff", "latency", "perturbations", "stories"]) {
      if (await page.locator(`#${section}`).count()) await page.locator(`#${section}`).screenshot({ path: path.join(out, `${name}-${section}.png`) });
    }
  }
}

/** The answer comes first, with policies over each other: load, CPU, latency. */
async function checkAnswer(page, view, name) {
  assert.ok((await page.locator("#verdicts .answer").textContent()).length > 0, "no answer");
  await page.waitForSelector("#verdicts .whole .panel:nth-child(3) canvas");
  assert.equal(await page.locator("#verdicts .whole .panel").count(), 3);
  assert.ok((await page.locator("#verdicts .whole .panel:nth-child(2) .panel-entry").count()) >= 3, "fewer than two policies and what is used");
  await check(page, view);
  await picture(page, name);
}

async function picture(page, name) {
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: path.join(out, `${name}.png`), fullPage: true });
}

/** Everything is there, and drawn. */
async function check(page, view) {
  assert.ok((await page.locator("#table tbody tr:not(.group)").count()) > 0, "no row");
  assert.ok((await page.locator("#table .unmet s").count()) > 0, "no cost is struck, and some policy breaks the SLO");
  const pixels = await page.evaluate(() =>
    [...document.querySelectorAll("canvas")].map((canvas) => {
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let inked = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i] > 0) inked++;
      return inked;
    }),
  );
  assert.ok(pixels.length >= 7, `${pixels.length} charts`);
  assert.ok(pixels.every((n) => n > 500), `a chart is empty: ${pixels}`);
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const bright = background.match(/\d+/g).slice(0, 3).reduce((sum, v) => sum + Number(v), 0) > 380;
  assert.equal(bright, view.colorScheme === "light", `background ${background} in ${view.colorScheme}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `the page is ${wide} pixels wider than its window`);
  assert.equal(await page.locator("img").count(), 0, "a name became markup");
  assert.ok((await page.locator("#table .label", { hasText: "</script>" }).count()) > 0, "the hostile name is not shown as it is");
}

/** Filter, sort, theme, stories, keyboard. */
async function behave(page) {
  const rows = () => page.locator("#table tbody tr:not(.group)").count();
  const all = await rows();
  await page.locator(".filters select").nth(0).selectOption({ index: 1 });
  const some = await rows();
  assert.ok(some > 0 && some < all, `the filter keeps ${some} of ${all} rows`);
  await page.locator(".filters select").nth(0).selectOption({ index: 0 });
  await page.locator(".filters select").nth(2).selectOption({ index: 0 });
  assert.ok((await rows()) > all, "all perturbations are not more rows than one");

  // What counts comes first; within it costs rise.
  const costs = async () => (await page.locator("#table tbody").first().locator("tr:not(.unmet) .cost .value").allTextContents()).map((text) => parseFloat(text));
  const rising = await costs();
  assert.ok(rising.length > 1, "too few rows to sort");
  assert.deepEqual(rising, [...rising].sort((a, b) => a - b), "costs do not rise");
  await page.locator('[data-sort="bill"]').click();
  assert.deepEqual(await costs(), [...rising].reverse(), "a second click does not turn the order");
  await page.getByLabel("Differences to the baseline").check();
  assert.ok((await page.locator("#table th", { hasText: "Δ" }).count()) > 0, "no differences");
  await page.getByLabel("Differences to the baseline").uncheck();

  await page.locator("#theme").click(); // light
  await page.locator("#theme").click(); // dark
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.locator("#theme").click(); // auto

  await page.locator("#table button.policy").nth(2).click();
  await page.waitForSelector("#stories article:nth-child(2) canvas");
  const chart = page.locator("#stories .uplot").first();
  await chart.focus();
  await page.keyboard.press("Home");
  for (let i = 0; i < 5; i++) await page.keyboard.press("Shift+ArrowRight");
  assert.match(await page.locator("#stories .moment").first().textContent(), /^at \d/, "the keyboard does not move the cursor");
  assert.match(await page.locator("#stories .moment").nth(1).textContent(), /^at \d/, "the second story does not follow");
  assert.ok((await page.locator("#stories .decisions tbody tr").count()) > 0, "no decisions");
  assert.match(await page.evaluate(() => location.hash), /right=/, "the address does not hold the choice");
}
