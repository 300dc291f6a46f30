import { clockTime, exactTime, pathOf } from '../../app.ts';
import { Badge, Link, Mono } from '../../ui.ts';
import { amount, type Budget, limitWords, stateOf } from './budget.ts';

/** How much of a budget is used: as a bar, in numbers, and in a word where somebody should know. */
export function Used({ budget }: { readonly budget: Budget }) {
  const { used, limit } = budget;
  const { value, label, tone } = stateOf(budget);
  return (
    <span class="used">
      <meter class={`share-bar ${value}`} min={0} max={1} value={Math.min(1, used / limit)} aria-hidden="true" />
      <span class="used-words">
        <span class="number">
          {amount(budget, used)} of {amount(budget, limit)}
        </span>
        {value !== 'ok' && <Badge tone={tone}>{label}</Badge>}
      </span>
    </span>
  );
}

/** When the next period begins, on the clock of whoever looks. */
export function Renewal({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {clockTime(at)}
    </time>
  );
}

/** What a budget limits, and when it renews. `named`: also whose it is, where there is no room for a column that says so. */
export function Limit({ budget, named = false }: { readonly budget: Budget; readonly named?: boolean }) {
  const { name, id } = budget.subject;
  return (
    <span class="name-words">
      <span class="name-title">{limitWords(budget)}</span>
      {named && <span class="name-more instead-2">{name ?? id}</span>}
      <span class="name-more">
        renews <Renewal at={budget.renewsAt} />
      </span>
    </span>
  );
}

/** Whose budget it is, by name and leading to its page. */
export function Subject({ id, name }: Budget['subject']) {
  const path = pathOf(id);
  const shown = name ?? <Mono>{id}</Mono>;
  return path === undefined ? <span>{shown}</span> : <Link to={path}>{shown}</Link>;
}
