import type { z } from 'zod';

/** Says what to give instead of a value that does not fit. Never repeats the value, which may be a secret. A zod `error` function. */
export function validationMessage(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(typeWords(issue.expected), issue.input);
    case 'invalid_value':
      return orMissing(choiceOf(issue.values), issue.input);
    case 'invalid_union':
      return wrongUnion(issue);
    case 'too_small':
      return tooSmall(issue);
    case 'too_big':
      return tooBig(issue);
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'Write this in the form that its description names.';
    case 'not_multiple_of':
      return issue.divisor === 1 ? 'Give a whole number.' : `Give a multiple of ${issue.divisor}.`;
    default:
      return 'Does not fit; see its description and give another value.';
  }
}

type Problem<Code> = Extract<z.core.$ZodRawIssue, { readonly code: Code }>;

/** By zod's name of a type. */
const FORMS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  email: 'Write an e-mail address, like ada@example.com.',
  url: 'Write a URL, like https://example.com.',
  datetime: 'Write a time like 2026-03-01T09:30:00Z.',
  date: 'Write a date that there is, like 2026-03-01.',
  base64: 'Write the bytes in base64.',
};

/** A type of zod or of JSON Schema, as people call it. */
function typeWords(type: string): string {
  return FORMS[type] ?? 'a value of another type';
}

function orMissing(sentence: string, given: unknown): string {
  return given === undefined ? `Is required; ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}` : sentence;
}

function wrongType(wanted: string, given: unknown): string {
  const kind = kindOf(given);
  const isPlain = kind === undefined || wanted.includes('"') || (kind === 'a number' && wanted.includes('number'));
  return orMissing(isPlain ? `Give ${wanted}.` : `Give ${wanted}, not ${kind}.`, given);
}

function kindOf(value: unknown): string | undefined {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return { string: 'text', boolean: 'a boolean', object: 'an object', number: 'a number' }[typeof value as string];
}

function choiceOf(values: readonly unknown[]): string {
  return values.length === 1 ? `Write ${JSON.stringify(values[0])}.` : `Write one of: ${values.join(', ')}.`;
}

/** Where one member says which form a value has, the values of that member; else each form. */
function wrongUnion({
  discriminator,
  options,
  errors,
  input,
}: Problem<'invalid_union'> & { options?: unknown[] }): string {
  if (discriminator !== undefined && options) {
    return orMissing(choiceOf(options), (input as Readonly<Record<string, unknown>> | undefined)?.[discriminator]);
  }
  const forms = errors.flatMap(([first]) => {
    if (first?.code === 'invalid_value') return first.values.map((value) => JSON.stringify(value));
    return first?.code === 'invalid_type' ? [typeWords(first.expected)] : [];
  });
  return wrongType([...new Set(forms)].join(' or ') || 'a value of another form', input);
}

function tooSmall({ origin, minimum, inclusive, exact }: Problem<'too_small'>): string {
  const least = Number(minimum);
  if (origin === 'string' && least === 1) return 'May not be empty; write at least one character.';
  if (origin === 'array' && least === 1) return 'May not be empty; give at least one item.';
  const bound = exact ? `exactly ${least}` : `at least ${least}`;
  if (origin === 'string') return `Is too short; write ${bound} characters.`;
  if (origin === 'array') return `Has too few items; give ${bound}.`;
  return inclusive === false ? `Is too small; give more than ${least}.` : `Is too small; give ${least} or more.`;
}

function tooBig({ origin, maximum, inclusive, exact, input }: Problem<'too_big'>): string {
  const most = Number(maximum);
  const bound = exact ? `exactly ${most}` : `at most ${most}`;
  if (origin === 'string') return `Is too long${lengthOf(input)}; write ${bound} characters.`;
  if (origin === 'array') return `Has too many items${lengthOf(input)}; give ${bound}.`;
  return inclusive === false ? `Is too big; give less than ${most}.` : `Is too big; give ${most} or less.`;
}

function lengthOf(value: unknown): string {
  return typeof value === 'string' || Array.isArray(value) ? ` (${value.length})` : '';
}
