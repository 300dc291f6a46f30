import {
  type Integration,
  type IntegrationExtra,
  type IntegrationRecord,
  type IntegrationSummary,
  SECRET_MASK,
} from '../../resources/integration.ts';
import { authOf } from './auth-mode.ts';
import { idleAskFirst } from './upstream/offered-tools.ts';
import type { Upstreams } from './upstream/upstreams.ts';

export function showIntegration(record: IntegrationRecord, upstreams: Upstreams): Integration {
  const { status, tools, prompts, resources, listingHash } = upstreams.view(record.id);
  const warnings = idleAskFirst(record, tools);
  return {
    ...masked(record),
    status,
    tools: [...tools],
    ...(prompts && { prompts: [...prompts] }),
    ...(resources && { resources: [...resources] }),
    ...(listingHash !== undefined && { listingHash }),
    ...(warnings.length > 0 && { warnings }),
  };
}

export function summarise(record: IntegrationRecord, upstreams: Upstreams): IntegrationSummary {
  const { status, tools, prompts = [], resources = [] } = upstreams.view(record.id);
  const count = (...states: string[]) => tools.filter(({ state }) => states.includes(state)).length;
  return {
    ...masked(record),
    status,
    toolCount: count('approved'),
    heldCount: count('new', 'changed') + [...prompts, ...resources].filter(isHeld).length,
  };
}

function masked(record: IntegrationRecord) {
  const { approved: _, approvedPrompts: __, approvedResources: ___, env, headers, oauth, ...shown } = record;
  const auth = authOf(record);
  return {
    ...shown,
    ...(env && { env: hidden(env) }),
    ...(headers && { headers: hidden(headers) }),
    ...(auth && { auth }),
    ...(oauth && { oauth: hiddenIn(oauth) }),
  };
}

function hiddenIn({ clientSecret, ...shown }: NonNullable<IntegrationRecord['oauth']>) {
  return { ...shown, ...(clientSecret !== undefined && { clientSecret: MASK }) };
}

const MASK: typeof SECRET_MASK = SECRET_MASK;

function hidden(secrets: Readonly<Record<string, string>>): Record<string, typeof SECRET_MASK> {
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, SECRET_MASK]));
}

function isHeld({ state }: IntegrationExtra): boolean {
  return state === 'new' || state === 'changed';
}
