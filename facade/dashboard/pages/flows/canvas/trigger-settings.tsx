import { TextField } from '../../../components/form/field.tsx';
import { Part } from '../../../components/form/part.tsx';
import { issueAt, type Members, type PartProps } from '../../../components/form/state.ts';
import { onlyValue } from '../../../schema.ts';
import { Segments } from '../../../ui.ts';
import type { Signature } from '../signature.tsx';
import { SignatureFields } from '../signature-fields.tsx';
import { ScheduleFields } from './schedule-fields.tsx';
import { triggerOf } from './words.ts';

type Kind = 'manual' | 'cron' | 'webhook' | 'event';

const STARTS: readonly { readonly value: Kind; readonly label: string }[] = [
  { value: 'manual', label: 'By hand' },
  { value: 'cron', label: 'At times' },
  { value: 'webhook', label: 'When a webhook arrives' },
  { value: 'event', label: 'On an event here' },
];

const FIRST: Readonly<Record<Kind, Members>> = {
  manual: { kind: 'manual' },
  cron: { kind: 'cron', expression: '0 8 * * 1' },
  webhook: { kind: 'webhook' },
  event: { kind: 'event', type: '' },
};

interface TriggerSettingsProps extends PartProps {
  /** How senders sign, as it is stored. */
  readonly before: Signature | undefined;
}

/** What starts a flow; of a webhook, also who signs what is sent to it. */
export function TriggerSettings({ before, ...props }: TriggerSettingsProps) {
  const { schema, value, path, issues, onChange } = props;
  const trigger = triggerOf(value);
  const members = (value ?? {}) as Members; // an object, or nothing yet
  const kind = (trigger.kind ?? 'manual') as Kind;
  const option = schema.anyOf?.find(({ properties }) => onlyValue(properties?.kind) === kind);
  const set = (change: Members) => onChange({ ...members, ...change });
  const timezone = option?.properties?.timezone;
  const issue = (member: string) => issueAt({ path: `${path}.${member}`, issues });
  return (
    <div class="form">
      <Segments label="Starts" value={kind} options={STARTS} onChange={(next) => onChange(FIRST[next])} />
      {kind === 'manual' && <p class="quiet">By the button, by a tool call or by another flow.</p>}
      {kind === 'cron' && (
        <>
          <ScheduleFields
            value={trigger.expression ?? ''}
            issue={issue('expression')}
            onChange={(expression) => set({ expression })}
          />
          {timezone && (
            <Part
              name="timezone"
              path={`${path}.timezone`}
              schema={timezone}
              needed={false}
              value={trigger.timezone}
              issues={issues}
              onChange={(zone) => {
                const { timezone: _, ...rest } = members;
                onChange(zone === undefined || zone === '' ? rest : { ...rest, timezone: zone });
              }}
            />
          )}
        </>
      )}
      {kind === 'webhook' && <SignatureFields {...props} path={`${path}.signature`} before={before} />}
      {kind === 'event' && (
        <TextField
          label="Event"
          hint="Such as agent.updated or skill.created."
          needed
          issue={issue('type')}
          value={trigger.type ?? ''}
          onType={(type) => set({ type })}
        />
      )}
    </div>
  );
}
