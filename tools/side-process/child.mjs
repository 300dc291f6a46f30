/**
 * What runs in a side process: calls functions of modules of this project, one at a time, by address and name. This file is JavaScript
 * because Node 20 runs it as it is; tsx runs the others.
 */
import { register } from 'tsx/esm/api';

register();

process.on('disconnect', () => process.exit(0));
process.on('message', async ({ module, name, args }) => {
  let begun = performance.now();
  try {
    const { [name]: work } = await import(module);
    // What is asked for next waits until it is known that this began.
    await new Promise((resolve) => process.send({ begun: true }, resolve));
    begun = performance.now();
    const value = work(...args);
    process.send({ value, ms: performance.now() - begun });
  } catch (error) {
    const thrown = error instanceof Error ? error.message : String(error);
    process.send({ thrown, ms: performance.now() - begun });
  }
});
