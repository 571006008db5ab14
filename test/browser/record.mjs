// Records the sandbox for the README: node record.mjs LOADLINE OUTPUT-FOLDER
//
// Frames of a short story, frame-NNN.png, and a picture of the whole page in
// both themes and on a phone. The pace is simulated time: a frame is taken
// whenever the clusters have advanced by so many seconds, however long the
// machine takes for it.

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const [program, out] = process.argv.slice(2);
if (!program || !out) {
  console.error("usage: node record.mjs LOADLINE OUTPUT-FOLDER");
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const server = spawn(program, ["sandbox", "--addr", "127.0.0.1:0", "--load", "bursts"], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((resolve, reject) => {
  let text = "";
  server.stdout.on("data", (chunk) => {
    text += chunk;
    const found = text.match(/http:\/\/[\d.]+:\d+/);
    if (found) resolve(found[0]);
  });
  server.on("exit", () => reject(new Error(`${program} sandbox has ended: ${text}`)));
});
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--headless", "--no-sandbox", "--disable-gpu"] });
try {
  await story();
  for (const [name, colorScheme, width, height] of [["light", "light", 1440, 900], ["dark", "dark", 1440, 900], ["phone", "light", 390, 844]]) await picture(name, colorScheme, width, height);
} finally {
  await browser.close();
  server.removeAllListeners("exit");
  server.kill();
}

async function open(colorScheme, width, height, scale = 1) {
  const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: scale, colorScheme, reducedMotion: "reduce" });
  page.setDefaultTimeout(600_000);
  await page.goto(url);
  await page.waitForSelector("html[data-running]");
  return page;
}

/** Waits until the clusters have reached an instant, in seconds. */
function reach(page, at) {
  return page.waitForFunction((t) => document.querySelector("#time").textContent.match(/^(\d+):(\d+):(\d+)/).slice(1).reduce((sum, v) => 60 * sum + Number(v), 0) >= t, at, { polling: 20 });
}

async function story() {
  const page = await open("light", 1280, 800, 0.75);
  await page.selectOption("#speed", "10"); // slow enough for any machine
  await page.selectOption("#pattern", "steady");
  const acts = new Map([
    [3, () => slide(page, 1.6)],
    [25, () => slide(page, 0)],
    [42, () => page.locator("#prometheus").click()],
    [48, () => page.locator("#node").click()],
  ]);
  for (let i = 0; i < 52; i++) {
    await reach(page, 900 + 20 * (i + 1));
    await acts.get(i)?.();
    await page.screenshot({ path: path.join(out, `frame-${String(i).padStart(3, "0")}.png`) });
  }
  await page.close();
}

/** Drags the load to a power of two. */
async function slide(page, power) {
  await page.evaluate((v) => {
    const input = document.querySelector("#load");
    input.value = v;
    input.dispatchEvent(new Event("input"));
    input.dispatchEvent(new Event("change"));
  }, power);
}

async function picture(name, colorScheme, width, height) {
  const page = await open(colorScheme, width, height);
  await page.selectOption("#speed", "300");
  await reach(page, 50 * 60);
  await page.locator("#play").click();
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: path.join(out, `sandbox-${name}.png`), fullPage: true });
  await page.close();
}
