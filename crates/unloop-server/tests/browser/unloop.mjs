// A server over a database of its own, and a browser that looks at it.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const BINARY = process.env.UNLOOP_BINARY;

/** Runs the program to its end; what it printed. */
export function run(...args) {
  const done = spawnSync(BINARY, args, { encoding: "utf8", cwd: tmpdir() });
  if (done.status !== 0) throw new Error(`unloop ${args.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

/** A folder that goes with its owner. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "unloop-browser-"));
  return { path, database: join(path, "unloop.db"), remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A server on a port of its own: its address, and how to end it. */
export async function serve(database, ...more) {
  const process = spawn(BINARY, ["serve", "--db", database, "--listen", "127.0.0.1:0", "--seed", "7", ...more], {
    cwd: join(database, ".."),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  process.stderr.on("data", (text) => (log += text));
  const url = await new Promise((resolve, reject) => {
    process.stdout.on("data", (text) => {
      const found = /unloop is at (http:\/\/[^/]+)\//.exec(text);
      if (found) resolve(found[1]);
    });
    process.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${log}`)));
  });
  const ended = new Promise((resolve) => process.on("exit", resolve));
  return {
    url,
    log: () => log,
    stop: async () => {
      process.kill("SIGTERM");
      return ended;
    },
  };
}

/** Posts JSON; the answer. */
export async function call(url, path, body, method = "POST", headers = {}) {
  const answer = await fetch(url + path, { method, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

/** Somebody is shown options and takes what `pick` says. */
export async function choose(url, catalog, context, pick) {
  const shown = await call(url, `/v1/catalogs/${catalog}/presentations`, { context });
  const chosen = pick(shown.options.map((own) => own.option));
  return call(url, `/v1/presentations/${shown.id}/choice`, { token: shown.token, chosen: [chosen] });
}

/** Chromium: Debian's, or what UNLOOP_CHROMIUM names. */
export async function browser() {
  const places = [process.env.UNLOOP_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const executablePath = places.find((place) => place && existsSync(place));
  if (!executablePath) throw new Error("there is no Chromium: apt-get install chromium");
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}
