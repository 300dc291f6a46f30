import type { Method, Route } from '../routes.ts';

export interface Match<Target> {
  readonly target: Target;
  /** Decoded path parameters. */
  readonly parameters: Readonly<Record<string, string>>;
}

export type MatchResult<Target> =
  | { readonly found: Match<Target> }
  /** The path is known, the method is not. */
  | { readonly allow: readonly string[] }
  | undefined;

interface Node<Target> {
  readonly fixed: Map<string, Node<Target>>;
  parameter: Node<Target> | undefined;
  readonly targets: Map<string, { readonly target: Target; readonly names: readonly string[] }>;
}

/**
 * Finds the route of a path, one look-up per segment. A fixed segment is never taken for a parameter: where a fixed one fits,
 * the parameter beside it is not tried, so `/agents/health` is never an agent with the id `health`, whatever the method.
 */
export function createMatcher<Target extends Pick<Route, 'method' | 'path'>>(targets: readonly Target[]) {
  const root = node<Target>();
  for (const target of targets) insert(root, target);

  return function match(method: string, path: string): MatchResult<Target> {
    const values: string[] = [];
    let current: Node<Target> | undefined = root;
    for (const segment of path.slice(1).split('/')) {
      const next: Node<Target> | undefined = current.fixed.get(segment) ?? current.parameter;
      if (!next || segment === '') return undefined;
      if (next === current.parameter) values.push(segment);
      current = next;
    }
    if (current.targets.size === 0) return undefined;
    const hit = current.targets.get(method === 'HEAD' ? 'GET' : method);
    if (!hit) return { allow: allowed([...current.targets.keys()]) };
    const parameters = decode(hit.names, values);
    return parameters && { found: { target: hit.target, parameters } };
  };
}

function node<Target>(): Node<Target> {
  return { fixed: new Map(), parameter: undefined, targets: new Map() };
}

function insert<Target extends Pick<Route, 'method' | 'path'>>(root: Node<Target>, target: Target): void {
  let current = root;
  const names: string[] = [];
  for (const segment of target.path.slice(1).split('/')) {
    if (segment.startsWith('{')) {
      names.push(segment.slice(1, -1));
      current.parameter ??= node();
      current = current.parameter;
    } else {
      const next = current.fixed.get(segment) ?? node();
      current.fixed.set(segment, next);
      current = next;
    }
  }
  current.targets.set(target.method satisfies Method, { target, names });
}

function allowed(methods: readonly string[]): string[] {
  return methods.includes('GET') ? ['HEAD', ...methods] : [...methods];
}

const NONE: Readonly<Record<string, string>> = Object.freeze({});

function decode(names: readonly string[], values: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (names.length === 0) return NONE;
  try {
    const parameters: Record<string, string> = {};
    for (const [index, name] of names.entries()) parameters[name] = decodeURIComponent(values[index] ?? '');
    return parameters;
  } catch {
    return undefined;
  }
}
