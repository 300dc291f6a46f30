/**
 * The program of a side process. It calls functions of this project's modules, one at a time, by module and name. This file is JavaScript
 * because Node 20 runs it directly; tsx runs the other files.
 */
import { register } from 'tsx/esm/api';

register();

process.on('disconnect', () => process.exit(0));
process.on('message', async ({ module, name, args }) => {
  let begun = performance.now();
  try {
    const { [name]: work } = await import(module);
    // The next request waits until the parent knows that this one began.
    await new Promise((resolve) => process.send({ begun: true }, resolve));
    begun = performance.now();
    const value = work(...args);
    process.send({ value, ms: performance.now() - begun });
  } catch (error) {
    const thrown = error instanceof Error ? error.message : String(error);
    process.send({ thrown, ms: performance.now() - begun });
  }
});
