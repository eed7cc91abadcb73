/** What the extension knows without VS Code: how the server is started, and which of the settings are its own. */

export const SECTION = "gradlint";

/** The settings that the server knows; `path` is for the extension alone. */
export const SETTINGS = ["configuration", "options", "run", "inlayHints", "codeLens"] as const;

/** The command that starts the server. */
export function command(path: string): { command: string; args: string[] } {
  return { command: path, args: ["server"] };
}

/** The settings as the server takes them. */
export function settingsOf(get: (name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(SETTINGS.map((name) => [name, get(name)]));
}
