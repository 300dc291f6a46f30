import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../../resources/api-key.ts';
import type { ConnectedApp } from '../../../../resources/connected-app.ts';
import { act } from '../../answer-cache.ts';
import { boot, unifiedEndpoint } from '../../boot.ts';
import { useMay, useTools } from '../../tools.ts';
import type { ListAnswer } from '../../use-paged-list.ts';
import { ChoiceRow, LEVELS } from '../access-levels.tsx';
import { useAction } from '../action.tsx';
import { Button, LinkButton } from '../button.tsx';
import { Code } from '../code.tsx';
import { ErrorBox } from '../error-box.tsx';
import { Segments } from '../tabs.tsx';
import { HostChoice, PasteInto, Steps } from './connect.tsx';
import { FirstUse } from './first-use.tsx';
import { type Host, hosts, isPublic, shortName } from './hosts.ts';

/** What a client is connected to, where that is not everything of the person. */
interface CapsuleTarget {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  /** Only its owner makes a new token. */
  readonly isOwn: boolean;
}

type Way = 'token' | 'sign-in';

/** Made for the client that is being connected. A key has the rights of a level. */
interface Made {
  readonly id: string;
  readonly secret: string;
  readonly level?: string;
}

/** The token of a capsule is for any client; a key is for the one it was made for. */
const ANY_HOST = '';

/** Connects a client, step by step: choose it, limit it, paste what is shown, and see its first call. */
export function Connector({ capsule }: { readonly capsule?: CapsuleTarget }) {
  const url = capsule?.url ?? unifiedEndpoint();
  const shown = [...hosts].sort((one, other) =>
    isPublic(url) ? 0 : Number(one.isHosted ?? false) - Number(other.isHosted ?? false),
  );
  const [hostId, setHostId] = useState(shown[0]?.id ?? '');
  const [wanted, setWay] = useState<Way>('token');
  const [all, setAll] = useState<Readonly<Record<string, Made>>>({});
  const madeFor = capsule ? ANY_HOST : hostId;
  const made = all[madeFor];
  const setMade = (one: Made) => setAll((now) => ({ ...now, [madeFor]: one }));
  const host = hosts.find(({ id }) => id === hostId);
  if (!host) return null;
  const way = !host.signIn ? 'token' : !host.withToken ? 'sign-in' : wanted;
  return (
    <div class="connector">
      <section class="connect" aria-labelledby="connect-client">
        <h2 id="connect-client">Which client?</h2>
        <HostChoice hosts={shown} value={hostId} onChange={setHostId} />
        {host.signIn && host.withToken && (
          <Segments label="How it gets in" value={way} options={WAYS} onChange={setWay} />
        )}
      </section>
      {way === 'sign-in' ? (
        <SignIn host={host} url={url} />
      ) : made ? (
        <Paste key={hostId} host={host} url={url} made={made} capsule={capsule} />
      ) : capsule ? (
        <NewToken of={capsule} onMade={setMade} />
      ) : (
        <NewKey key={hostId} host={host} onMade={setMade} />
      )}
    </div>
  );
}

const WAYS = [
  { value: 'token', label: 'With a key' },
  { value: 'sign-in', label: 'By signing in' },
] as const;

function SignIn({ host, url }: Readonly<{ host: Host; url: string }>) {
  const may = useMay('list_connected_apps');
  const [since] = useState(() => Date.now());
  const came = ({ data }: ListAnswer<ConnectedApp>) =>
    data.some(({ createdAt, lastUsedAt }) => Date.parse(lastUsedAt ?? createdAt) >= since - CLOCKS_MS);
  return (
    <section class="connect" aria-labelledby="connect-sign-in">
      <h2 id="connect-sign-in">Sign in from {host.name}</h2>
      <p class="quiet">It opens a page of this server, where you choose what it may do. No key is kept in it.</p>
      {host.isHosted && !isPublic(url) && (
        <p class="note warn">
          {host.name} calls from the internet: first give this server an https address that it reaches (BASE_URL).
        </p>
      )}
      <Steps steps={host.signIn?.(url) ?? []} />
      <Code value={url} label="Address" />
      {may && (
        <FirstUse
          tool="list_connected_apps"
          input={NEWEST}
          isUsed={came}
          waits={`Waiting for ${host.name} to sign in…`}
        />
      )}
    </section>
  );
}

const NEWEST = { limit: 20 };
/** The clocks of the browser and the server may differ by as much, and uses are noted to the minute. */
const CLOCKS_MS = 60_000;

interface NewKeyProps {
  readonly host: Host;
  readonly onMade: (made: Made) => void;
}

function NewKey({ host, onMade }: NewKeyProps) {
  const [level, setLevel] = useState<string>('read');
  const { busy, error, run } = useAction();
  const may = useMay('create_api_key');
  const make = async () => {
    const input = { name: host.name, scopes: [level] };
    onMade({ ...(await act<Made>('create_api_key', input)), level });
  };
  if (!may)
    return <p class="note">You may not make keys. Choose a client that signs in, or ask an administrator for a key.</p>;
  return (
    <section class="connect" aria-labelledby="connect-rights">
      <h2 id="connect-rights">What may it do?</h2>
      <fieldset class="frame">
        <legend class="visually-hidden">What may it do?</legend>
        {LEVELS.map(({ scope, label, hint }) => (
          <ChoiceRow
            key={scope}
            group="connect-level"
            label={label}
            hint={hint}
            checked={scope === level}
            onPick={() => setLevel(scope)}
          />
        ))}
      </fieldset>
      <p class="quiet">Never more than you. For a few tools only, make a capsule, and connect the client to that.</p>
      {error !== undefined && <ErrorBox error={error} />}
      <div class="actions">
        <Button
          look="primary"
          icon="key"
          text={`Make the key for ${host.name}`}
          busy={busy}
          onClick={() => void run(make)}
        />
        <LinkButton text="Make a capsule" icon="capsule" to="/capsules/new" needs="create_capsule" />
      </div>
    </section>
  );
}

/** How long clients with the earlier token go on. */
const DAY_SECONDS = 86_400;

function NewToken({ of, onMade }: Readonly<{ of: CapsuleTarget; onMade: (made: Made) => void }>) {
  const { busy, error, run } = useAction();
  const make = async () => {
    const input = { id: of.id, graceSeconds: DAY_SECONDS };
    const { token } = await act<{ token: string }>('rotate_capsule_token', input);
    onMade({ id: of.id, secret: token });
  };
  if (!of.isOwn)
    return <p class="note">Only the owner of {of.name} can make a token for it. Clients that sign in need none.</p>;
  return (
    <section class="connect" aria-labelledby="connect-token">
      <h2 id="connect-token">A token for it</h2>
      <p class="quiet">
        A token is shown once, when it is made. Clients with an earlier one go on for a day, so give them this one too.
      </p>
      {error !== undefined && <ErrorBox error={error} />}
      <div class="actions">
        <Button look="primary" icon="key" text="Make a new token" busy={busy} onClick={() => void run(make)} />
      </div>
    </section>
  );
}

type PasteProps = Readonly<{ host: Host; url: string; made: Made; capsule: CapsuleTarget | undefined }>;

/** Many clients show no more of them. */
const MANY_TOOLS = 100;
const SHOWN = [
  { value: 'search', label: 'By search' },
  { value: 'all', label: 'All at once' },
] as const;

function Paste({ host, url, made: { id, secret, level }, capsule }: PasteProps) {
  const isLong = (useTools()?.size ?? 0) > MANY_TOOLS && level !== undefined && level !== 'read';
  const [picked, setShown] = useState<(typeof SHOWN)[number]['value']>('search');
  const searches = isLong && host.showsFew === true;
  const endpoint = { url: searches && picked === 'search' ? `${url}?mode=search` : url, token: secret };
  const name = shortName(capsule?.name ?? boot.workspace);
  const waits = `Waiting for the first call of ${host.name}…`;
  return (
    <section class="connect" aria-labelledby="connect-paste">
      <h2 id="connect-paste">Put this into {host.name}</h2>
      {level !== undefined && (
        <p>
          Key “{host.name}”: {LEVELS.find(({ scope }) => scope === level)?.label}
        </p>
      )}
      {searches && (
        <>
          <Segments label="Tools it is shown" value={picked} options={SHOWN} onChange={setShown} />
          <p class="hint">
            There are more than {MANY_TOOLS} tools, and {host.name} shows only so many. By search, it sees a few, with
            which it finds and calls all others.
          </p>
        </>
      )}
      <PasteInto host={host} endpoint={{ ...endpoint, name }} />
      <p class="quiet">The secret in it is shown this once.</p>
      {capsule ? (
        <FirstUse
          tool="get_capsule"
          input={{ id }}
          isUsed={({ tokenUsedAt }: Readonly<{ tokenUsedAt?: string }>) => tokenUsedAt !== undefined}
          waits={waits}
        />
      ) : (
        <FirstUse
          tool="list_api_keys"
          input={NEWEST}
          isUsed={({ data }: ListAnswer<ApiKey>) => data.some((key) => key.id === id && key.lastUsedAt !== undefined)}
          waits={waits}
        />
      )}
    </section>
  );
}
