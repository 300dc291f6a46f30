import { act, counted, useMay, wordOf } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { AskButton, Badge, Empty, Json, Mono } from '../../ui.ts';

interface Listed {
  readonly name: string;
  readonly tool?: string;
  readonly state: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: object;
  readonly reason?: string;
  readonly readOnly?: boolean;
}

const HELD = ['new', 'changed', 'gone'];
const GROUPS = ['tools', 'prompts', 'resources'] as const;

/** What the other server lists: what is offered, and what waits to be looked at and approved. */
export function Listing({ row }: { readonly row: Row }) {
  const may = useMay('refresh_integration');
  const listed = GROUPS.flatMap((group) => ((row[group] ?? []) as readonly Listed[]).map((one) => ({ ...one, group })));
  const held = listed.filter(({ state }) => HELD.includes(state));
  if (listed.length === 0) return <Empty title="It lists nothing yet">Refresh once it is connected.</Empty>;
  const ask = {
    title: `Approve ${counted(held.length, 'definition')}?`,
    action: 'Approve',
    look: 'primary' as const,
    run: () => act('refresh_integration', { id: row.id, accept: true, listingHash: row.listingHash }),
  };
  return (
    <div class="overview">
      {held.length > 0 && (
        <div class="note warn approval">
          <p>
            {counted(held.length, 'definition')} changed. Read what is new before you approve: agents follow what it
            says.
          </p>
          {may && (
            <AskButton text="Approve" look="primary" icon="check" ask={ask}>
              <p>
                They are offered as they stand here. If the other server changed them meanwhile, nothing is approved.
              </p>
            </AskButton>
          )}
        </div>
      )}
      <ul class="stack">
        {[...held, ...listed.filter((one) => !held.includes(one))].map((one) => (
          <ListedOne key={`${one.group} ${one.name}`} {...one} />
        ))}
      </ul>
    </div>
  );
}

const TONES = { new: 'accent', changed: 'warn', gone: 'plain', left_out: 'plain' } as const;

function ListedOne(one: Listed & { readonly group: string }) {
  const { name, tool, state, title, description, inputSchema, reason, readOnly, group } = one;
  const detail = description ?? reason;
  return (
    <li>
      <details open={state === 'changed' || state === 'new'}>
        <summary>
          <span class="timeline-title">{title ?? name}</span> <Mono>{tool ?? name}</Mono>{' '}
          {group !== 'tools' && <span class="faint">{group.slice(0, -1)} </span>}
          {state !== 'approved' && <Badge tone={TONES[state as keyof typeof TONES] ?? 'plain'}>{wordOf(state)}</Badge>}{' '}
          {group === 'tools' && state === 'approved' && (
            <Badge tone={readOnly ? 'plain' : 'warn'}>{readOnly ? 'Reads' : 'May write'}</Badge>
          )}
        </summary>
        {detail && <p class="quoted">{detail}</p>}
        {inputSchema && <Json value={inputSchema} label={`Input of ${name}`} />}
      </details>
    </li>
  );
}
