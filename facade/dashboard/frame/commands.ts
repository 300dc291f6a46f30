import type { IconName } from '../components/icon.tsx';
import { kinds } from '../kinds.ts';
import { groups, pages } from '../pages.ts';
import { text } from '../text.ts';
import { setTheme } from './theme.ts';

/** What the palette offers besides records: a page, or something to do. */
export interface Command {
  readonly title: string;
  readonly icon: IconName;
  /** Other words that people use for it. */
  readonly also: string;
  /** Offered only to people who may call this tool. */
  readonly needs?: string | undefined;
  /** Where it leads, or what it does. */
  readonly does: string | (() => void);
}

const ALSO: Readonly<Record<string, string>> = {
  '/': 'start overview dashboard',
  '/connect': 'connection client Claude ChatGPT Cursor VS Code MCP editor endpoint address',
  '/chat': 'conversations threads messages talk ask',
  '/approvals': 'waiting decide approve reject ask first confirm',
  '/agents': 'bots assistants',
  '/skills': 'instructions prompts',
  '/flows': 'automations workflows schedules triggers',
  '/runs': 'traces executions what agents did failures',
  '/integrations': 'connect MCP servers upstream tools plugins',
  '/models': 'providers LLM OpenAI Anthropic Gemini Ollama keys',
  '/connections': 'connect Slack HTTP send outgoing requests',
  '/webhooks': 'notifications events alerts outgoing rotate secret',
  '/memory': 'memories remember facts',
  '/documents': 'files knowledge upload PDF',
  '/databases': 'tables rows records',
  '/users': 'customers accounts',
  '/analytics': 'metrics numbers revenue MRR churn funnel retention traffic',
  '/reports': 'charts',
  '/import': 'CSV upload data',
  '/capsules': 'partner endpoint allowlist limited rotate token',
  '/keys': 'API tokens secrets credentials rotate revoke',
  '/apps': 'OAuth connected clients disconnect revoke',
  '/people': 'team colleagues members administrators access',
  '/access': 'matrix rights permissions reach roles who can do',
  '/audit': 'log history who changed what',
  '/usage': 'cost spending tokens calls who spends most',
  '/budgets': 'limits caps cost spending',
  '/backups': 'back up restore copy snapshot save',
  '/settings': 'currency time zone retention prices model workspace',
  '/account': 'my passkeys profile',
};

/** As the button in the menu of the person does it. */
function signOut(): void {
  document.querySelector<HTMLFormElement>('form[action$="/sign-out"]')?.requestSubmit();
}

const DO: readonly Command[] = [
  {
    title: 'Invite somebody',
    icon: 'person',
    also: 'add colleague teammate member user access',
    needs: 'create_admin_user',
    does: '/people/new',
  },
  {
    title: 'Default model',
    icon: 'model',
    also: 'change choose set LLM for agents and chat',
    needs: 'update_bot_config',
    does: '/settings?tab=prompt',
  },
  { title: text.signOut, icon: 'person', also: 'log out logout leave end session', does: signOut },
  { title: 'Use the dark theme', icon: 'settings', also: 'appearance night mode', does: () => setTheme('dark') },
  { title: 'Use the light theme', icon: 'settings', also: 'appearance day mode', does: () => setTheme('light') },
  {
    title: 'Use the theme of the system',
    icon: 'settings',
    also: 'appearance automatic mode',
    does: () => setTheme(undefined),
  },
];

const iconAt = (at: string) => pages.find(({ path }) => path === at)?.icon;
/** Kinds that are made by a form of their own page. */
const MADE = new Map(Object.values(kinds).map((kind) => [kind.one, kind]));
for (const other of ['admin_user', 'thread']) MADE.delete(other);

const NEW: readonly Command[] = [...MADE.values()].flatMap(({ path, words, one, newTitle = `New ${words.one}` }) => {
  const icon = iconAt(path);
  if (!icon) return [];
  const also = `create make add ${ALSO[path] ?? ''}`;
  return [{ title: newTitle, icon, also, needs: `create_${one}`, does: `${path}/new` }];
});

const PAGES: readonly Command[] = pages
  .filter(({ path }) => path !== '/history')
  .map(({ path, title, icon, needs }) => ({ title, icon, also: ALSO[path] ?? '', needs, does: path }));

/** Those that fit what is typed: each of its words begins one of theirs. Titles come before other words. */
export function commandsFor(typed: string, may: ReadonlySet<string>): readonly Command[] {
  const all = typed === '' ? Object.values(groups).flat().length : 8;
  const wanted = wordsIn(typed);
  const fits = (text: string) => {
    const words = wordsIn(text);
    return wanted.every((want) => words.some((word) => word.startsWith(want)));
  };
  const offered = (typed === '' ? PAGES : [...PAGES, ...DO, ...NEW]).filter(({ needs }) => !needs || may.has(needs));
  const named = offered.filter(({ title }) => fits(title));
  const meant = offered.filter((one) => !named.includes(one) && fits(`${one.title} ${one.also}`));
  return [...named, ...meant].slice(0, all);
}

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
