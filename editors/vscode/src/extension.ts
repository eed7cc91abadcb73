/** Starts `gradlint server`, and adds the commands of a line. */

import * as vscode from "vscode";
import { LanguageClient, State } from "vscode-languageclient/node";

import { SECTION, command, settingsOf } from "./settings";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const register = (name: string, run: () => Promise<unknown>) =>
    context.subscriptions.push(vscode.commands.registerCommand(name, run));
  register("gradlint.restart", restart);
  register("gradlint.explainLine", () => onLine((uri, row) => send("gradlint.explain", [uri, row])));
  register("gradlint.confirmLine", () => onLine(confirm));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration(`${SECTION}.path`)) {
        await restart();
      } else if (change.affectsConfiguration(SECTION)) {
        await client?.sendNotification("workspace/didChangeConfiguration", { settings: { [SECTION]: settings() } });
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  if (client?.state === State.Running) {
    await client.stop();
  }
}

function settings(): Record<string, unknown> {
  const all = vscode.workspace.getConfiguration(SECTION);
  return settingsOf((name) => all.get(name));
}

async function start(): Promise<void> {
  const path = vscode.workspace.getConfiguration(SECTION).get<string>("path", "gradlint");
  client = new LanguageClient(SECTION, "gradlint", command(path), {
    documentSelector: [
      { language: "python", scheme: "file" },
      { language: "python", scheme: "untitled" },
      { notebook: "*", language: "python" },
    ],
    initializationOptions: settings(),
  });
  try {
    await client.start();
  } catch (error) {
    const what = `gradlint: \`${path} server\` does not start: pip install "torch-gradlint[server]", or set gradlint.path`;
    void vscode.window.showErrorMessage(`${what} (${error})`);
  }
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}

async function onLine(run: (uri: string, row: number) => Promise<unknown>): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor !== undefined) {
    await run(editor.document.uri.toString(), editor.selection.active.line + 1);
  }
}

/** Ask torch about a finding of the line: about the only one, or the one that is chosen. */
async function confirm(uri: string, row: number): Promise<void> {
  const found = vscode.languages
    .getDiagnostics(vscode.Uri.parse(uri))
    .filter((one) => one.source === SECTION && one.range.start.line <= row - 1 && row - 1 <= one.range.end.line)
    .map((one) => String(typeof one.code === "object" ? one.code.value : one.code));
  const code = found.length > 1 ? await vscode.window.showQuickPick(found) : found[0];
  if (code !== undefined) {
    await send("gradlint.confirm", [uri, row, code]);
  }
}

async function send(name: string, values: unknown[]): Promise<unknown> {
  return client?.sendRequest("workspace/executeCommand", { command: name, arguments: values });
}
