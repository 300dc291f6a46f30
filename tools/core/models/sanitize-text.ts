const DEEPEST = 64;

/** Text of a model, changed so that every store can keep it. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** The same for a JSON value, including names of members. */
export function storable(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return storableText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEEPEST) return '[nested too deep]';
  if (Array.isArray(value)) return value.map((item) => storable(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [storableText(name), storable(item, depth + 1)]),
  );
}
