import { Component, type ComponentChildren } from 'preact';
import { CallError } from '../client.ts';
import { at } from '../router.ts';
import { text } from '../text.ts';
import { useMay } from '../tools.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface ErrorBoxProps {
  readonly error: unknown;
  /** Leaves out problems that stand at their fields. */
  readonly shownElsewhere?: (path: string) => boolean;
  readonly onRetry?: () => void;
}

/** The server's sentence, what was missing, and the request by which the audit log knows it. */
export function ErrorBox({ error, shownElsewhere = () => false, onRetry }: ErrorBoxProps) {
  const said = error instanceof CallError ? error : undefined;
  const issues = said?.issues.filter(({ path }) => !shownElsewhere(path)) ?? [];
  return (
    <div class="error-box" role="alert">
      <Icon name="warning" size={18} />
      <div>
        <p class="error-text">{said?.message ?? (error instanceof Error ? error.message : String(error))}</p>
        {issues.map(({ path, message }) => (
          <p key={path + message}>
            {path !== '' && <code class="mono">{path}</code>} {message}
          </p>
        ))}
        {said?.required && <Missing required={said.required} />}
        {said?.requestId !== undefined && <Request id={said.requestId} />}
        {onRetry && <Button text={text.retry} onClick={onRetry} />}
      </div>
    </div>
  );
}

function Missing({ required }: { readonly required: NonNullable<CallError['required']> }) {
  const { scope, grant, role } = required;
  if (!scope && !grant && !role) return null;
  return (
    <p>
      Missing:{' '}
      {[scope && `scope ${scope}`, grant && `grant ${grant}`, role && `role ${role}`].filter(Boolean).join(' or ')}
    </p>
  );
}

function Request({ id }: { readonly id: string }) {
  const mayFollow = useMay('list_audit_entries');
  return (
    <p class="error-request">
      Request <code class="mono">{id}</code>
      {mayFollow && <a href={at(`/audit?requestId=${encodeURIComponent(id)}`)}>See it in the audit log</a>}
    </p>
  );
}

/** Shows what went wrong in a part of the page instead of an empty page. */
export class Boundary extends Component<{ readonly children: ComponentChildren }, { readonly error?: unknown }> {
  override state: { readonly error?: unknown } = {};

  override componentDidCatch(error: unknown): void {
    this.setState({ error });
  }

  override render() {
    if (this.state.error === undefined) return <>{this.props.children}</>;
    return (
      <div class="pad">
        <ErrorBox error={this.state.error} onRetry={() => location.reload()} />
      </div>
    );
  }
}
