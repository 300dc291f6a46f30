import type { Config } from '../config/config.ts';
import { dataChecks } from './data-checks.ts';
import { type Check, type Finding, fail, reasonOf, withoutSecrets } from './finding.ts';
import { outsideChecks } from './outside-checks.ts';

/** Checks what the process was set up with. No finding holds a secret of its environment. */
export async function examine(config: Config, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const found = await Promise.all([...dataChecks(config), ...outsideChecks(config)].map(outcomeOf));
  return found.flat().map((finding) => ({ ...finding, text: withoutSecrets(finding.text, env) }));
}

/** A check that cannot be made is a finding too. */
async function outcomeOf(check: Check): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [fail('this check', `It could not be made: ${reasonOf(error)}`)];
  }
}
