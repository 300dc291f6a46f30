import type { ComponentType } from 'preact';
import { type Kind, type KindName, useLocation } from '../app.ts';
import { DetailPane } from './detail-pane.tsx';
import { CreatePane } from './forms.tsx';
import { ListPane } from './list-pane.tsx';
import { type KindSpec, specOf } from './spec.ts';

export { timeColumn } from './columns.tsx';
export { NoneYet } from './list-pane.tsx';
export { changeItem, pathOf, type Row, specOf } from './spec.ts';

/** A page for a kind of record: its list, one record beside it, and the forms to make and change one. */
export function kindPage(name: KindName, special: Omit<KindSpec, keyof Kind>): ComponentType {
  const spec = specOf(name, special);
  return () => <KindPage spec={spec} />;
}

export function KindPage({ spec }: { readonly spec: KindSpec }) {
  const [, open, verb] = useLocation().parts;
  return (
    <div class={open === undefined ? 'kind' : 'kind with-detail'}>
      <ListPane spec={spec} open={open} />
      {open === 'new' && <CreatePane spec={spec} />}
      {open !== undefined && open !== 'new' && <DetailPane key={open} spec={spec} id={open} edits={verb === 'edit'} />}
    </div>
  );
}
