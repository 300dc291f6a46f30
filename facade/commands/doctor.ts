import { type Config, ConfigError, readConfig } from '../config/config.ts';
import { dataChecks } from '../doctor/data-checks.ts';
import { type Check, type Finding, fail, reasonOf, withoutSecrets } from '../doctor/finding.ts';
import { outsideChecks } from '../doctor/outside-checks.ts';
import { explainExit } from './explain-exit.ts';

/** Checks this set-up: one line for each thing, and what to do about it. Ends with 1 where something fails. */
async function main(): Promise<void> {
  const findings = await examine(process.env);
  for (const { level, about, text } of findings)
    console.log(withoutSecrets(`${level.padEnd(5)} ${about.padEnd(17)} ${text.replaceAll(/\s+/g, ' ')}`, process.env));
  const failed = findings.filter(({ level }) => level === 'fail').length;
  const warned = findings.filter(({ level }) => level === 'warn').length;
  console.log(`\n${failed} failed, ${warned} to look at, ${findings.length - failed - warned} good.`);
  process.exitCode = failed > 0 ? 1 : 0;
}

async function examine(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message
      .split('\n')
      .slice(1)
      .map((problem) => fail('configuration', problem.trim()));
  }
  const found = await Promise.all([...dataChecks(config), ...outsideChecks(config)].map(outcomeOf));
  return found.flat();
}

/** A check that cannot be made is a finding too. */
async function outcomeOf(check: Check): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [fail('this check', `It could not be made: ${reasonOf(error)}`)];
  }
}

main().catch(explainExit);
