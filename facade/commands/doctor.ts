import { type Config, ConfigError, readConfig } from '../config/config.ts';
import { examine } from '../doctor/examine.ts';
import { type Finding, fail, withoutSecrets } from '../doctor/finding.ts';
import { askServer } from './ask-server.ts';
import { explainExit } from './explain-exit.ts';

/**
 * Has the running server check itself, or checks the configuration of this shell where none answers: one line for each thing, and what to do
 * about it. Ends with 1 where something fails.
 */
async function main(): Promise<void> {
  const findings = await diagnose(process.env);
  for (const { level, about, text } of findings)
    console.log(withoutSecrets(`${level.padEnd(5)} ${about.padEnd(17)} ${text.replaceAll(/\s+/g, ' ')}`, process.env));
  const failed = findings.filter(({ level }) => level === 'fail').length;
  const warned = findings.filter(({ level }) => level === 'warn').length;
  console.log(`\n${failed} failed, ${warned} to look at, ${findings.length - failed - warned} good.`);
  process.exitCode = failed > 0 ? 1 : 0;
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

main().catch(explainExit);
