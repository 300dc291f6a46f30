import {
  type Parsed,
  parseCondition,
  parseTemplate,
  type RunWork,
  TimeLimitExceeded,
  withTimeLimit,
} from './expressions.ts';

export interface Texts {
  readonly templates: readonly string[];
  readonly conditions: readonly string[];
}

export interface ParsedTexts {
  readonly templates: readonly Parsed[];
  readonly conditions: readonly Parsed[];
}

export const MOST_MS = 2000;

/** Parses all texts. One that takes too long, or whose turn comes too late, has that as its problem. */
export function analyzeTexts(
  { templates, conditions }: Texts,
  mostMs = MOST_MS,
  run: RunWork = withTimeLimit,
): ParsedTexts {
  const until = performance.now() + mostMs;
  const parse = (text: string, work: (text: string) => Parsed): Parsed => {
    const left = Math.ceil(until - performance.now());
    try {
      if (left > 0) return run(() => work(text), left);
    } catch (thrown) {
      if (!(thrown instanceof TimeLimitExceeded)) throw thrown;
    }
    return { references: [], problem: `with the texts before it, it takes more than ${mostMs} ms` };
  };
  return {
    templates: templates.map((text) => parse(text, parseTemplate)),
    conditions: conditions.map((text) => parse(text, parseCondition)),
  };
}
