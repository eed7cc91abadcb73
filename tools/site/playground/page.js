// The page that runs gradlint in the browser: it starts the worker when it is first needed, and shows what it answers.
const page = document.getElementById("try");
const [program, button, status, report] = ["textarea", "button", "[role=status]", "iframe"].map((one) => page.querySelector(one));
let worker = null;
let number = 0;

const say = (text) => { status.textContent = text; };

function show({ data }) {
  if (data.failed) {
    say(`gradlint cannot run here: ${data.failed}`);
  } else if (data.number === number) {
    say({ 0: "No findings.", 1: "Findings:" }[data.status] ?? "This cannot be checked:");
    report.srcdoc = data.report.replaceAll("<details>", "<details open>").replace("<head>", '<head><base target="_blank">');
    report.hidden = false;
  }
}

function check() {
  if (location.protocol === "file:") {
    say("Browsers start no Pyodide from a file: serve the site, as by `python -m http.server`.");
    return;
  }
  if (worker === null) {
    worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    worker.onmessage = show;
    worker.onerror = () => say("This build of the site has no Pyodide: `make playground` adds it.");
    say("Loading Python: 16 MB, once.");
  } else {
    say("Checking.");
  }
  number += 1;
  worker.postMessage({ number, text: program.value });
}

button.addEventListener("click", check);
program.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) check();
});
