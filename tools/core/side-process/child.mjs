/** The program of a side process: calls exported functions by module and name, one at a time. JavaScript, as Node 20 runs no TypeScript. */
import { Worker } from 'node:worker_threads';
import { register } from 'tsx/esm/api';

register();

// V8 limits its own heap, not buffers, and work that blocks this thread does not hear that the parent is gone. So another thread watches.
const [, , mostBytes] = process.argv;
const WATCH = `setInterval(() => {
  if (process.memoryUsage.rss() > ${Number(mostBytes)} || process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL');
}, 20)`;
if (mostBytes !== undefined) new Worker(WATCH, { eval: true, execArgv: [], stdout: true, stderr: true }).unref();

process.on('disconnect', () => process.exit(0));
process.on('message', async ({ module, name, args }) => {
  let begun = performance.now();
  try {
    const { [name]: work } = await import(module);
    // The next request waits until the parent knows that this one began.
    await new Promise((resolve) => process.send({ begun: true }, resolve));
    begun = performance.now();
    const value = await work(...args);
    process.send({ value, ms: performance.now() - begun });
  } catch (error) {
    const thrown = error instanceof Error ? error.message : String(error);
    process.send({ thrown, ms: performance.now() - begun });
  }
});
