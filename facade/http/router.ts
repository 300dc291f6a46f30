interface RouteNode {
  readonly method: string;
  readonly path: string;
}

export interface Match<Target> {
  /** Undefined if the path is known and the method is not. */
  readonly target: Target | undefined;
  readonly here: readonly [Target, ...Target[]];
  readonly parameters: Readonly<Record<string, string>>;
}

interface Node<Target> {
  readonly fixed: Map<string, Node<Target>>;
  parameter: Node<Target> | undefined;
  /** The endpoints at this path, which also answer at every path below it that fits no other. */
  here: Leaf<Target> | undefined;
  below: Leaf<Target> | undefined;
}

interface Leaf<Target> {
  readonly names: readonly string[];
  readonly byMethod: Map<string, Target>;
  readonly all: [Target, ...Target[]];
}

/**
 * One look-up per segment, or one for a path without parameters. Where a fixed segment fits, the parameter beside it is not tried,
 * whatever the method.
 */
export function createMatcher<Target extends RouteNode>(targets: readonly Target[]) {
  const root = node<Target>();
  const fixed = new Map<string, Leaf<Target>>();
  for (const target of targets) {
    const leaf = insert(root, target);
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

function node<Target>(): Node<Target> {
  return { fixed: new Map(), parameter: undefined, here: undefined, below: undefined };
}

function insert<Target extends RouteNode>(root: Node<Target>, target: Target): Leaf<Target> {
  let current = root;
  const names: string[] = [];
  for (const segment of target.path.slice(1).split('/')) {
    const name = /^\{(\+?)(\w+)\}$/.exec(segment);
    if (name?.[2]) names.push(name[2]);
    if (name?.[1]) {
      current.below = withTarget(current.below, target, names);
      return current.below;
    }
    if (name) {
      current.parameter ??= node();
      current = current.parameter;
    } else {
      const next = current.fixed.get(segment) ?? node();
      current.fixed.set(segment, next);
      current = next;
    }
  }
  current.here = withTarget(current.here, target, names);
  return current.here;
}

function withTarget<Target extends RouteNode>(
  leaf: Leaf<Target> | undefined,
  target: Target,
  names: readonly string[],
): Leaf<Target> {
  const all: [Target, ...Target[]] = leaf ? [...leaf.all, target] : [target];
  return { names, byMethod: new Map(all.map((each) => [each.method, each])), all };
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
