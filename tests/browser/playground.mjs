// The playground of the site in a real browser, served from this machine: what it finds, and that it loads nothing else.
//
//     node playground.mjs SITE FOLDER
//
// Screenshots go to FOLDER. CHROME names the browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import puppeteer from "puppeteer-core";

const [site, folder] = process.argv.slice(2);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css",
  ".wasm": "application/wasm" };
const server = createServer(async (asked, answer) => {
  const path = normalize(new URL(asked.url, "http://localhost").pathname);
  try {
    const content = await readFile(join(site, path));
    answer.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(content);
  } catch {
    answer.writeHead(404).end();
  }
}).listen(0, "127.0.0.1");
await new Promise((done) => server.once("listening", done));
const home = `http://127.0.0.1:${server.address().port}`;

const browser = await puppeteer.launch({ executablePath: process.env.CHROME ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage();
page.setDefaultTimeout(180000);
const wrong = [];
page.on("pageerror", (error) => wrong.push(error.message));
page.on("request", (request) =>
  request.url().startsWith(home) || /^(data|blob|about):/.test(request.url()) || wrong.push(`loads ${request.url()}`));

const PROGRAM = "import torch\n\nx = torch.randn(4, requires_grad=True)\nh = x.exp()\n";
const CASES = [
  [`${PROGRAM}h += 1\nh.sum().backward()\n`, "Findings:", "GRD103"],
  [`${PROGRAM}h = h + 1\nh.sum().backward()\n`, "No findings.", ""],
  ["match 1:\n    case 1:\n        pass\n", "Findings:", "GRD001"],
  [`x = ${"(".repeat(150)}1${")".repeat(150)}\n`, "", ""],
];
for (const [name, width, scheme] of [["desktop", 1200, "light"], ["phone", 390, "dark"]]) {
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(`${home}/playground.html`);
  for (const [program, status, said] of CASES) {
    await page.$eval("#try textarea", (area, text) => { area.value = text; }, program);
    const before = Date.now();
    await page.$eval("#try [role=status]", (one) => { one.textContent = ""; });
    await page.click("#try button");
    await page.waitForFunction(() => /[.:]$/.test(document.querySelector("#try [role=status]").textContent)
      && !/^(Loading|Checking)/.test(document.querySelector("#try [role=status]").textContent));
    const got = await page.$eval("#try [role=status]", (one) => one.textContent);
    const report = await page.$eval("#try iframe", (one) => one.srcdoc);
    console.log(`${name}: ${JSON.stringify(got)} after ${Date.now() - before} ms`);
    if (status) assert.equal(got, status);
    assert.ok(report.includes(said), `${said} is not in the report`);
    if (said === "GRD103") {
      await new Promise((done) => setTimeout(done, 500));
      await page.screenshot({ path: `${folder}/playground-${name}.png`, fullPage: true });
    }
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false, `${name}: the page is wider than the window`);
}
await browser.close();
server.close();
assert.deepEqual(wrong, []);
