import { z } from 'zod';
import { sensitive } from '../../resources/markers.ts';
import { catalog } from '../../tools/catalog.ts';
import { isListed } from '../../tools/core/access/guarded-tool.ts';
import { unwrap } from '../../tools/core/registry/validate.ts';

export type Path = readonly (string | number)[];

/** A member of a tool's input that takes a secret, or a URL in which one may be. */
export interface SensitivePlace {
  readonly tool: string;
  readonly path: Path;
  readonly part: 'all' | 'userinfo';
}

function placesIn(schema: unknown, path: Path = []): Omit<SensitivePlace, 'tool'>[] {
  const mark = schema instanceof z.ZodType ? sensitive.get(schema) : undefined;
  if (mark) return [{ path, part: mark.part }];
  const inner = unwrap(schema);
  if (inner !== schema) return placesIn(inner, path);
  if (schema instanceof z.ZodArray) return placesIn(schema.element, [...path, 0]);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((form) => placesIn(form, path));
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, member]) => placesIn(member, [...path, name]));
}

/** Those of all tools that are listed. */
export const sensitivePlaces: readonly SensitivePlace[] = catalog.entries
  .filter(({ tool }) => isListed(tool))
  .flatMap(({ tool }) => placesIn(tool.input).map((place) => ({ tool: tool.name, ...place })));

/** The value, in objects and lists, at the path. */
export function valueAt(path: Path, value: unknown): unknown {
  const [first, ...others] = path;
  if (first === undefined) return value;
  return typeof first === 'number' ? [valueAt(others, value)] : { [first]: valueAt(others, value) };
}
