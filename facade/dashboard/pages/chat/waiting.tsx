import type { Approval } from '../../../../resources/approval.ts';
import { useAnswer, useMay, useTool } from '../../app.ts';
import { Badge, LinkButton } from '../../ui.ts';

/** A call that waits for a person. */
type WaitingCall = Readonly<{ tool: string; approvalId: string }>;

/** The calls that the message says it waits for, as `waitingText` of the agents writes it in place of an answer, and wrote it in 0.1.0. */
export function waitsFor(content: string): readonly WaitingCall[] {
  const [head = '', ...lines] = content.split('\n');
  if (!/^\(Waits for (approval|the yes of a person)/.test(head)) return [];
  const calls = lines.flatMap((line) => {
    const [, tool, approvalId] = /^([\w.-]+): \S*\/approvals\/(\w+)\)?$/.exec(line) ?? [];
    return tool !== undefined && approvalId !== undefined ? [{ tool, approvalId }] : [];
  });
  return calls.length === lines.length ? calls : [];
}

/** In place of such a message: what waits, and the way to its approval. */
export function WaitingCalls({ calls }: { readonly calls: readonly WaitingCall[] }) {
  return (
    <>
      {calls.map((one) => (
        <OneCall key={one.approvalId} {...one} />
      ))}
    </>
  );
}

function OneCall({ tool, approvalId }: WaitingCall) {
  const may = useMay('get_approval');
  const { data } = useAnswer<Approval>(may ? 'get_approval' : undefined, { id: approvalId });
  const title = useTool(tool)?.title ?? tool;
  const about = aboutIn(data?.arguments);
  const waits = data === undefined || data.status === 'waiting';
  return (
    <div class={waits ? 'note warn approval' : 'note approval'}>
      <p>
        {waits ? 'Waits for approval' : 'Asked for approval'}: {title}
        {about !== undefined && ` “${about}”`} {data && !waits && <Badge value={data.status} />}
      </p>
      <LinkButton needs="get_approval" text={waits ? 'Review' : 'See it'} to={`/approvals/${approvalId}`} />
    </div>
  );
}

const MOST_SHOWN = 80;

/** What the call is about, as far as one of its arguments is a name. */
function aboutIn(given: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const found = ['title', 'displayName', 'name', 'subject'].map((name) => given?.[name]);
  const about = found.find((value) => typeof value === 'string' && value !== '');
  return about === undefined ? undefined : String(about).slice(0, MOST_SHOWN);
}
