import { type ListAnswer, useAnswer, useNames } from '../../app.ts';
import { Icon, LinkButton } from '../../ui.ts';

interface Item {
  readonly title: string;
  readonly hint: string;
  readonly to: string;
  /** The reading call that tells whether it is done, and how many records it takes. */
  readonly tool: string;
  readonly input?: object;
  readonly atLeast?: number;
}

const ITEMS: readonly Item[] = [
  {
    title: 'Connect a client',
    hint: 'Claude, ChatGPT, VS Code or your own code.',
    to: '/keys/new',
    tool: 'list_audit_entries',
    input: { door: 'mcp', outcome: 'ok', limit: 1 },
  },
  {
    title: 'Make an agent',
    hint: 'It answers people and does work with the tools you allow.',
    to: '/agents/new',
    tool: 'list_agents',
    input: { limit: 1 },
  },
  {
    title: 'Make a capsule',
    hint: 'An endpoint of its own with just the tools that somebody needs.',
    to: '/capsules/new',
    tool: 'list_capsules',
    input: { limit: 1 },
  },
  {
    title: 'Import your users',
    hint: 'Metrics and look-ups are computed from them.',
    to: '/import',
    tool: 'list_users',
    input: { limit: 1 },
  },
  {
    title: 'Invite somebody',
    hint: 'Another person who administers this workspace.',
    to: '/people/new',
    tool: 'list_admin_users',
    input: { limit: 2 },
    atLeast: 2,
  },
];

/** What is left to set up; each line ticks itself. Nothing once all is done. */
export function Checklist() {
  const names = useNames();
  const items = ITEMS.filter(({ tool }) => names.has(tool));
  const done = ITEMS.map((item) => useDone(names.has(item.tool) ? item : undefined, item));
  const states = items.map((item) => ({ item, isDone: done[ITEMS.indexOf(item)] }));
  const ready = states.filter(({ isDone }) => isDone).length;
  if (items.length === 0 || states.some(({ isDone }) => isDone === undefined) || ready === items.length) return null;
  const sorted = [...states].sort((one, other) => Number(one.isDone) - Number(other.isDone));
  return (
    <section class="card" aria-labelledby="set-up">
      <header class="card-head">
        <h2 id="set-up">
          Set up <span class="card-count">{`${ready} of ${items.length}`}</span>
        </h2>
        <progress class="progress" max={items.length} value={ready} aria-label="Set up" />
      </header>
      <ul class="checklist">
        {sorted.map(({ item, isDone }) => (
          <li key={item.title} class={isDone ? 'checklist-item done' : 'checklist-item'}>
            <span class="tick">{isDone && <Icon name="check" size={12} />}</span>
            <span class="checklist-words">
              <span class="checklist-title">{item.title}</span>
              {isDone ? <span class="only-heard">: done</span> : <span class="quiet"> · {item.hint}</span>}
            </span>
            {!isDone && <LinkButton text="Start" to={item.to} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Undefined until it is known. */
function useDone(item: Item | undefined, { input = {}, atLeast = 1 }: Item): boolean | undefined {
  const { data } = useAnswer<ListAnswer<unknown>>(item?.tool, input);
  return data && data.data.length >= atLeast;
}
