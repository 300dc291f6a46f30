import { useState } from 'preact/hooks';
import { Field, TextField } from '../../../components/form/field.tsx';
import { Select } from '../../../components/form/select.tsx';

type Often = 'hour' | 'day' | 'week' | 'month' | 'own';

const OFTEN: readonly { readonly value: Often; readonly label: string }[] = [
  { value: 'hour', label: 'Every hour' },
  { value: 'day', label: 'Every day' },
  { value: 'week', label: 'Every week' },
  { value: 'month', label: 'Every month, on the first' },
  { value: 'own', label: 'Otherwise' },
];

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'].map((label, day) => ({
  value: String(day),
  label,
}));

interface Times {
  readonly often: Often;
  /** `08:00` */
  readonly time: string;
  readonly day: string;
}

/** `0 8 * * 1` in words that can be chosen. What is rarer is written by hand. */
function timesOf(expression: string): Times {
  const usual = { time: '08:00', day: '1' };
  if (expression === '0 * * * *') return { often: 'hour', ...usual };
  const [, minute = '', hour = '', date, day = ''] =
    /^(\d{1,2}) (\d{1,2}) (\*|1) \* (\*|[0-7])$/.exec(expression) ?? [];
  if (date === undefined || (date === '1' && day !== '*') || Number(hour) > 23 || Number(minute) > 59)
    return { often: 'own', ...usual };
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  if (day !== '*') return { often: 'week', time, day: String(Number(day) % 7) };
  return { often: date === '1' ? 'month' : 'day', time, day: usual.day };
}

function expressionOf({ often, time, day }: Times, own: string): string {
  const [hour = 8, minute = 0] = time.split(':').map(Number);
  if (often === 'hour') return '0 * * * *';
  if (often === 'own') return own;
  return `${minute} ${hour} ${often === 'month' ? '1' : '*'} * ${often === 'week' ? day : '*'}`;
}

interface ScheduleProps {
  readonly value: string;
  readonly issue: string | undefined;
  readonly onChange: (expression: string) => void;
}

/** When a flow starts by itself: how often, on which day and when. */
export function ScheduleFields({ value, issue, onChange }: ScheduleProps) {
  const [times, setTimes] = useState(() => timesOf(value));
  const choose = (change: Partial<Times>) => {
    const next = { ...times, ...change };
    setTimes(next);
    onChange(expressionOf(next, value));
  };
  const { often, time, day } = times;
  return (
    <>
      <Field label="How often" issue={often === 'own' ? undefined : issue}>
        {(tied) => (
          <Select {...tied} value={often} options={OFTEN} onPick={(picked) => choose({ often: picked as Often })} />
        )}
      </Field>
      {often === 'week' && (
        <Field label="Day">
          {(tied) => <Select {...tied} value={day} options={DAYS} onPick={(picked) => choose({ day: picked })} />}
        </Field>
      )}
      {often === 'own' ? (
        <TextField
          label="Schedule"
          hint="Five fields: minute, hour, day, month, weekday. 0 8 * * 1-5 is 08:00 on weekdays."
          needed
          issue={issue}
          input={{ class: 'input code-input' }}
          value={value}
          onType={onChange}
        />
      ) : (
        often !== 'hour' && (
          <TextField
            label="Time"
            input={{ type: 'time', class: 'input short', required: true }}
            value={time}
            onType={(typed) => typed !== '' && choose({ time: typed })}
          />
        )
      )}
    </>
  );
}
