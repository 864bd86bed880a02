// The dashboard in a real browser, as people use it. `./browser.sh` runs it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { browser, call, choose, folder, run, serve } from "./unloop.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const HOSTILE = "<script>alert(1)</script>";
const LIMIT = 20_000;

let chromium;
before(async () => (chromium = await browser()));
after(() => chromium?.close());

/** A page that tells of console errors, dialogs, and of requests that leave the server. */
async function open(server, options = {}) {
  const context = await chromium.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  const faults = [];
  page.on("console", (message) => message.type() === "error" && faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`script: ${error}`));
  page.on("dialog", (dialog) => (faults.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => request.url().startsWith(server.url) || faults.push(`elsewhere: ${request.url()}`));
  return { page, context, faults, go: (path) => page.goto(server.url + path) };
}

/** Serious and critical violations that axe finds. */
async function violations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const serious = found.violations.filter((own) => ["serious", "critical"].includes(own.impact));
  return serious.map((own) => `${own.id}: ${own.nodes.map((node) => node.html).join(" | ").slice(0, 400)}`);
}

/** Names in the leaderboard, first to last. */
const names = (page) => page.locator(".board tbody th").evaluateAll((all) => all.map((own) => own.firstChild.textContent.trim()));

/** Waits until something holds. */
async function until(what, holds) {
  const end = Date.now() + LIMIT;
  for (;;) {
    if (await holds()) return;
    if (Date.now() > end) assert.fail(`in ${LIMIT / 1000} s it did not come about that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe("from an empty database", () => {
  let home, server;
  before(async () => {
    home = folder();
    server = await serve(home.database);
  });
  after(async () => {
    assert.equal(await server.stop(), 0, "the server ends in good order, streams and all");
    assert.doesNotMatch(server.log(), /ERROR|panicked/);
    home.remove();
  });

  test("the first visit tells what to do, and makes a catalog", async () => {
    const { page, faults, go } = await open(server);
    await go("/");
    await page.getByText("Nothing here yet").waitFor();
    await page.getByLabel("Name").fill("lunch");
    await page.getByLabel("Options").fill("soup\nsalad\ncurry\nramen");
    await page.getByLabel("Shown at a time").fill("2");
    await page.getByRole("button", { name: "Make the catalog" }).click();
    await page.getByRole("heading", { name: "lunch", level: 1 }).waitFor();
    const lines = await page.locator("#curl").textContent();
    assert.match(lines, new RegExp(`${server.url}/v1/catalogs/lunch/presentations`));
    assert.deepEqual((await names(page)).sort(), ["curry", "ramen", "salad", "soup"]);
    assert.equal(await page.getByText("never shown", { exact: true }).count(), 4);
    assert.deepEqual(faults, []);
  });

  test("a catalog that cannot be is refused, and what was typed stays", async () => {
    const { page, go } = await open(server);
    await go("/");
    await page.getByLabel("Name").fill("lunch");
    await page.getByLabel("Options").fill("a, b");
    await page.getByRole("button", { name: "Make the catalog" }).click();
    await page.getByText("there is a catalog").waitFor();
    assert.equal(await page.getByLabel("Options").inputValue(), "a, b");
  });

  test("the leaderboard moves while somebody else chooses", async () => {
    const { page, faults, go } = await open(server);
    await go("/catalogs/lunch");
    const shown = () => page.locator(".board tbody tr").first().locator("td").last().textContent();
    for (let round = 0; round < 30; round += 1) {
      await choose(server.url, "lunch", "ada", (options) => (options.includes("curry") ? "curry" : options[0]));
    }
    await until("curry leads by itself", async () => (await names(page))[0] === "curry" && Number(await shown()) > 0);
    // Of one that never was shown nothing but its place has moved.
    assert.deepEqual(faults, []);
  });

  test("options that are ticked stay in view, and are predicted", async () => {
    const { page, faults, go } = await open(server);
    await go("/catalogs/lunch");
    await page.getByLabel("Keep curry in view").check();
    await page.waitForURL(/pick=curry/);
    await page.getByLabel("Keep soup in view").check();
    await page.waitForURL(/pick=soup/);
    const chances = page.locator("section", { has: page.getByRole("heading", { name: "What would be chosen?" }) }).locator("tbody tr");
    await until("two chances are told", async () => (await chances.count()) === 2);
    await page.getByLabel("Search options").fill("ramen");
    await until("the search is heard", async () => (await names(page)).join() === "curry,soup,ramen" || (await names(page)).length === 3);
    assert.deepEqual(faults, []);
  });

  test("without scripts everything is there, and forms work", async () => {
    const { page, go } = await open(server, { javaScriptEnabled: false });
    await go("/catalogs/lunch");
    await page.getByLabel("Keep curry in view").check();
    await page.getByLabel("Keep salad in view").check();
    await page.getByRole("button", { name: "Show" }).click();
    assert.match(page.url(), /pick=curry&pick=salad|pick=salad&pick=curry/);
    assert.equal(await page.getByLabel("Keep salad in view").isChecked(), true);
  });

  test("a choice is withdrawn, and a context erased", async () => {
    const { page, faults, go } = await open(server);
    await choose(server.url, "lunch", "bob/../?&", (options) => options[0]);
    await go("/catalogs/lunch/contexts?prefix=bob");
    await page.getByRole("link", { name: "bob/../?&" }).click();
    await page.getByRole("heading", { name: "bob/../?&", level: 1 }).waitFor();
    await page.getByText("Withdraw", { exact: true }).last().click();
    await page.getByRole("button", { name: "Yes, withdraw it" }).click();
    await page.getByText("withdrawn").first().waitFor();
    await page.getByText("Erase this context").click();
    await page.getByLabel("Type its name to confirm").fill("somebody else");
    await page.getByRole("button", { name: "Erase it for good" }).click();
    await page.getByText("nothing was erased").waitFor();
    await page.goBack();
    await page.getByText("Erase this context").click();
    await page.getByLabel("Type its name to confirm").fill("bob/../?&");
    await page.getByRole("button", { name: "Erase it for good" }).click();
    await page.waitForURL(/\/catalogs\/lunch$/);
    await go("/catalogs/lunch/contexts?prefix=bob");
    await page.getByText("No context begins with that").waitFor();
    // The refusal above is an answer of 422, which browsers report.
    assert.deepEqual(faults.filter((own) => !own.includes("422")), []);
  });

  test("whoever chooses in Try it sees the preferred option rise to the top", async () => {
    const { page, faults, go } = await open(server);
    await go("/try");
    await page.getByLabel("Options").fill("tea\ncoffee\ncocoa");
    await page.getByLabel("Shown at a time").fill("2");
    await page.getByRole("button", { name: "Begin" }).click();
    const first = () => page.locator("#known-title ~ .scroll tbody th").first().textContent();
    for (let round = 1; round <= 12; round += 1) {
      const offered = await page.locator(".choices button").allTextContents();
      const taken = offered.includes("cocoa") ? "cocoa" : offered[0];
      await page.locator(".choices button", { hasText: taken }).click();
      await page.getByText(`after ${round} choices`).waitFor();
    }
    assert.equal((await first()).trim(), "cocoa");
    const before = await call(server.url, "/v1/catalogs", undefined, "GET");
    assert.deepEqual(before.rows.map((own) => own.catalog), ["lunch"], "nothing of it is in the real log");
    assert.deepEqual(faults, []);
  });

  test("simulated people bring the estimate to the truth, and the blind counter into its loop", async () => {
    const { page, faults, go } = await open(server);
    await go("/try");
    await page.getByRole("button", { name: "Begin" }).click();
    await page.getByRole("button", { name: "1 000 people" }).click();
    await page.getByText("after 1000 choices").waitFor({ timeout: 60_000 });
    await page.locator(".chart canvas").waitFor();
    const course = await page.evaluate(async () => (await fetch(document.querySelector("[data-chart]").dataset.chart)).json());
    const [ours, blind] = course.series.map((own) => own.values.at(-1));
    assert.ok(ours < 0.15 && ours < blind, `ours ${ours}, blind ${blind}`);
    assert.deepEqual(faults, []);
  });

  test("a hostile name is text", async () => {
    const { page, faults, go } = await open(server);
    await call(server.url, "/v1/catalogs/hostile", { size: 2, options: [HOSTILE, "\"><img src=x onerror=alert(2)>", "plain", "'quoted' & such"] }, "PUT");
    for (let round = 0; round < 5; round += 1) await choose(server.url, "hostile", HOSTILE, (options) => options[0]);
    await go("/catalogs/hostile?pick=plain");
    await until("it is shown", async () => (await names(page)).includes(HOSTILE));
    await go(`/catalogs/hostile/context?name=${encodeURIComponent(HOSTILE)}`);
    await page.getByRole("heading", { name: HOSTILE, level: 1 }).waitFor();
    for (const file of ["ranking.svg", "pairs.svg"]) {
      const answer = await page.request.get(`${server.url}/catalogs/hostile/export/${file}`);
      assert.equal(answer.status(), 200);
      assert.doesNotMatch(await answer.text(), /<script|<img/);
    }
    assert.equal(await page.locator("img[src=x]").count(), 0);
    assert.deepEqual(faults, []);
  });

  test("the keyboard is enough", async () => {
    const { page, faults, go } = await open(server);
    await go("/");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
    await page.keyboard.press("Enter");
    const reach = async (what) => {
      for (let presses = 0; presses < 80; presses += 1) {
        await page.keyboard.press("Tab");
        if (await page.evaluate((id) => document.activeElement.id === id || document.activeElement.textContent.trim() === id, what)) return;
      }
      assert.fail(`${what} cannot be reached with Tab`);
    };
    await reach("name");
    await page.keyboard.type("keys");
    await page.keyboard.press("Tab");
    await page.keyboard.type("one, two, three");
    await reach("Make the catalog");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "keys", level: 1 }).waitFor();
    await reach("pick-0");
    await page.keyboard.press("Space");
    await page.waitForURL(/pick=one/);
    // Whoever ticked a box is still there, after the page has changed around it.
    await until("the focus stays", () => page.evaluate(() => document.activeElement.id === "pick-0"));
    assert.deepEqual(faults, []);
  });

  for (const scheme of ["light", "dark"]) {
    test(`no page has a serious fault of accessibility, or is wider than 320 pixels (${scheme})`, async () => {
      const { page, faults, go } = await open(server, { viewport: { width: 320, height: 640 }, colorScheme: scheme });
      await go("/try");
      await page.getByRole("button", { name: "Begin" }).click();
      await page.waitForURL(/\/try\/./);
      const tried = new URL(page.url()).pathname;
      for (const path of ["/", "/catalogs/lunch?pick=curry&pick=soup", "/catalogs/lunch/contexts", "/catalogs/lunch/context?name=ada", "/try", tried, "/health", "/sign-in"]) {
        await go(path);
        await page.waitForTimeout(300);
        const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(inner <= outer, `${path} is ${inner} pixels wide`);
        assert.deepEqual(await violations(page), [], path);
      }
      assert.deepEqual(faults, []);
    });
  }
});

describe("with keys", () => {
  let home, server, admin, reader;
  before(async () => {
    home = folder();
    const made = (...scopes) => run("keys", "create", "--db", home.database, "--label", "test", "--scopes", scopes.join(",")).trim().split(/\s+/).find((own) => own.startsWith("unloop_"));
    server = await serve(home.database, "--catalog", "lunch=soup,salad");
    admin = made("admin", "present", "choose", "read");
    reader = made("read");
    await until("the keys are seen", async () => (await fetch(`${server.url}/v1/catalogs`)).status === 401);
  });
  after(async () => {
    await server.stop();
    home.remove();
  });

  test("one signs in with an admin key alone, and is out when it is revoked", async () => {
    const { page, context, go } = await open(server);
    await go("/catalogs/lunch");
    assert.match(page.url(), /\/sign-in\?to=/);
    for (const wrong of ["unloop_nonsense", reader]) {
      await page.getByLabel("Key").fill(wrong);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("You are not signed in").waitFor();
    }
    await page.getByLabel("Key").fill(admin);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "lunch", level: 1 }).waitFor();
    const [cookie] = await context.cookies();
    assert.ok(cookie.httpOnly && cookie.sameSite === "Strict" && !cookie.secure);
    assert.ok(cookie.expires - Date.now() / 1000 > 11 * 3600 && cookie.expires - Date.now() / 1000 <= 12 * 3600 + 60);
    assert.ok(!cookie.value.includes(admin) && !decodeURIComponent(cookie.value).includes("unloop_"));
    // The cookie is for pages: calls want a key.
    assert.equal((await page.request.get(`${server.url}/v1/catalogs`)).status(), 401);
    // A form from elsewhere is not sent on somebody's behalf.
    const forged = await page.request.post(`${server.url}/catalogs`, { headers: { origin: "https://evil.example" }, form: { name: "x", options: "a,b", size: "1" } });
    assert.equal(forged.status(), 403);
    const [id] = run("keys", "list", "--db", home.database, "--json").match(/"id":\s*"([0-9a-f]+)"/).slice(1);
    run("keys", "revoke", "--db", home.database, id);
    await until("the session is void", async () => {
      await go("/");
      return page.url().includes("/sign-in");
    });
    assert.doesNotMatch(server.log(), new RegExp(admin));
  });

  test("signing out is out", async () => {
    const again = run("keys", "create", "--db", home.database, "--label", "again", "--scopes", "admin").trim().split(/\s+/).find((own) => own.startsWith("unloop_"));
    const { page, go } = await open(server);
    await until("the key is taken", async () => {
      await go("/sign-in?to=https://evil.example/");
      await page.getByLabel("Key").fill(again);
      await page.getByRole("button", { name: "Sign in" }).click();
      return (await page.getByRole("heading", { name: "Catalogs", level: 1 }).count()) === 1;
    });
    assert.ok(page.url().startsWith(server.url), "one stays here");
    await page.getByRole("button", { name: "Sign out" }).click();
    await go("/");
    assert.match(page.url(), /\/sign-in/);
  });
});
