import { howToRun } from '../config/how-to-run.ts';
import { readClientConfig } from './client-config.ts';
import { answerHelp, runCommand } from './run-command.ts';
import { callServer } from './server-call.ts';

const USAGE = `Usage: ${howToRun('tool')} <tool> ['<json>']

Calls a tool of the running server and prints its output as JSON.
Environment: API_KEY (required), BASE_URL (default http://127.0.0.1:3000), CAPSULE_ID where API_KEY is the token of a capsule.
Example: ${howToRun('tool')} get_agent '{"id": "agt_…"}'`;

async function main([name, json = '{}', ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || rest.length > 0) return refuse(USAGE);
  const config = readClientConfig(process.env);
  let input: unknown;
  try {
    input = JSON.parse(json);
  } catch {
    return refuse(`The input is not valid JSON: ${json}\n\n${USAGE}`);
  }
  const answer = await callServer(config, name, input);
  if ('refusal' in answer) return refuse(answer.refusal);
  if ('failure' in answer) return refuse(pretty(answer.failure));
  console.log(typeof answer.output === 'string' ? answer.output : pretty(answer.output));
  return 0;
}

function refuse(message: string): number {
  console.error(message);
  return 1;
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

answerHelp(USAGE);
runCommand(() => main(process.argv.slice(2)));
