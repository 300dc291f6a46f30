import type { EmbeddedTexts, IntegrationHealth, SetupFinding } from '../../resources/health.ts';
import { OperatorError } from '../../store/errors.ts';
import { type Config, ConfigError, readConfig } from '../config/config.ts';
import { howToRun } from '../config/how-to-run.ts';
import { examine } from '../doctor/examine.ts';
import { type Finding, fail, ok, reasonOf, warn, withoutSecrets } from '../doctor/finding.ts';
import { type ClientConfig, readClientConfig } from './client-config.ts';
import { answerHelp, runCommand } from './run-command.ts';
import { callServer } from './server-call.ts';

const USAGE = `Usage: ${howToRun('doctor')}

Checks the running server, or the configuration of this shell where none answers, and says what to do. Ends with 1 where something fails.
Environment: API_KEY and BASE_URL of the server, or what it would be started with.`;

/** One line for each finding of the running server, or of the configuration of this shell. Ends with 1 where something fails. */
async function main(): Promise<number> {
  const findings = await diagnose(process.env);
  for (const { level, about, text } of findings)
    console.log(withoutSecrets(`${level.padEnd(5)} ${about.padEnd(17)} ${text.replaceAll(/\s+/g, ' ')}`, process.env));
  const failed = findings.filter(({ level }) => level === 'fail').length;
  const warned = findings.filter(({ level }) => level === 'warn').length;
  console.log(`\n${failed} failed, ${warned} to look at, ${findings.length - failed - warned} good.`);
  return failed > 0 ? 1 : 0;
}

async function diagnose(env: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  const asked = await askServer(env);
  if ('byServer' in asked) return asked.byServer;
  let config: Config;
  try {
    config = readConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = error.message.split('\n').slice(1);
    return [...asked.byShell, ...problems.map((problem) => fail('configuration', problem.trim()))];
  }
  return [...asked.byShell, ...(await examine(config, env))];
}

const ABOUT = 'server';
const WAIT_MS = 3000;
const OF_SHELL = 'what follows is the configuration of this shell, not that of a server';

/** What the doctor knows of the running server: its own findings, or why only the configuration of the shell can be looked at. */
type ExaminedBy = { readonly byServer: readonly Finding[] } | { readonly byShell: readonly Finding[] };

async function askServer(env: NodeJS.ProcessEnv): Promise<ExaminedBy> {
  const address = env.BASE_URL?.trim() || `http://127.0.0.1:${env.PORT?.trim() || 3000}`;
  if (!(await answers(address))) return { byShell: [ok(ABOUT, `No server answers at ${address}: ${OF_SHELL}.`)] };
  if (!env.API_KEY?.trim()) {
    const next = 'set API_KEY to an admin key, so that the server is asked';
    return { byShell: [warn(ABOUT, `A server answers at ${address}, but ${OF_SHELL}: ${next}.`)] };
  }
  try {
    const config = readClientConfig({ ...env, BASE_URL: address });
    const found = ok(ABOUT, `The server at ${address} says what follows of itself, whatever is set in this shell.`);
    return { byServer: [found, ...(await findingsOf(config))] };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { byShell: [fail(ABOUT, `The server at ${address} could not be asked (${reasonOf(error)}): ${OF_SHELL}.`)] };
  }
}

async function findingsOf(config: ClientConfig): Promise<Finding[]> {
  const { findings } = await outputOf<{ readonly findings: readonly SetupFinding[] }>(config, 'check_setup');
  const { integrations } = await outputOf<{ readonly integrations: readonly IntegrationHealth[] }>(
    config,
    'get_system_health',
  );
  const health = integrations.map(({ name, status, lastError = status, texts }) => {
    const said = texts ? ` ${embeddedText(texts)}` : '';
    if (status === 'ok') return ok(name, `It works.${said}`);
    return status === 'down' ? fail(name, lastError) : warn(name, `${lastError}${said}`);
  });
  return [...findings, ...health];
}

function embeddedText({ embedded, records, model, since, nextTryAt }: EmbeddedTexts): string {
  const counted = `${embedded} of ${records} texts have vectors of ${model}`;
  if (nextTryAt === undefined) return `${counted}.`;
  return `${counted}. So since ${since}; the server tries again at ${nextTryAt}. Searches go by words for the others.`;
}

async function outputOf<Output>(config: ClientConfig, tool: string): Promise<Output> {
  const answer = await callServer(config, tool, {});
  if ('output' in answer) return answer.output as Output; // as the tool declares it
  throw new OperatorError('refusal' in answer ? answer.refusal : answer.failure.error);
}

async function answers(address: string): Promise<boolean> {
  try {
    const { status } = await fetch(`${address.replace(/\/+$/, '')}/readyz`, { signal: AbortSignal.timeout(WAIT_MS) });
    return status === 200 || status === 503;
  } catch {
    return false;
  }
}

answerHelp(USAGE);
runCommand(main);
