import { useTool } from '../app.ts';
import { Prose } from '../components/prose.tsx';
import { Fields, NamedValue, Time, titleIn } from '../ui.ts';
import type { KindSpec, Row } from './spec.ts';

const BOOKKEEPING = ['id', 'uid', 'createdAt', 'updatedAt', 'revision', 'status', 'warnings'];
const LONG = 160;

/** The members of a record: short ones in rows, long texts in blocks. */
export function Overview({ spec, row }: { readonly spec: KindSpec; readonly row: Row }) {
  const schema = useTool(`get_${spec.one}`)?.outputSchema;
  const { above: Above, below: Below } = spec;
  const away = new Set([
    ...BOOKKEEPING,
    ...(spec.without ?? []),
    spec.title,
    ...(spec.subtitle ? [spec.subtitle] : []),
  ]);
  const names = [...new Set([...Object.keys(schema?.properties ?? {}), ...Object.keys(row)])].filter(
    (name) => !away.has(name) && row[name] !== undefined,
  );
  const blocks = names.filter((name) => spec.blocks?.includes(name) || isLong(row[name]));
  return (
    <div class="overview">
      <Warnings warnings={row.warnings} />
      {Above && <Above row={row} />}
      <Fields record={row} schema={schema} only={names.filter((name) => !blocks.includes(name))} />
      <Kept row={row} />
      {blocks.map((name) => (
        <section key={name} class="block">
          <h2>{titleIn(schema, name)}</h2>
          <div class={spec.prose?.includes(name) ? 'block-prose' : 'block-text'}>
            {spec.prose?.includes(name) ? <Prose text={String(row[name])} /> : String(row[name])}
          </div>
        </section>
      ))}
      {Below && <Below row={row} />}
    </div>
  );
}

function isLong(value: unknown): boolean {
  return typeof value === 'string' && (value.length > LONG || value.includes('\n'));
}

function Kept({ row }: { readonly row: Row }) {
  const { createdAt, updatedAt, revision } = row;
  return (
    <dl class="fields">
      {typeof updatedAt === 'string' && (
        <NamedValue name="Changed">
          <Time at={updatedAt} /> {typeof revision === 'number' && <span class="faint">· revision {revision}</span>}
        </NamedValue>
      )}
      {typeof createdAt === 'string' && (
        <NamedValue name="Created">
          <Time at={createdAt} />
        </NamedValue>
      )}
    </dl>
  );
}

export function Warnings({ warnings }: { readonly warnings: unknown }) {
  if (!Array.isArray(warnings) || warnings.length === 0) return null;
  return (
    <div class="note warn" role="note">
      {warnings.map((warning) => (
        <p key={String(warning)}>{String(warning)}</p>
      ))}
    </div>
  );
}
