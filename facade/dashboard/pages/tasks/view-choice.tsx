import { setQuery, usePlace } from '../../app.ts';
import { Segments } from '../../ui.ts';

const VIEWS = [
  { value: 'board', label: 'Board' },
  { value: 'list', label: 'List' },
] as const;

/** Tasks by their state, or one below the other. It stands in the address. */
export function ViewChoice() {
  const { parts, query } = usePlace();
  if (parts.length > 1) return null;
  return (
    <Segments
      label="View"
      value={query.get('view') === 'list' ? 'list' : 'board'}
      options={VIEWS}
      onChange={(value) => setQuery({ view: value === 'list' ? 'list' : undefined })}
    />
  );
}
