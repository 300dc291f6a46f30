import type { ComponentChildren } from 'preact';
import { LinkButton } from './button.tsx';
import { Mono, NamedValue } from './small.tsx';

type PageHeadProps = Readonly<{ title: ComponentChildren; count?: ComponentChildren; children?: ComponentChildren }>;

/** The head of a page or of its list; the children are what can be done there. */
export function PageHead({ title, count, children }: PageHeadProps) {
  return (
    <header class="page-head">
      <h1>{title}</h1>
      {count && <span class="page-count">{count}</span>}
      {children && <span class="page-actions">{children}</span>}
    </header>
  );
}

type PageBodyProps = Readonly<{ title: string; width?: 'narrow' | 'wide'; actions?: ComponentChildren }>;

/** A page in one column. */
export function PageBody(props: PageBodyProps & { readonly children: ComponentChildren }) {
  const { title, width, actions, children } = props;
  return (
    <div class={width === undefined ? 'page-body' : `page-body ${width}`}>
      <PageHead title={title}>{actions}</PageHead>
      {children}
    </div>
  );
}

type DetailBarProps = Readonly<{ all: string; to: string; id?: string; name?: string; children?: ComponentChildren }>;

/** Above one record: back to all of them, its name or its id, and what can be done with it. */
export function DetailBar({ all, to, id, name, children }: DetailBarProps) {
  return (
    <header class="detail-bar">
      <LinkButton look="quiet" icon="back" label={`All ${all}`} to={to} />
      {id !== undefined && <Mono>{id}</Mono>}
      {name !== undefined && <span class="detail-name">{name}</span>}
      {children}
    </header>
  );
}

/** Values by their names. A value that is undefined or false is left out. */
export function Facts({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) {
  const shown = Object.entries(of).filter(([, value]) => value !== undefined && value !== false);
  return (
    <dl class="fields">
      {shown.map(([name, value]) => (
        <NamedValue key={name} name={name}>
          {value}
        </NamedValue>
      ))}
    </dl>
  );
}

/** A name, and what else is to say of it in a line below. */
export function NameAndMore({ name, children }: Readonly<{ name: ComponentChildren; children: ComponentChildren }>) {
  return (
    <span class="name-words">
      <span class="name-title">{name}</span>
      <span class="name-more">{children}</span>
    </span>
  );
}
