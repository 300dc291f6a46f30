import { createOpenApi } from '../../facade/openapi/openapi.ts';
import { type Route, routes } from '../../facade/routes.ts';
import { catalog } from '../../tools/catalog.ts';
import { type CatalogEntry, indexCatalog } from '../../tools/core/registry/catalog-index.ts';

interface Media {
  readonly schema: Record<string, unknown>;
  readonly example?: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: true;
  readonly schema: Record<string, unknown>;
  readonly example?: unknown;
  readonly $ref?: string;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: { readonly 'application/json': Media } };
  readonly responses: Record<
    string,
    { readonly headers?: object; readonly content?: { readonly 'application/json': Media } }
  >;
  readonly security?: readonly object[];
  readonly 'x-required-scope'?: unknown;
  readonly 'x-required-grant'?: unknown;
}

export interface Document {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: Record<string, Record<string, unknown>>;
}

export function documentOf(table: readonly Route[] = routes, extra: readonly CatalogEntry[] = []): Document {
  const kept = catalog.entries.filter(({ tool }) => !extra.some((entry) => entry.tool.name === tool.name));
  const server = { version: '1.2.3', catalog: indexCatalog([...kept, ...extra]) };
  return JSON.parse(JSON.stringify(createOpenApi(server, 'https://admin.acme.example', table)));
}

export function operationsOf({ paths }: Document): Map<string, Operation> {
  return new Map(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    ),
  );
}

export function refsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => (key === '$ref' ? [String(item)] : refsIn(item)));
}
