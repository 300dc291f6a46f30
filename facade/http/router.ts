interface RouteNode {
  readonly method: string;
  readonly path: string;
}

export interface Match<Target> {
  /** Undefined if the path is known and the method is not. */
  readonly target: Target | undefined;
  readonly here: readonly Target[];
  readonly parameters: Readonly<Record<string, string>>;
}

interface Node<Target> {
  readonly fixed: Map<string, Node<Target>>;
  parameter?: Node<Target>;
  /** The endpoints at this path, and those that also answer at every path below it that fits no other. */
  here?: Leaf<Target>;
  below?: Leaf<Target>;
}

interface Leaf<Target> {
  readonly names: readonly string[];
  readonly byMethod: Map<string, Target>;
  readonly all: Target[];
}

/**
 * One look-up per segment, or one for a path without parameters. Where a fixed segment fits, the parameter beside it is not tried,
 * whatever the method.
 */
export function createMatcher<Target extends RouteNode>(targets: readonly Target[]) {
  const root: Node<Target> = { fixed: new Map() };
  const fixed = new Map<string, Leaf<Target>>();
  for (const target of targets) {
    const leaf = leafAt(root, target.path);
    leaf.all.push(target);
    leaf.byMethod.set(target.method, target);
    if (!target.path.includes('{')) fixed.set(target.path, leaf);
  }

  return function match(method: string, path: string): Match<Target> | undefined {
    const values: string[] = [];
    const found = fixed.get(path) ?? find(root, path, values);
    const parameters = found && decode(found.names, values);
    if (!found || !parameters) return undefined;
    const { byMethod, all } = found;
    const target = byMethod.get(method === 'HEAD' ? 'GET' : method) ?? byMethod.get('*');
    return { target, here: all, parameters };
  };
}

export function allowed(here: readonly RouteNode[]): string {
  const methods = here.map(({ method }) => method);
  return (methods.includes('GET') ? ['HEAD', ...methods] : methods).join(', ');
}

/** `values` receives the values of the parameters. */
function find<Target>(root: Node<Target>, path: string, values: string[]): Leaf<Target> | undefined {
  let current: Node<Target> | undefined = root;
  let below: { readonly leaf: Leaf<Target>; readonly values: number; readonly from: number } | undefined;
  let at = 1;
  for (const segment of path.slice(1).split('/')) {
    if (current.below) below = { leaf: current.below, values: values.length, from: at };
    const next: Node<Target> | undefined =
      segment === '' ? undefined : (current.fixed.get(segment) ?? current.parameter);
    if (next && next === current.parameter) values.push(segment);
    current = next;
    if (!current) break;
    at += segment.length + 1;
  }
  if (current?.here) return current.here;
  if (below) values.splice(below.values, Number.POSITIVE_INFINITY, path.slice(below.from));
  return below?.leaf;
}

/** Makes the nodes on the way where they are missing. */
function leafAt<Target>(root: Node<Target>, path: string): Leaf<Target> {
  const leaf: Leaf<Target> = { names: [], byMethod: new Map(), all: [] };
  const names: string[] = [];
  let current = root;
  for (const segment of path.slice(1).split('/')) {
    const [, rest, name] = /^\{(\+?)(\w+)\}$/.exec(segment) ?? [];
    if (name) names.push(name);
    if (rest) {
      current.below ??= { ...leaf, names };
      return current.below;
    }
    const next: Node<Target> = (name ? current.parameter : current.fixed.get(segment)) ?? { fixed: new Map() };
    if (name) current.parameter = next;
    else current.fixed.set(segment, next);
    current = next;
  }
  current.here ??= { ...leaf, names };
  return current.here;
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
