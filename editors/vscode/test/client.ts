/** The server, started as the extension starts it, answers a client of the same protocol library: no VS Code is needed. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  DidOpenTextDocumentNotification,
  DocumentDiagnosticRequest,
  ExecuteCommandRequest,
  ExitNotification,
  HoverRequest,
  InitializeRequest,
  InitializedNotification,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  createProtocolConnection,
} from "vscode-languageserver-protocol/node";

import { SETTINGS, command, settingsOf } from "../src/settings";

const TEXT = "import torch\n\nw = torch.ones(3, requires_grad=True)\nw += 1\n";
const declared = JSON.parse(readFileSync("package.json", "utf8")).contributes.configuration.properties;

test("the settings of the package are those of the server", () => {
  assert.deepEqual(
    Object.keys(declared).sort(),
    ["path", ...SETTINGS].map((name) => `gradlint.${name}`).sort(),
  );
});

test("the server answers", async () => {
  const start = command(process.env.GRADLINT ?? "gradlint");
  const server = spawn(start.command, start.args, { stdio: ["pipe", "pipe", "inherit"] });
  const client = createProtocolConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  client.listen();
  const { capabilities } = await client.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: { textDocument: { diagnostic: {} }, notebookDocument: { synchronization: {} } },
    initializationOptions: settingsOf((name) => declared[`gradlint.${name}`].default),
  });
  assert.ok(capabilities.hoverProvider && capabilities.codeLensProvider && capabilities.inlayHintProvider);
  assert.ok(capabilities.notebookDocumentSync);
  assert.deepEqual(capabilities.executeCommandProvider?.commands.sort(), [
    "gradlint.confirm",
    "gradlint.explain",
    "gradlint.graph",
  ]);
  await client.sendNotification(InitializedNotification.type, {});
  const textDocument = { uri: "untitled:a.py", languageId: "python", version: 1, text: TEXT };
  await client.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
  const report = await client.sendRequest(DocumentDiagnosticRequest.type, { textDocument });
  assert.equal(report.kind, "full");
  assert.deepEqual(
    report.items.map((one) => one.code),
    ["GRD101"],
  );
  const hover = await client.sendRequest(HoverRequest.type, { textDocument, position: { line: 3, character: 0 } });
  assert.match(JSON.stringify(hover?.contents), /shape: \[3\]/);
  const said = await client.sendRequest(ExecuteCommandRequest.type, {
    command: "gradlint.explain",
    arguments: [textDocument.uri, 3],
  });
  assert.match(String(said), /Tensor\[3\] float32 grad leaf v0/);
  await client.sendRequest(ShutdownRequest.type);
  const ended = new Promise((resolve) => server.once("exit", resolve));
  await client.sendNotification(ExitNotification.type);
  assert.equal(await ended, 0);
});
