import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { closedAtEnd } from './at-end.ts';
import { freePort } from './free-port.ts';
import { notRoot } from './postgres.ts';
import { until } from './until.ts';

const PROGRAM = '/usr/sbin/pgbouncer';

/** Why tests with a pooler are skipped, where they are. */
export const withoutPgbouncer = existsSync(PROGRAM) ? undefined : 'needs PgBouncer: install the package pgbouncer';

/** Starts a pooler on loopback with its usual settings before the server of the database; the address of the database by way of it. */
export async function startPgbouncer(database: string, mode: 'session' | 'transaction'): Promise<string> {
  const { hostname, port: target, pathname } = new URL(database);
  const folder = mkdtempSync(join(tmpdir(), 'agent-admin-pgbouncer-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${target}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    'auth_file = users',
    `pool_mode = ${mode}`,
  ];
  writeFileSync(join(folder, 'pgbouncer.ini'), settings.join('\n'));
  writeFileSync(join(folder, 'users'), '"test" ""');
  const child = spawn(PROGRAM, ['pgbouncer.ini'], { ...notRoot(), cwd: folder, stdio: 'ignore' });
  closedAtEnd(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });
  const url = `postgres://test@127.0.0.1:${port}${pathname}`;
  await until(async () => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  });
  return url;
}
