// The page of `--output-format html` in a real browser: what axe says of it, filters, keys, and print.
//
//     node report.mjs PAGE FOLDER
//
// PAGE must have findings of at least two rules and two files. Screenshots go to FOLDER. CHROME names the browser.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const [file, folder] = process.argv.slice(2);
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const browser = await puppeteer.launch({
  executablePath: process.env.CHROME ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage();
const wrong = [];
page.on("pageerror", (error) => wrong.push(error.message));
page.on("request", (request) => request.url().startsWith("file:") || wrong.push(`loads ${request.url()}`));

const shown = () => page.$$eval("article", (all) => all.filter((one) => !one.hidden).length);
const values = (name) => page.$$eval(`select[name=${name}] option`, (all) => all.map((one) => one.value).filter(Boolean));

for (const [name, width, scheme] of [["desktop", 1280, "light"], ["desktop", 1280, "dark"], ["phone", 390, "light"]]) {
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(pathToFileURL(file).href);
  await page.click("button[name=expand]");
  await page.screenshot({ path: `${folder}/${name}-${scheme}.png`, fullPage: true });
  await page.addScriptTag({ path: axe });
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`), []);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false, `${name}: the page is wider than the window`);
}

await page.goto(pathToFileURL(file).href);
const all = await shown();
for (const name of ["code", "file", "severity"]) {
  let sum = 0;
  for (const value of await values(name)) {
    await page.select(`select[name=${name}]`, value);
    sum += await shown();
  }
  assert.equal(sum, all, `the values of ${name} divide the findings`);
  await page.select(`select[name=${name}]`, "");
}
await page.select("select[name=group]", "rule");
assert.deepEqual(await page.$$eval("section", (every) => every.length), (await values("code")).length);
await page.keyboard.press("/");
await page.keyboard.type("no such finding");
assert.equal(await shown(), 0);
await page.keyboard.press("Escape");
assert.equal(await shown(), all);
await page.keyboard.press("j");
await page.keyboard.press("j");
await page.keyboard.press("k");
assert.equal(await page.$eval("article.current", (one) => one === document.querySelector("article")), true);
const open = () => page.$eval("article.current details", (one) => one.open);
const before = await open();
await page.keyboard.press("o");
assert.equal(await open(), !before);
await page.pdf({ path: `${folder}/report.pdf` });
assert.deepEqual(wrong, []);
await browser.close();
console.log(`${all} findings: no violation of accessibility, filters, keys and print work`);
