import type { AddressInfo } from 'node:net';
import express from 'express';
import pg from 'pg';

/** Plain Express with one route: an agent by its id, by the same query as the server asks. No key, no audit entry. */
const pool = new pg.Pool({ connectionString: process.argv[2], max: 16 });
const app = express();
app.use(express.json());
app.get('/api/v1/agents/:id', async (request, response) => {
  const text = 'select record from agents where id = $1';
  const { rows } = await pool.query({ name: 'agent', text, values: [request.params.id] });
  if (rows[0]) response.json(rows[0].record);
  else response.status(404).end();
});
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('message', (message: 'cpu' | 'stop') => {
  if (message === 'cpu') return process.send?.(process.cpuUsage());
  process.exit(0);
});
