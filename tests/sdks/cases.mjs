// What the scripts for Node share: they run the cases that they are told, and write a line of JSON for each.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

export const URL_OF_GATEWAY = process.env.JACKFIELD_URL;
// Ways to the gateway on which every other connection breaks, the first one included.
export const BREAKS_BEFORE = process.env.JACKFIELD_BREAKS_BEFORE;
export const BREAKS_WITHIN = process.env.JACKFIELD_BREAKS_WITHIN;
export const TOKEN = process.env.JACKFIELD_TOKEN;
// Whether the vendor behind tells what its model thinks.
export const REASONING = Boolean(process.env.JACKFIELD_REASONING);
export const MODEL = "fast";
// One red pixel, a PNG.
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
export const ADD = {
  type: "object",
  properties: { a: { type: "integer" }, b: { type: "integer" } },
  required: ["a", "b"],
};

// The packages are not beside the scripts.
export const load = createRequire(`${process.env.JACKFIELD_MODULES}/package.json`);

// What `ask` is refused with, which has to be of this class.
export async function refused(wanted, ask) {
  const error = await ask().then(
    () => assert.fail("nothing is wrong with it"),
    (thrown) => thrown,
  );
  assert.ok(error instanceof wanted, `${error?.stack ?? error} is no ${wanted.name}`);
  return error;
}

export async function main(cases) {
  for (const name of process.argv.slice(2)) {
    let error = null;
    const started = performance.now();
    try {
      await cases[name]();
    } catch (thrown) {
      error = String(thrown?.stack ?? thrown);
    }
    const seconds = Math.round(performance.now() - started) / 1000;
    console.log(JSON.stringify({ case: name, error, seconds }));
  }
}
