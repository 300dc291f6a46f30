import { useEffect, useState } from 'preact/hooks';
import { CallError, call, counted, type ListedTool, number } from '../../app.ts';
import type { Members } from '../../components/form/state.ts';
import { EffectBadge } from '../../components/tool-catalog.tsx';
import { ErrorBox, Mono, Skeleton } from '../../ui.ts';

type MatchedTool = Readonly<{ name: string; served: boolean; rule: string }>;

interface Preview {
  readonly tools: readonly Pick<ListedTool, 'name' | 'title' | 'annotations'>[];
  readonly estimatedTokens: number;
  readonly entries: readonly Readonly<{ entry: string; tools: readonly MatchedTool[] }>[];
  readonly warnings: readonly string[];
  readonly changes?: Readonly<Record<'gained' | 'lost' | 'limited', readonly string[]>>;
}

const DECIDING = ['name', 'allowedTools', 'deniedTools', 'constraints'];
const WAIT_MS = 250;

/** What a capsule serves, or would with the values of its form: asked again a moment after each change. */
export function CapsulePreview({ value, id }: { readonly value: Members; readonly id?: string | undefined }) {
  const draft = Object.fromEntries(DECIDING.filter((name) => filled(value[name])).map((name) => [name, value[name]]));
  const asked = JSON.stringify({
    ...(id !== undefined && { id }),
    ...((id === undefined || filled(draft)) && { draft }),
  });
  const [shown, setShown] = useState<Preview>();
  const [error, setError] = useState<CallError>();
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      call<Preview>('preview_capsule', JSON.parse(asked) as object, { signal: stop.signal })
        .then((preview) => {
          setShown(preview);
          setError(undefined);
        })
        .catch((problem) => problem instanceof CallError && setError(problem));
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [asked]);
  return (
    <section class="preview stack" aria-label="What it serves" aria-live="polite">
      <p class="label">What it serves</p>
      {error && <ErrorBox error={error} />}
      {shown?.tools.length === 0 && value.status !== 'disabled' && <p class="note warn">{NO_TOOLS}</p>}
      {shown ? <Served {...shown} /> : !error && <Skeleton lines={3} />}
    </section>
  );
}

const NO_TOOLS = 'No tools yet: a client that connects can do nothing. Pick its tools under Allowed tools.';

function filled(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length > 0
    : value !== undefined && value !== '';
}

const CHANGES = { gained: 'It gains', lost: 'It loses', limited: 'Its limits change for' } as const;

/** What the capsule could do more, less and in another way than now. */
function Changes(changes: NonNullable<Preview['changes']>) {
  return (
    <>
      {Object.entries(CHANGES).map(([change, words]) => {
        const names = changes[change as keyof typeof CHANGES];
        return names.length === 0 ? null : (
          <p key={change}>
            <strong>{words}</strong> {names.join(', ')}
          </p>
        );
      })}
    </>
  );
}

function Served({ tools, estimatedTokens, entries, warnings, changes }: Preview) {
  const refused = entries.flatMap(({ entry, tools: matched }) =>
    matched.filter(({ served }) => !served).map((tool) => ({ ...tool, entry })),
  );
  return (
    <>
      <p>
        <strong>{counted(tools.length, 'tool')}</strong>
        <span class="quiet">{`, about ${number(estimatedTokens)} tokens for the model that reads the list`}</span>
      </p>
      {warnings.map((warning) => (
        <p key={warning} class="note warn">
          {warning}
        </p>
      ))}
      {changes && <Changes {...changes} />}
      <ul class="served">
        {tools.map(({ name, title, annotations }) => (
          <li key={name}>
            <span>{title ?? name}</span> <Mono>{name}</Mono>
            <EffectBadge annotations={annotations ?? {}} />
          </li>
        ))}
      </ul>
      {refused.length > 0 && (
        <details>
          <summary>{`${counted(refused.length, 'tool')} matched and not served`}</summary>
          <ul class="served">
            {refused.map(({ name, rule, entry }) => (
              <li key={`${entry} ${name}`}>
                <Mono>{name}</Mono> <span class="quiet">{rule}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
