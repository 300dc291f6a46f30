import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../store/errors.ts';
import { howToRun } from '../config/how-to-run.ts';
import { readClientConfig } from './client-config.ts';
import { readArguments, runCommand } from './run-command.ts';
import { callServer } from './server-call.ts';

const USAGE = `Usage: ${howToRun('export-audit')} [--from <time>] [--to <time>] > audit.ndjson

Prints the audit entries of the running server, one JSON object a line, newest first: those from a time (ISO 8601, inclusive) to another
(exclusive). Default: all until now.
Environment: API_KEY (required, scope admin or grant audit:read), BASE_URL (default http://127.0.0.1:3000).`;

const PAGE = 100;
const WAIT_MS = 2000;

interface Page {
  readonly data: readonly object[];
  readonly nextCursor: string | null;
}

async function main(): Promise<void> {
  const { values } = readArguments(USAGE, { from: { type: 'string' }, to: { type: 'string' } }, [0]);
  // The calls of this export are audited too and would have no end.
  const range = { to: new Date().toISOString(), ...values };
  const client = readClientConfig(process.env);
  let cursor: string | null | undefined;
  do {
    const answer = await callServer(client, 'list_audit_entries', { ...range, limit: PAGE, ...(cursor && { cursor }) });
    if ('failure' in answer && answer.failure.code === 'rate_limited') {
      await delay(WAIT_MS);
      continue;
    }
    if (!('output' in answer)) throw new OperatorError('refusal' in answer ? answer.refusal : answer.failure.error);
    const page = answer.output as Page; // an answer of our own server
    for (const entry of page.data) await print(`${JSON.stringify(entry)}\n`);
    cursor = page.nextCursor;
  } while (cursor !== null);
}

async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

runCommand(main);
