import type { AddressInfo } from 'node:net';
import express from 'express';

/** Plain Express as its guide writes it, without any guard. Every path answers the bytes that were set for it. */
const answers = new Map<string, unknown>();
const app = express();
app.use(express.json());
app.all(/.*/, (request, response) => {
  response.json(answers.get(`${request.method} ${request.path}`));
});
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('message', (message: { key: string; body: unknown } | 'cpu' | 'stop') => {
  if (message === 'stop') process.exit(0);
  if (message === 'cpu') return process.send?.(process.cpuUsage());
  answers.set(message.key, message.body);
  process.send?.('ready');
});
