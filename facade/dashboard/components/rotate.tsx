import { useEffect, useState } from 'preact/hooks';
import { act } from '../answer-cache.ts';
import { clockTime, timeLeft } from '../format.ts';
import { useMay } from '../tools.ts';
import { AskButton, ConfirmDialog } from './action.tsx';
import { Button } from './button.tsx';
import { Connect } from './connect/connect.tsx';
import { shortName } from './connect/hosts.ts';
import { SecretOnce, showDialog } from './dialog.tsx';
import { Mono } from './small.tsx';
import { Segments } from './tabs.tsx';

/** What gets a new secret: a key, a webhook, or a capsule with its token. */
interface Rotating {
  readonly id: string;
  readonly name: string;
  readonly word: 'secret' | 'token';
  /** The tool that makes the new one, and the member in which it answers it. */
  readonly tool: 'rotate_api_key' | 'rotate_capsule_token' | 'rotate_webhook_secret';
  /** What clients use it at. Undefined: no client does. */
  readonly url?: string;
  /** What happens to clients that have the old one when it ends. */
  readonly warning: string;
}

const GRACE = [
  { value: '0', label: 'Now' },
  { value: '3600', label: 'In 1 hour' },
  { value: '86400', label: 'In 1 day' },
  { value: '604800', label: 'In 7 days' },
] as const;
type Grace = (typeof GRACE)[number]['value'];

/** The way to a new secret, for those who may make one. */
export function RotateButton({ of }: { readonly of: Rotating }) {
  const [asks, setAsks] = useState(false);
  if (!useMay(of.tool)) return null;
  return (
    <>
      <Button text={`New ${of.word}`} icon="refresh" onClick={() => setAsks(true)} />
      {asks && <RotateDialog of={of} onClose={() => setAsks(false)} />}
    </>
  );
}

/** Makes a new secret and asks when the old one ends. */
function RotateDialog({ of, onClose }: { readonly of: Rotating; readonly onClose: () => void }) {
  const [grace, setGrace] = useState<Grace>('3600');
  const { id, name, word, tool, url, warning } = of;
  const rotate = async () => {
    const until = new Date(Date.now() + Number(grace) * 1000).toISOString();
    const answer = await act(tool, { id, graceSeconds: Number(grace) });
    const secret = String(answer[word]);
    showDialog((close) => (
      <SecretOnce title={`The new ${word} of ${name}`} secret={secret} onClose={close}>
        {grace !== '0' && <p class="note">{`The old ${word} works until ${clockTime(until)}.`}</p>}
        {url !== undefined && <Connect name={shortName(name)} url={url} token={secret} />}
      </SecretOnce>
    ));
  };
  const label = `The old ${word} stops`;
  return (
    <ConfirmDialog title={`A new ${word} for ${name}`} action={`Make the ${word}`} run={rotate} onClose={onClose}>
      <p>{warning}</p>
      <p class="label">{label}</p>
      <Segments label={label} value={grace} options={GRACE} onChange={setGrace} />
    </ConfirmDialog>
  );
}

/** A secret that was replaced and still works. */
export type Earlier = Readonly<{ prefix: string; until: string }>;

interface EarlierProps {
  /** As the tools answer them. */
  readonly earlier: unknown;
  readonly word: Rotating['word'];
  /** The call that ends them at once. */
  readonly end: { readonly tool: string; readonly input: object };
}

/** Counts down the secrets that were replaced, as long as one still works, and ends them on request. */
export function EarlierSecrets({ earlier, word, end }: EarlierProps) {
  const [, tick] = useState({});
  const may = useMay(end.tool);
  const good = (Array.isArray(earlier) ? (earlier as Earlier[]) : []).filter(
    ({ until }) => Date.parse(until) > Date.now(),
  );
  const counts = good.length > 0;
  useEffect(() => {
    if (!counts) return undefined;
    const timer = setInterval(() => tick({}), 1000);
    return () => clearInterval(timer);
  }, [counts]);
  if (!counts) return null;
  const title = `End the old ${word}${good.length === 1 ? '' : 's'}?`;
  const ask = { title, action: 'End now', run: () => act(end.tool, end.input) };
  return (
    <div class="note countdown">
      <div>
        {good.map(({ prefix, until }) => (
          <p key={prefix}>
            The old {word} <Mono>{prefix}</Mono> works until <time dateTime={until}>{clockTime(until)}</time>,{' '}
            {timeLeft(until)} more.
          </p>
        ))}
      </div>
      {may && (
        <AskButton text={good.length === 1 ? 'End it now' : 'End them now'} ask={ask}>
          <p>{`Clients that still use an old ${word} are refused at once. The newest one keeps working.`}</p>
        </AskButton>
      )}
    </div>
  );
}
