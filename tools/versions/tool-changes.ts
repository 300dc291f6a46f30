import type { VersionDiff } from '../../resources/version.ts';
import { gainedAndLost, matchEntry } from '../core/access/allowlist.ts';
import type { HistoryOptions, Payload } from '../core/kind.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';

/** What the difference of two allowlists comes to today, in tools and not in globs. Undefined where there is no such difference. */
export function toolChanges(
  { allowlist }: Pick<HistoryOptions, 'allowlist'>,
  [before, after]: readonly [Payload, Payload],
  catalog: Catalog,
): VersionDiff['tools'] {
  if (allowlist === undefined) return undefined;
  const [was, is] = [before, after].map((payload) => namesIn(payload[allowlist], catalog));
  if (!was || !is) return undefined;
  const { gained, lost } = gainedAndLost(was, is);
  return gained.length + lost.length > 0 ? { gained, lost } : undefined;
}

function namesIn(entries: unknown, catalog: Catalog): ReadonlySet<string> {
  const listed = Array.isArray(entries) ? entries.map(String) : [];
  return new Set(listed.flatMap((entry) => matchEntry(entry, catalog)).map(({ tool }) => tool.name));
}
