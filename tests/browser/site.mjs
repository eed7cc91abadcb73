// The documentation site in a real browser, from file:// and without a network: what it loads, its width, its search.
//
//     node site.mjs SITE FOLDER
//
// Screenshots go to FOLDER. CHROME names the browser.
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const [site, folder] = process.argv.slice(2);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROME ?? "/usr/bin/chromium", args: ["--no-sandbox", "--allow-file-access-from-files"] });
const page = await browser.newPage();
const wrong = [];
page.on("pageerror", (error) => wrong.push(error.message));
page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || wrong.push(`loads ${request.url()}`));
const open = (name) => page.goto(pathToFileURL(join(site, name)).href);

const pages = ["index.html", "tutorial.html", "cli.html", "configuration.html", "comparison.html", "operations/r.html",
  "rules/index.html", "rules/GRD103-saved-tensor-modified.html", "zh/index.html", "zh/tutorial.html"];
for (const [name, width, scheme] of [["desktop", 1400, "light"], ["desktop", 1400, "dark"], ["phone", 390, "light"]]) {
  await page.setViewport({ width, height: 1000 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  for (const one of pages) {
    await open(one);
    await page.screenshot({ path: `${folder}/${one.replace(/\W/g, "-")}-${name}-${scheme}.png` });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(wide, false, `${one}, ${name}: the page is wider than the window`);
  }
}

await page.setViewport({ width: 1400, height: 1000 });
for (const [from, query, wanted] of [["index.html", "saved tensor modified", "GRD103"], ["index.html", "log_softmax", "operations/"],
  ["zh/index.html", "计算图", "zh/"]]) {
  await open(from);
  await page.waitForSelector("input[name=query]");
  await page.click("input[name=query]");
  await page.type("input[name=query]", query);
  await page.keyboard.press("Space"); // The theme waits for a key, which a Chinese character is not.
  await page.waitForSelector(".md-search-result__link", { timeout: 20000 });
  await page.waitForFunction((text) => [...document.querySelectorAll(".md-search-result__link")]
    .some((one) => one.href.includes(text)), { timeout: 20000 }, wanted).catch(() => wrong.push(`${query}: no ${wanted}`));
  await page.screenshot({ path: `${folder}/search-${wanted.replace(/\W/g, "")}.png` });
}
await browser.close();
assert.deepEqual(wrong, []);
