import type { IntegrationRecord } from '../../resources/integration.ts';
import type { Readers } from '../../store/port.ts';
import { asksLess } from '../core/access/ask-first.ts';

type Change = Pick<IntegrationRecord, 'id'> & Partial<IntegrationRecord>;

/** Whether calls that wait for a person, whoever makes them, would wait no more. */
export async function loosens(input: object, store: Pick<Readers, 'integrations'>): Promise<boolean> {
  const { id, askFirst, toolPrefix } = input as Change; // of the tool that has this member
  const current = await store.integrations.get(id);
  if (!current?.askFirst?.length) return false;
  return (
    asksLess(current.askFirst, askFirst ?? current.askFirst) ||
    (toolPrefix ?? current.toolPrefix) !== current.toolPrefix
  );
}

export async function loosensAll(input: object, store: Pick<Readers, 'integrations'>): Promise<boolean> {
  const { id } = input as Change; // of the tool that has this member
  return Boolean((await store.integrations.get(id))?.askFirst?.length);
}
