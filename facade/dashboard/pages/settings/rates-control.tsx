import { useState } from 'preact/hooks';
import { counted, partsOf, text } from '../../app.ts';
import { AddTyped } from '../../components/form/add-typed.tsx';
import { Frame } from '../../components/form/groups.tsx';
import type { PartProps } from '../../components/form/state.ts';
import { Button } from '../../ui.ts';

/** As the schema of the settings says. A rate that is not typed yet has none. */
type Rate = Readonly<{ month: string; currency: string; rate?: number | undefined }>;

export function RatesControl(props: PartProps) {
  const rates: readonly Rate[] = Array.isArray(props.value) ? props.value : [];
  const own = String(props.beside?.currency ?? '');
  const [added, setAdded] = useState<string>();
  const currencies = [...new Set(rates.map(({ currency }) => currency))].sort();
  const add = (currency: string) => {
    setAdded(currency);
    props.onChange([...rates, { month: thisMonth(), currency }]);
  };
  return (
    <Frame {...props}>
      {currencies.length === 0 && <p class="quiet">None yet: amounts in other currencies cannot be counted.</p>}
      {currencies.map((currency) => (
        <RatesOf
          key={currency}
          {...{ currency, own, rates }}
          begins={currency === added}
          issues={rates.flatMap((rate, index) => (rate.currency === currency ? issuesAt(props, index) : []))}
          onChange={props.onChange}
        />
      ))}
      <AddCurrency taken={[...currencies, own]} onAdd={add} />
    </Frame>
  );
}

function issuesAt({ path, issues }: PartProps, index: number): string[] {
  const at = `${path}[${index}]`;
  return issues.filter((issue) => issue.path === at || issue.path.startsWith(`${at}.`)).map(({ message }) => message);
}

interface RatesOfProps {
  readonly currency: string;
  /** The currency of the workspace. */
  readonly own: string;
  /** Of all currencies. */
  readonly rates: readonly Rate[];
  readonly issues: readonly string[];
  /** Whether it is open at first. */
  readonly begins: boolean;
  readonly onChange: (rates: readonly Rate[]) => void;
}

function RatesOf({ currency, own, rates, issues, begins, onChange }: RatesOfProps) {
  const shown = rates.filter((rate) => rate.currency === currency).sort((a, b) => (a.month < b.month ? 1 : -1));
  const [newest] = shown;
  return (
    <details class="rates" open={begins || issues.length > 0}>
      <summary>
        <strong>{currency}</strong>{' '}
        <span class="quiet">
          {newest?.rate !== undefined && `${newest.rate} ${own} in ${monthWords(newest.month)}, `}
          {counted(shown.length, 'month')}
        </span>
      </summary>
      <AddMonth
        currency={currency}
        taken={shown.map(({ month }) => month)}
        onAdd={(month) => onChange([...rates, { month, currency, rate: newest?.rate }])}
      />
      <ul class="rate-list">
        {shown.map((rate) => (
          <li key={rate.month}>
            <label>
              <span>{monthWords(rate.month)}</span>
              <input
                class="input"
                type="number"
                step="any"
                min={0}
                aria-label={`${currency} in ${monthWords(rate.month)}`}
                value={rate.rate ?? ''}
                onInput={({ currentTarget: { value, valueAsNumber } }) => {
                  const next = { ...rate, rate: value === '' ? undefined : valueAsNumber };
                  onChange(rates.map((other) => (other === rate ? next : other)));
                }}
              />
            </label>
            <Button
              look="quiet"
              icon="close"
              label={`${text.remove} ${currency} in ${monthWords(rate.month)}`}
              onClick={() => onChange(rates.filter((other) => other !== rate))}
            />
          </li>
        ))}
      </ul>
      {issues.length > 0 && (
        <p class="issue" role="alert">
          {issues.join(' ')}
        </p>
      )}
    </details>
  );
}

/** `taken`: newest first. */
type AddMonthProps = Readonly<{ currency: string; taken: readonly string[]; onAdd: (month: string) => void }>;

function AddMonth({ currency, taken, onAdd }: AddMonthProps) {
  const [given, setGiven] = useState<string>();
  const month = given ?? monthAfter(taken[0] ?? thisMonth());
  return (
    <div class="add-pattern">
      <input
        class="input"
        type="month"
        aria-label={`Month of another rate of ${currency}`}
        value={month}
        onInput={({ currentTarget }) => setGiven(currentTarget.value)}
      />
      <Button
        text="Add month"
        icon="plus"
        disabled={!/^\d{4}-\d\d$/.test(month) || taken.includes(month)}
        onClick={() => {
          onAdd(month);
          setGiven(undefined);
        }}
      />
    </div>
  );
}

function AddCurrency({ taken, onAdd }: { readonly taken: readonly string[]; readonly onAdd: (code: string) => void }) {
  const read = (typed: string) => {
    const code = typed.trim().toUpperCase();
    return /^[A-Z]{3}$/.test(code) && !taken.includes(code) ? code : undefined;
  };
  const names = new Intl.DisplayNames('en', { type: 'currency' });
  const options = Intl.supportedValuesOf('currency')
    .filter((one) => !taken.includes(one))
    .map((value) => ({ value, label: names.of(value) ?? value }));
  return (
    <AddTyped label="Another currency" placeholder="USD, GBP, …" options={options} read={read} onAdd={onAdd}>
      {(add, isNothing) => <Button text="Add currency" icon="plus" disabled={isNothing} onClick={add} />}
    </AddTyped>
  );
}

function thisMonth(): string {
  return new Date().toISOString().slice(0, 7);
}

function monthAfter(month: string): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + 1);
  return date.toISOString().slice(0, 7);
}

function monthWords(month: string): string {
  const { month: name, year } = partsOf(month);
  return `${name} ${year}`;
}
