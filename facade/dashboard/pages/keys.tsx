import { useState } from 'preact/hooks';
import { act, boot, counted, unifiedEndpoint, useAnswer, useMay } from '../app.ts';
import { ChoiceRow, LEVELS } from '../components/access-levels.tsx';
import { Connect } from '../components/connect/connect.tsx';
import { shortName } from '../components/connect/hosts.ts';
import { AskFirst } from '../components/folded-tools.tsx';
import { TextField } from '../components/form/field.tsx';
import { issueAt, type PartProps } from '../components/form/state.ts';
import { NarrowAccessButton } from '../components/narrow-access.tsx';
import { EarlierSecrets, RotateButton } from '../components/rotate.tsx';
import { ToolPicker } from '../components/tool-catalog.tsx';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { AskButton, Badge, Empty, ErrorBox, Skeleton, showSecret, Time } from '../ui.ts';
import { budgetsTab } from './budgets/budget.tsx';

export const Page = kindPage('key', {
  fields: {
    name: { hint: 'After the program that gets it, like Nightly import: so it stands in the audit log.' },
    scopes: {},
    expiresAt: { label: 'Expires', hint: 'Default: when you revoke it.' },
    grants: { label: 'Only these records', hint: 'Like agent:read or project:write:prj_…; then nothing else counts.' },
  },
  advanced: ['grants', 'askFirst'],
  makes: {
    title: 'New key',
    action: 'Create key',
    intro: 'For a program that calls on its own. It can never do more than you; its secret is shown once.',
  },
  empty: 'A key lets a program call with a part of your rights, over MCP and REST.',
  columns: [
    { title: 'Rights', cell: (row: Row) => rightsOf(row), hidePriority: 2, width: '14rem' },
    { title: 'State', cell: (row: Row) => <Badge value={stateOf(row)} />, width: '7.5rem' },
    { title: 'Used', cell: (row: Row) => <Time at={row.lastUsedAt as string} />, alignEnd: true, hidePriority: 2 },
  ],
  without: ['endsWith', 'createdBy', 'earlierSecrets'],
  above: EarlierOfKey,
  controls: { scopes: ScopesControl, askFirst: AskFirst },
  start: { scopes: ['read'] },
  actions: KeyActions,
  ends: { tool: 'revoke_api_key', action: 'Revoke', doing: 'Revoking', done: 'revoked' },
  tabs: (row) => [
    { id: 'explain', label: 'What it can do', content: () => <ExplainKey row={row} /> },
    budgetsTab('key', row),
  ],
  onCreated: showKey,
});

function showKey({ name, secret }: Row): void {
  showSecret(
    `The secret of ${name}`,
    String(secret),
    <Connect name={shortName(String(name))} url={unifiedEndpoint()} token={String(secret)} />,
  );
}

function KeyActions({ row }: { readonly row: Row }) {
  if (stateOf(row) !== 'active') return null;
  const name = String(row.name);
  const rotating = {
    id: String(row.id),
    name,
    word: 'secret',
    tool: 'rotate_api_key',
    url: unifiedEndpoint(),
    warning: 'Programs with the old secret are refused once it stops, until they have the new one.',
  } as const;
  const run = () => act('revoke_api_key', { id: row.id });
  const ask = { title: `Revoke ${name}?`, action: 'Revoke key', typed: name, run };
  return (
    <>
      {row.ownerId === boot.user.id && <RotateButton of={rotating} />}
      <AskButton needs="revoke_api_key" text="Revoke" icon="close" ask={ask}>
        <p>
          Programs that use it are refused from now on, for good.{' '}
          {typeof row.lastUsedAt === 'string' ? (
            <>
              It was last used <Time at={row.lastUsedAt} />.
            </>
          ) : (
            'It was not used yet.'
          )}
        </p>
      </AskButton>
    </>
  );
}

function EarlierOfKey({ row }: { readonly row: Row }) {
  const end = { tool: 'revoke_api_key', input: { id: row.id, earlierOnly: true } };
  return stateOf(row) === 'active' ? <EarlierSecrets earlier={row.earlierSecrets} word="secret" end={end} /> : null;
}

/** As `list_api_keys` filters them. */
function stateOf({ revokedAt, expiresAt }: Row): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== undefined) return 'revoked';
  return typeof expiresAt === 'string' && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'active';
}

interface Explained {
  readonly verdict: string;
  readonly checks: readonly Readonly<{ check: string; verdict: string; rule: string }>[];
  readonly required?: Readonly<{ scope?: string; grant?: string }>;
}

function ExplainKey({ row }: { readonly row: Row }) {
  const id = String(row.id);
  const may = useMay('explain_access');
  const [tool, setTool] = useState('');
  if (!may) return <Empty title="Only administrators can look into the rights of a key" />;
  return (
    <div class="overview">
      <NarrowAccessButton of={{ keyId: id }} tools="grants" taking={makingAnother(row)} />
      <ToolPicker name={tool} onPick={setTool} />
      {tool !== '' && <Verdict id={id} tool={tool} />}
    </div>
  );
}

/** The rights of a key never change, so that what it did can be told: another one gets less, and this one is revoked once it is replaced. */
function makingAnother({ name, expiresAt, askFirst }: Row) {
  const run = async (smallest: Row) => {
    const others = { ...(expiresAt !== undefined && { expiresAt }), ...(askFirst !== undefined && { askFirst }) };
    showKey(await act<Row>('create_api_key', { name: `${name}, narrow`, ...others, ...smallest }));
  };
  return { needs: 'create_api_key', action: 'Make a key with the smallest access', run };
}

const VERDICTS: Readonly<Record<string, string>> = {
  allowed: 'The key may call it.',
  denied: 'The key may not call it.',
  depends: 'It depends on which record the call is about.',
};

function Verdict({ id, tool }: { readonly id: string; readonly tool: string }) {
  const { data, error } = useAnswer<Explained>('explain_access', { keyId: id, tool });
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={2} />;
  const { scope, grant } = data.required ?? {};
  return (
    <section class="overview" aria-live="polite" aria-label="Verdict">
      <p>
        <strong>{VERDICTS[data.verdict] ?? data.verdict}</strong>
      </p>
      <ul class="stack">
        {data.checks.map(({ check, verdict, rule }) => (
          <li key={check}>
            <Badge value={verdict} /> <span>{rule}</span>
          </li>
        ))}
      </ul>
      {scope !== undefined && (
        <p class="quiet">
          The scope {scope} would allow it{grant !== undefined && `, and so would the grant ${grant}`}.
        </p>
      )}
    </section>
  );
}

const OWN_SCOPES = { label: 'Scopes of my own', hint: 'Such as agents:read and flows:write, separated by spaces.' };

function ScopesControl(props: PartProps) {
  const scopes = Array.isArray(props.value) ? props.value.map(String) : [];
  const level = LEVELS.find(({ scope }) => scopes.length === 1 && scopes[0] === scope)?.scope;
  const issue = issueAt(props) ?? props.issues.find(({ path }) => path.startsWith(`${props.path}[`))?.message;
  return (
    <fieldset class="frame">
      <legend>Rights</legend>
      {[...LEVELS, OWN_SCOPES].map(({ label, hint, ...option }) => {
        const scope = 'scope' in option ? option.scope : undefined;
        return (
          <ChoiceRow
            key={label}
            group="level"
            label={label}
            hint={hint}
            checked={level === scope}
            onPick={() => props.onChange([scope ?? 'agents:read'])}
          />
        );
      })}
      {(level === undefined || issue !== undefined) && (
        <TextField
          label="Scopes"
          issue={issue}
          value={scopes.join(' ')}
          onType={(typed) => props.onChange(typed.split(/[\s,]+/))}
          input={{ onBlur: () => props.onChange(scopes.filter((scope) => scope !== '')) }}
        />
      )}
    </fieldset>
  );
}

function rightsOf({ scopes, grants }: Row): string {
  if (Array.isArray(grants)) return counted(grants.length, 'grant');
  const held = Array.isArray(scopes) ? scopes.map(String) : [];
  // Each level includes the ones before it.
  const level = LEVELS.findLast(({ scope }) => held.includes(scope));
  const isPlain = held.every((scope) => LEVELS.some((other) => other.scope === scope));
  return isPlain && level ? level.label : held.join(', ');
}
