import type { AddressInfo } from 'node:net';
import express from 'express';
import pg from 'pg';

/**
 * Plain Express as its guide writes it, without key, guard or audit entry. Every path answers the bytes that were set for it. With the address of
 * a database, it has one route instead: an agent by its id, by the same query as the server asks.
 */
const [, , database] = process.argv;
const answers = new Map<string, unknown>();
const app = express();
app.use(express.json());
if (database) {
  const pool = new pg.Pool({ connectionString: database, max: 16 });
  app.get('/api/v1/agents/:id', async (request, response) => {
    const text = 'select record from agents where id = $1';
    const { rows } = await pool.query({ name: 'agent', text, values: [request.params.id] });
    if (rows[0]) response.json(rows[0].record);
    else response.status(404).end();
  });
} else {
  app.all(/.*/, (request, response) => {
    response.json(answers.get(`${request.method} ${request.path}`));
  });
}
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('message', (message: { key: string; body: unknown } | 'cpu' | 'stop') => {
  if (message === 'stop') process.exit(0);
  if (message === 'cpu') return process.send?.(process.cpuUsage());
  answers.set(message.key, message.body);
  process.send?.('ready');
});
