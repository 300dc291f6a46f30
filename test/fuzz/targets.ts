import type { Target } from './target.ts';
import { expressions } from './targets/expressions.ts';
import { http } from './targets/http.ts';
import { journal } from './targets/journal.ts';
import { mcp } from './targets/mcp.ts';

export const targets: Readonly<Record<string, Target>> = { http, mcp, expressions, journal };
