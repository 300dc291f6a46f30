import type { Issue } from '../../resources/error.ts';

const RAW = /\b(?:invalid|expected|received|unrecognized|undefined|must match|NaN)\b|too (?:big|small):/i;
const NEXT = /\b(?:give|write|leave|choose|send|add|encode|take|see|name|shows|finds|did you mean)\b|; allowed: /i;

interface Refusal {
  readonly error: string;
  readonly issues?: readonly Issue[] | undefined;
}

export function faultsOf({ error, issues = [] }: Refusal): string[] {
  const [first] = issues;
  const faults = issues.flatMap(wordingFaults);
  const same = new Set(issues.map(({ path, message }) => `${path}: ${message}`));
  if (same.size < issues.length) faults.push(`${error} (an issue twice)`);
  const place = first?.path ? `${first.path}: ` : '';
  if (first && error.startsWith('Invalid input') && !error.includes(`${place}${first.message}`)) {
    faults.push(`${error} (names no member)`);
  }
  if (error.split('Invalid input').length > 2) faults.push(`${error} (begins twice)`);
  return faults;
}

function wordingFaults({ path, message }: Issue): string[] {
  const faults = [
    RAW.test(message.replace(/one of: .*/, '')) && 'is not in plain words',
    !NEXT.test(message) && 'names no next step',
    !/^["\w][\s\S]*[.?]$/.test(message) && 'is no sentence',
    isDoubled(message) && 'says a thing twice',
  ];
  return faults.filter((fault) => fault !== false).map((fault) => `${path}: ${message} (${fault})`);
}

function isDoubled(message: string): boolean {
  const sentences = message.split(/[.;:] /).map((sentence) => sentence.toLowerCase().replace(/\W+/g, ' ').trim());
  return new Set(sentences).size < sentences.length;
}
