// Pictures of every page with real data, light and dark, wide and narrow. `./browser.sh --screenshots FOLDER` runs it.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { browser, call, choose, folder, run, serve } from "./unloop.mjs";

const target = process.env.UNLOOP_SCREENSHOTS;
const shared = process.env.UNLOOP_SHARED;
mkdirSync(target, { recursive: true });

const home = folder();
const files = { arena: "llm_battles_crowd.csv", icons: "climate_icons.csv" };
for (const [catalog, file] of Object.entries(files)) {
  const path = join(shared, "data", file);
  if (!existsSync(path)) throw new Error(`${path} is missing: set UNLOOP_SHARED`);
  run("import", path, "--catalog", catalog, "--db", home.database);
}
const server = await serve(home.database);
const chromium = await browser();
try {
  // A catalog that is in use: people like curry, then ramen; one dish came in late.
  const dishes = ["curry", "ramen", "pizza", "sushi", "tacos", "soup", "salad", "stew"];
  const taste = { curry: 8, ramen: 5, pizza: 3, sushi: 3, tacos: 2, soup: 1, salad: 1, stew: 0.5, falafel: 4 };
  await call(server.url, "/v1/catalogs/lunch", { size: 3, options: dishes }, "PUT");
  let state = 1;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const pick = (options) => {
    let left = random() * options.reduce((sum, own) => sum + taste[own], 0);
    return options.find((own) => (left -= taste[own]) < 0) ?? options[0];
  };
  for (let round = 0; round < 400; round += 1) await choose(server.url, "lunch", `person-${round % 12}`, pick);
  await call(server.url, "/v1/catalogs/lunch/options/falafel", {}, "PUT");
  await call(server.url, "/v1/catalogs/coffee", { size: 2, options: ["espresso", "filter", "flat white"] }, "PUT");
  for (let round = 0; round < 15; round += 1) {
    await call(server.url, "/v1/catalogs/coffee/choices", { rows: [{ id: `c${round}`, presented: ["espresso", "filter"], chosen: [round % 3 ? "espresso" : "filter"] }] });
  }

  const tried = async (page) => {
    await page.goto(`${server.url}/try`);
    await page.getByRole("button", { name: "Begin" }).click();
    await page.getByRole("button", { name: "1 000 people" }).click();
    await page.getByText("after 1000 choices").waitFor({ timeout: 60_000 });
    await page.waitForTimeout(1500);
  };
  const at = (path) => async (page) => {
    await page.goto(server.url + path);
    await page.waitForTimeout(1200);
  };
  const pages = {
    catalogs: at("/"),
    catalog: at("/catalogs/lunch?pick=curry&pick=ramen&pick=falafel"),
    arena: at("/catalogs/arena"),
    icons: at("/catalogs/icons"),
    simplex: at("/catalogs/coffee"),
    context: at("/catalogs/arena/context?name=worker58"),
    try: tried,
    health: at("/health"),
  };
  const looks = [
    ["light", "wide", { width: 1280, height: 900 }],
    ["dark", "wide", { width: 1280, height: 900 }],
    ["light", "narrow", { width: 320, height: 640 }],
    ["dark", "narrow", { width: 320, height: 640 }],
  ];
  const only = process.env.UNLOOP_ONLY?.split(",");
  // The minute in which options were served has to be over before it is drawn.
  await new Promise((resolve) => setTimeout(resolve, Number(process.env.UNLOOP_WAIT ?? 65_000)));
  for (let round = 0; round < 200; round += 1) await choose(server.url, "lunch", `person-${round % 12}`, pick);
  for (const [scheme, width, viewport] of looks) {
    const context = await chromium.newContext({ viewport, colorScheme: scheme, deviceScaleFactor: width === "wide" ? 1 : 2 });
    const page = await context.newPage();
    for (const [name, go] of Object.entries(pages)) {
      if (only && !only.includes(name)) continue;
      await go(page);
      const file = join(target, `${name}-${scheme}-${width}.png`);
      await page.screenshot({ path: file, fullPage: true });
      console.log(file);
    }
    await context.close();
  }
  // For the README: what is seen first.
  const page = await chromium.newPage({ viewport: { width: 1180, height: 980 }, deviceScaleFactor: 1 });
  await pages.catalog(page);
  await page.screenshot({ path: join(target, "dashboard.png") });
} finally {
  await chromium.close();
  await server.stop();
  home.remove();
}
