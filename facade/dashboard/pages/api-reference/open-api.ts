/** The members of the OpenAPI document that the page shows. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

interface RawOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
}

export type Parameter = Readonly<{ name: string; in: string; required?: boolean; description?: string }>;

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly tool: string;
  readonly parameters: readonly Parameter[];
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Every operation of the document, in its order. */
export function operationsOf({ paths, components }: OpenApi): Operation[] {
  const known = (one: Parameter | { readonly $ref: string }) =>
    '$ref' in one ? components.parameters[one.$ref.replace(/.*\//, '')] : one;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        summary: operation.summary ?? '',
        description: operation.description ?? '',
        tag: operation.tags?.[0] ?? 'Other',
        tool: operation.operationId ?? '',
        parameters: (operation.parameters ?? []).flatMap((one) => known(one) ?? []),
      })),
  );
}
