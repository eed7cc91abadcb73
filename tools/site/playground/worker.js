// Runs gradlint on Pyodide, beside the page: it answers each program with the page of `--output-format html`.
import { loadPyodide } from "./pyodide.mjs";

const CHECK = `
from pathlib import Path
from gradlint.entrypoints.cli import main

def check(text):
    """Return the exit status, and the report."""
    program, report = Path("example.py"), Path("report.html")
    program.write_text(text, encoding="utf-8")
    status = main(["check", "--isolated", "--no-cache", "--quiet", "--output-format", "html", "-o", str(report), str(program)])
    return status, report.read_text(encoding="utf-8")

check
`;

async function ready() {
  const [python, packages] = await Promise.all([
    loadPyodide(),
    fetch(new URL("./packages.zip", import.meta.url)).then((found) => found.arrayBuffer()),
  ]);
  const folder = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
  python.unpackArchive(packages, "zip", { extractDir: folder });
  python.runPython("import importlib, os; importlib.invalidate_caches(); os.chdir('/home/pyodide')");
  return python.runPython(CHECK);
}

const checking = ready();
checking.then(() => postMessage({ ready: true }), (error) => postMessage({ failed: String(error) }));

onmessage = async ({ data }) => {
  const check = await checking;
  try {
    const [status, report] = check(data.text).toJs();
    postMessage({ number: data.number, status, report });
  } catch (error) {
    postMessage({ number: data.number, failed: String(error) });
  }
};
