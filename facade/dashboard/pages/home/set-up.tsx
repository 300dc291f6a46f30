import { useState } from 'preact/hooks';
import type { BotConfig } from '../../../../resources/bot-config.ts';
import type { Model } from '../../../../resources/model.ts';
import { boot, type ListAnswer, useNames } from '../../app.ts';
import { Button, Icon, LinkButton } from '../../ui.ts';
import { HOME } from './first-calls.ts';
import { useHome } from './use-home.ts';

/** `needs`: only for people who may do it. `isDone` tells by what there is. */
interface Step {
  readonly id: string;
  readonly title: string;
  readonly hint: string;
  readonly action: string;
  readonly to: string;
  readonly needs: string;
  readonly asks: keyof typeof HOME;
  readonly isDone: (found: unknown) => boolean;
}

const some = (found: unknown) => (found as ListAnswer<unknown>).data.length > 0;
const OFFLINE = 'offline/';

const STEPS: readonly Step[] = [
  {
    id: 'model',
    title: 'Choose a model',
    hint: 'OpenAI, Anthropic, Google or a server of your own. Until then, agents give placeholder answers.',
    action: 'Add a provider',
    to: '/models/new',
    needs: 'create_model_provider',
    asks: 'botConfig',
    isDone: (found) => !(found as BotConfig).defaultModel.startsWith(OFFLINE),
  },
  {
    id: 'agent',
    title: 'Make your first agent',
    hint: 'It answers people and does work with the tools you allow.',
    action: 'New agent',
    to: '/agents/new',
    needs: 'create_agent',
    asks: 'agents',
    isDone: some,
  },
  {
    id: 'client',
    title: 'Connect a client',
    hint: 'Claude, ChatGPT, Cursor, VS Code or your own code.',
    action: 'Connect',
    to: '/connect',
    needs: 'list_audit_entries',
    asks: 'clients',
    isDone: some,
  },
  {
    id: 'import',
    title: 'Import your users',
    hint: 'Only if you want the numbers of your product here.',
    action: 'Import',
    to: '/import',
    needs: 'import_records',
    asks: 'users',
    isDone: some,
  },
];

/** Of the first step, once a provider has brought models. */
const CHOICE = {
  hint: 'Agents and chats still use the built-in offline model. Choose the default model among those there are.',
  action: 'Choose it',
  to: '/settings?tab=prompt',
};

/** What is left to set up, the next step first in line; each ticks itself by what there is. Nothing once all is done or not wanted. */
export function SetUp() {
  const names = useNames();
  const [unwanted, leave] = useUnwanted();
  const models = useHome<ListAnswer<Model>>('models');
  const chooses = models.data?.data.some(({ id }) => !id.startsWith(OFFLINE));
  const states = STEPS.map((step) => (chooses && step.id === 'model' ? { ...step, ...CHOICE } : step))
    .map((step) => ({ step, isDone: useDone(step) }))
    .filter(({ step: { id, needs, asks } }) => names.has(needs) && names.has(HOME[asks][0]) && !unwanted.includes(id));
  if (states.some(({ isDone }) => isDone === undefined) || (models.loading && !models.data)) return null;
  const [done, left] = [true, false].map((is) => states.filter(({ isDone }) => isDone === is).map(({ step }) => step));
  if (!done || !left?.length) return null;
  return (
    <section class="card" aria-labelledby="set-up">
      <header class="card-head">
        <h2 id="set-up">
          Set up <span class="card-count">{`${done.length} of ${states.length}`}</span>
        </h2>
        <progress class="progress" max={states.length} value={done.length} aria-label="Set up" />
      </header>
      <ol class="checklist">
        {left.map(({ id, title, hint, action, to }, index) => (
          <li key={id} class="checklist-item">
            <span class="tick">{index + 1}</span>
            <span class="checklist-words">
              <span class="checklist-title">{title}</span>
              <span class="quiet"> · {hint}</span>
            </span>
            <LinkButton text={action} to={to} look={index === 0 ? 'primary' : undefined} />
            <Button icon="close" look="quiet" label={`Skip: ${title}`} onClick={() => leave(id)} />
          </li>
        ))}
        {done.length > 0 && (
          <li class="checklist-item done">
            <span class="tick">
              <Icon name="check" size={12} />
            </span>
            <span class="checklist-words quiet">Done: {done.map(({ title }) => title.toLowerCase()).join(', ')}</span>
          </li>
        )}
      </ol>
    </section>
  );
}

/** Undefined until it is known. */
function useDone({ asks, isDone }: Step): boolean | undefined {
  const { data } = useHome<unknown>(asks);
  return data === undefined ? undefined : isDone(data);
}

/** The steps that this person does not want, kept in the browser. */
function useUnwanted(): readonly [readonly string[], (id: string) => void] {
  const key = `admin-set-up ${boot.user.id}`;
  const [unwanted, setUnwanted] = useState(() => (localStorage.getItem(key) ?? '').split(' '));
  const leave = (id: string) => {
    const now = [...unwanted, id];
    localStorage.setItem(key, now.join(' ').trim());
    setUnwanted(now);
  };
  return [unwanted, leave];
}
