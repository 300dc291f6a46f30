import type { Target } from './target.ts';
import { expressions } from './targets/expressions.ts';
import { filters } from './targets/filters.ts';
import { http } from './targets/http.ts';
import { imports } from './targets/imports.ts';
import { journal } from './targets/journal.ts';
import { mcp } from './targets/mcp.ts';
import { oauth } from './targets/oauth.ts';
import { webhooks } from './targets/webhooks.ts';

export const targets: Readonly<Record<string, Target>> = {
  http,
  mcp,
  oauth,
  imports,
  expressions,
  webhooks,
  journal,
  filters,
};
