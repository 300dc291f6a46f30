import type {
  IntegrationExtra,
  IntegrationRecord,
  PromptDefinition,
  ResourceDefinition,
} from '../../../resources/integration.ts';
import { cleanText, type Scrubber } from '../../core/outbound/untrusted-text.ts';
import { isSchemaObject } from './schema.ts';
import { hashOf } from './tool-definitions.ts';

export interface Extras {
  readonly prompts: readonly PromptDefinition[];
  /** Templates of resources, and `LISTED` where it lists resources. */
  readonly resources: readonly ResourceDefinition[];
}

export const NO_EXTRAS: Extras = { prompts: [], resources: [] };

/** In place of a template: the resources that the server lists. They are data that differ by account, so they are approved as a whole. */
export const LISTED = '*';

const MOST = 100;
const LONGEST_NAME = 100;
const LONGEST_DESCRIPTION = 2000;
const LONGEST_URI = 1000;
const MOST_ARGUMENTS = 20;
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The prompts that can be offered. Those with other names than tools may have are left out. */
export function readPrompts(raw: readonly unknown[], scrubber: Scrubber): PromptDefinition[] {
  const prompts = new Map<string, PromptDefinition>();
  for (const item of raw) {
    if (!isSchemaObject(item) || typeof item.name !== 'string' || !NAME.test(item.name) || prompts.has(item.name))
      continue;
    const { name, title, description } = item;
    const given = Array.isArray(item.arguments) ? item.arguments.slice(0, MOST_ARGUMENTS) : [];
    const read = {
      name,
      ...textsOf({ title, description }, scrubber),
      arguments: given.flatMap((argument) => (isSchemaObject(argument) ? argumentOf(argument, scrubber) : [])),
    };
    if (prompts.size < MOST) prompts.set(name, { ...read, hash: hashOf(read) });
  }
  return [...prompts.values()];
}

export function readTemplates(raw: readonly unknown[], scrubber: Scrubber): ResourceDefinition[] {
  const templates = new Map<string, ResourceDefinition>();
  for (const item of raw) {
    if (!isSchemaObject(item) || !isTemplate(item.uriTemplate) || templates.has(item.uriTemplate)) continue;
    const { uriTemplate, name, title, description, mimeType } = item;
    const read = {
      uriTemplate,
      ...(typeof name === 'string' && { name: scrubber.shown(name, LONGEST_NAME) }),
      ...textsOf({ title, description }, scrubber),
      ...(typeof mimeType === 'string' && { mimeType: scrubber.shown(mimeType, LONGEST_NAME) }),
    };
    if (templates.size < MOST) templates.set(uriTemplate, { ...read, hash: hashOf(read) });
  }
  return [...templates.values()];
}

/** Every prompt and template that is approved or listed, each with its state. */
export function extraStates(
  { approvedPrompts, approvedResources }: Pick<IntegrationRecord, 'approvedPrompts' | 'approvedResources'>,
  listed: Extras | undefined,
): { prompts?: IntegrationExtra[]; resources?: IntegrationExtra[] } {
  const named = (each: ResourceDefinition) => ({ ...each, name: each.uriTemplate });
  const prompts = statesOf(approvedPrompts ?? [], listed?.prompts);
  const resources = statesOf((approvedResources ?? []).map(named), listed?.resources.map(named));
  return { ...(prompts.length > 0 && { prompts }), ...(resources.length > 0 && { resources }) };
}

type KnownPrompt = Pick<PromptDefinition, 'name' | 'hash' | 'title' | 'description'>;

function statesOf(approved: readonly KnownPrompt[], listed: readonly KnownPrompt[] | undefined): IntegrationExtra[] {
  const known = new Map(approved.map(({ name, hash }) => [name, hash]));
  const now = new Map(listed?.map(({ name, hash }) => [name, hash]));
  const kept = approved.flatMap(({ name, hash }): IntegrationExtra[] => {
    if (listed && !now.has(name)) return [{ name, state: 'gone' }];
    return !listed || now.get(name) === hash ? [{ name, state: 'approved' }] : [];
  });
  const held = (listed ?? []).filter(({ name, hash }) => known.get(name) !== hash);
  return [
    ...kept,
    ...held.map(({ name, title, description }): IntegrationExtra => {
      const state = known.has(name) ? 'changed' : 'new';
      return { name, state, ...(title && { title }), ...(description && { description }) };
    }),
  ];
}

/** A resource as its server lists it, in a form that is safe to show: it has been approved by nobody. */
export function shownResource(item: unknown, scrubber: Scrubber) {
  if (!isSchemaObject(item) || typeof item.uri !== 'string' || item.uri.length > LONGEST_URI) return [];
  const { uri, name, title, mimeType } = item;
  return [
    {
      uri: scrubber.text(uri),
      name: scrubber.shown(typeof name === 'string' ? name : uri, LONGEST_NAME),
      ...(typeof title === 'string' && { title: scrubber.shown(title, LONGEST_NAME) }),
      ...(typeof mimeType === 'string' && { mimeType: scrubber.shown(mimeType, LONGEST_NAME) }),
    },
  ];
}

function argumentOf({ name, description, required }: Record<string, unknown>, scrubber: Scrubber) {
  if (typeof name !== 'string' || !NAME.test(name)) return [];
  return [{ name, ...textsOf({ description }, scrubber), ...(required === true && { required: true }) }];
}

function textsOf({ title, description }: { title?: unknown; description?: unknown }, scrubber: Scrubber) {
  const show = (text: string, longest: number) => cleanText(scrubber.text(text), longest);
  return {
    ...(typeof title === 'string' && { title: show(title, LONGEST_NAME) }),
    ...(typeof description === 'string' && { description: show(description, LONGEST_DESCRIPTION) }),
  };
}

function isTemplate(uri: unknown): uri is string {
  return (
    typeof uri === 'string' && uri.length <= LONGEST_URI && uri.isWellFormed() && /^[A-Za-z][A-Za-z0-9+.-]*:/.test(uri)
  );
}
