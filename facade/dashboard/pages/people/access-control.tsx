import { useState } from 'preact/hooks';
import { counted, text } from '../../app.ts';
import { ChoiceRow } from '../../components/access-levels.tsx';
import { TextField } from '../../components/form/field.tsx';
import { issueAt, type Members, type PartProps } from '../../components/form/state.ts';
import { RecordButton } from '../../components/record-button.tsx';
import { RecordName } from '../../components/value.tsx';
import { Badge, Button, Segments } from '../../ui.ts';

interface Access {
  readonly scopes: readonly string[];
  readonly grants?: readonly string[];
}

interface Preset {
  readonly label: string;
  readonly hint: string;
  readonly scopes: readonly string[];
}

export const PRESETS: readonly Preset[] = [
  { label: 'Viewer', hint: 'Sees all records and numbers; changes nothing.', scopes: ['read'] },
  {
    label: 'Analyst',
    hint: 'Sees numbers, users and reports, and makes reports.',
    scopes: ['analytics:read', 'users:read', 'reports:write', 'reports:read', 'artifacts:read', 'goals:read'],
  },
  {
    label: 'Support',
    hint: 'Reads users, documents and memories, talks with agents, and works on threads and tasks.',
    scopes: [
      ...['agents:read', 'chat:write', 'threads:read', 'threads:write', 'users:read', 'documents:read'],
      ...['skills:read', 'memory:read', 'tasks:read', 'tasks:write', 'projects:read'],
    ],
  },
  {
    label: 'Builder',
    hint: 'Makes, changes and runs agents, skills, flows and all they work with; no people, capsules or settings.',
    scopes: ['write'],
  },
];

/** What may be allowed one by one, and the grants of each level. */
const PICKED = {
  agent: { many: 'Agents', one: 'agent', levels: { See: ['agent:read'], Use: ['agent:read', 'agent:invoke'] } },
  project: { many: 'Projects', one: 'project', levels: levelsOf('project') },
  thread: { many: 'Threads', one: 'thread', levels: levelsOf('thread') },
  document: { many: 'Documents', one: 'document', levels: levelsOf('document') },
  database: { many: 'Databases', one: 'database', levels: levelsOf('record') },
} as const satisfies Readonly<Record<string, { many: string; one: string; levels: Levels }>>;
type PickedKind = keyof typeof PICKED;
type Levels = Readonly<Record<string, readonly string[]>>;

function levelsOf(resource: string): Levels {
  return { See: [`${resource}:read`], Change: [`${resource}:read`, `${resource}:write`] };
}

const KINDS = Object.fromEntries(Object.entries(PICKED).map(([kind, { many }]) => [kind, many]));
const PREFIXES: Readonly<Record<string, PickedKind>> = {
  agt_: 'agent',
  prj_: 'project',
  thr_: 'thread',
  doc_: 'document',
  dbs_: 'database',
};

interface PickedRecord {
  readonly id: string;
  readonly kind: PickedKind;
  readonly level: string;
}

type Way = 'full' | 'some' | 'own' | string;

/** What a person may do: by a name for it, record by record, or as scopes and grants. */
export function AccessControl(props: PartProps) {
  const access = accessOf(props.value);
  const [way, setWay] = useState<Way>(() => wayOf(access));
  const pick = (next: Way, given: Access | undefined) => {
    setWay(next);
    props.onChange(given);
  };
  const row = { group: 'access', onPick: () => {} };
  const picked = recordsIn(access?.grants ?? []) ?? [];
  return (
    <fieldset class="frame">
      <legend>What may they do?</legend>
      {PRESETS.map(({ label, hint, scopes }) => (
        <ChoiceRow
          key={label}
          {...{ ...row, label, hint }}
          checked={way === label}
          onPick={() => pick(label, { scopes })}
        />
      ))}
      <ChoiceRow
        {...row}
        label="Only what you pick"
        hint="Single agents, projects, threads, documents and databases."
        checked={way === 'some'}
        onPick={() => pick('some', { scopes: [], grants: [] })}
      />
      {way === 'some' && (
        <Picks picked={picked} onChange={(next) => props.onChange({ scopes: [], grants: grantsOf(next) })} />
      )}
      <ChoiceRow
        {...row}
        label="Full access"
        hint="Everything you may do, also people, keys, capsules, integrations, settings and the audit log."
        checked={way === 'full'}
        onPick={() => pick('full', undefined)}
      />
      <ChoiceRow
        {...row}
        label="Advanced"
        hint="Scopes and grants as text."
        checked={way === 'own'}
        onPick={() => pick('own', access ?? { scopes: ['read'] })}
      />
      {way === 'own' && <OwnRights {...props} access={access ?? { scopes: [] }} />}
    </fieldset>
  );
}

function accessOf(value: unknown): Access | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { scopes, grants } = value as Members;
  return {
    scopes: Array.isArray(scopes) ? scopes.map(String) : [],
    ...(Array.isArray(grants) && { grants: grants.map(String) }),
  };
}

function wayOf(access: Access | undefined): Way {
  if (!access) return 'full';
  if (access.grants?.length) return recordsIn(access.grants) ? 'some' : 'own';
  const asked = [...access.scopes].sort().join();
  return PRESETS.find(({ scopes }) => [...scopes].sort().join() === asked)?.label ?? 'own';
}

/** What to call it in a list. */
export function accessWords(value: unknown): string {
  const access = accessOf(value);
  const way = wayOf(access);
  if (way === 'full') return 'Full access';
  if (way === 'some') return sentenceOf(recordsIn(access?.grants ?? []) ?? []);
  return way === 'own' ? (access?.grants ?? access?.scopes ?? []).join(', ') : way;
}

/** The records that these grants allow one by one. Undefined if there are others among them. */
function recordsIn(grants: readonly string[]): PickedRecord[] | undefined {
  const ids = [...new Set(grants.map((grant) => grant.split(':')[2] ?? ''))];
  const found = ids.map((id): PickedRecord | undefined => {
    const kind = PREFIXES[id.slice(0, 4)];
    const own = grants
      .filter((grant) => grant.endsWith(`:${id}`))
      .sort()
      .join();
    const levels = Object.entries<readonly string[]>(kind ? PICKED[kind].levels : {});
    const level = levels.find(
      ([, of]) =>
        of
          .map((grant) => `${grant}:${id}`)
          .sort()
          .join() === own,
    )?.[0];
    return kind && level !== undefined ? { id, kind, level } : undefined;
  });
  return found.every((one) => one !== undefined) ? found : undefined;
}

function grantsOf(picked: readonly PickedRecord[]): string[] {
  return picked.flatMap(({ id, kind, level }) => {
    const levels: Levels = PICKED[kind].levels;
    return (levels[level] ?? []).map((grant) => `${grant}:${id}`);
  });
}

type PicksProps = Readonly<{ picked: readonly PickedRecord[]; onChange: (picked: readonly PickedRecord[]) => void }>;

function Picks({ picked, onChange }: PicksProps) {
  const add = (id: string) => {
    const kind = PREFIXES[id.slice(0, 4)];
    if (!kind || picked.some((one) => one.id === id)) return;
    onChange([...picked, { id, kind, level: 'See' }]);
  };
  return (
    <div class="picks">
      {picked.map(({ id, kind, level }) => (
        <div key={id} class="pick-row">
          <span class="pick-name">
            <RecordName id={id} /> <Badge tone="plain">{PICKED[kind].one}</Badge>
          </span>
          <Segments
            label={`What they may do with ${id}`}
            value={level}
            options={Object.keys(PICKED[kind].levels).map((value) => ({ value, label: value }))}
            onChange={(next) => onChange(picked.map((one) => (one.id === id ? { ...one, level: next } : one)))}
          />
          <Button
            look="quiet"
            icon="close"
            label={text.remove}
            onClick={() => onChange(picked.filter((one) => one.id !== id))}
          />
        </div>
      ))}
      <RecordButton kinds={KINDS} value="" onPick={add} button={{ class: 'button' }}>
        {text.add}
      </RecordButton>
      <p class="hint" role="status">
        {sentenceOf(picked)}
      </p>
    </div>
  );
}

const VERBS: Readonly<Record<string, string>> = { See: 'Sees', Use: 'Talks with', Change: 'Changes' };

/** `Sees 2 projects, talks with 1 agent; nothing else.` */
function sentenceOf(picked: readonly PickedRecord[]): string {
  if (picked.length === 0) return 'Nothing yet.';
  const counts = new Map<string, number>();
  for (const { kind, level } of picked) counts.set(`${level} ${kind}`, (counts.get(`${level} ${kind}`) ?? 0) + 1);
  const parts = [...counts].map(([of, count]) => {
    const [level = '', kind = ''] = of.split(' ');
    return `${VERBS[level]} ${counted(count, PICKED[kind as PickedKind].one)}`;
  });
  const all = parts.join(', ').toLowerCase();
  return `${all.slice(0, 1).toUpperCase()}${all.slice(1)}; nothing else.`;
}

function OwnRights({ access, ...props }: PartProps & { readonly access: Access }) {
  const issue = issueAt(props) ?? props.issues.find(({ path }) => path.startsWith(`${props.path}.`))?.message;
  const words = (typed: string) => typed.split(/[\s,]+/);
  const tidy = (list: readonly string[]) => list.filter((one) => one !== '');
  const give = (next: Access) =>
    props.onChange({ scopes: next.scopes, ...(next.grants?.length && { grants: next.grants }) });
  return (
    <div class="picks">
      <TextField
        label="Scopes"
        hint="Such as read, or agents:read documents:write."
        issue={issue}
        value={access.scopes.join(' ')}
        onType={(typed) => give({ ...access, scopes: words(typed) })}
        input={{ onBlur: () => give({ ...access, scopes: tidy(access.scopes) }) }}
      />
      <TextField
        label="Grants"
        hint="Such as agent:invoke:ada. Where there are some, they alone decide."
        value={(access.grants ?? []).join(' ')}
        onType={(typed) => give({ ...access, grants: words(typed) })}
        input={{ onBlur: () => give({ ...access, grants: tidy(access.grants ?? []) }) }}
      />
    </div>
  );
}
