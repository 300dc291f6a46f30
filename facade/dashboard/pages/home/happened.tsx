import { at, shortWordsIn, useAnswer, useMay } from '../../app.ts';
import { Avatar, Empty, Link, Skeleton, Time } from '../../ui.ts';
import { HAPPENED } from './first-calls.ts';

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly tool: string;
  readonly requestId: string;
  readonly outcome: string;
  readonly principal: { readonly type: string; readonly name: string };
}

/** The latest changes, by people, programs and agents. */
export function Happened() {
  const may = useMay('list_audit_entries');
  const { data, loading } = useAnswer<{ readonly data: readonly Entry[] }>(
    may ? 'list_audit_entries' : undefined,
    HAPPENED,
  );
  const changes = data?.data ?? [];
  if (!may) return null;
  return (
    <section class="card home-side" aria-labelledby="happened">
      <header class="card-head">
        <h2 id="happened">What happened</h2>
        <Link to="/audit">Audit log</Link>
      </header>
      {changes.length === 0 &&
        (loading ? (
          <div class="pad">
            <Skeleton lines={6} />
          </div>
        ) : (
          <Empty title="Nothing yet">Changes appear here.</Empty>
        ))}
      <ul class="happened">
        {changes.map(({ id, principal, tool: name, requestId, at: time }) => (
          <li key={id}>
            <a class="happened-row" href={at(`/audit?requestId=${encodeURIComponent(requestId)}`)}>
              <Avatar name={principal.name} size="s" />
              <span class="happened-words">
                <strong>{principal.name}</strong> {told(name)}
              </span>
              <span class="happened-time">
                <Time at={time} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const VERBS: Readonly<Record<string, string>> = {
  create: 'made',
  update: 'changed',
  delete: 'deleted',
  send: 'sent',
  revoke: 'revoked',
  rotate: 'rotated',
  trigger: 'started',
  invoke: 'asked',
  restore: 'restored',
  import: 'imported',
  purge: 'purged',
  add: 'added',
  remove: 'removed',
  fork: 'forked',
  refresh: 'refreshed',
  deactivate: 'deactivated',
  reactivate: 'reactivated',
  end: 'ended',
  cancel: 'cancelled',
  provision: 'provisioned',
  receive: 'received',
  retry: 'retried',
  rename: 'renamed',
  connect: 'connected',
  disconnect: 'disconnected',
  rebuild: 'rebuilt',
  take: 'took',
  test: 'tested',
  confirm: 'confirmed',
  call: 'called',
};

/** `create_agent` -> `made agent`. */
function told(tool: string): string {
  if (tool === 'create_session') return 'signed in';
  const [verb = '', ...rest] = tool.split('_');
  return `${VERBS[verb] ?? verb} ${shortWordsIn(rest.join(' '))}`;
}
