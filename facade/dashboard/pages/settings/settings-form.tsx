import { act, useAnswer, useMay, useTool } from '../../app.ts';
import { Form } from '../../components/form/form.tsx';
import type { Row } from '../../kind/spec.ts';
import { ErrorBox, Fields, Skeleton, toast } from '../../ui.ts';
import { RatesControl } from './rates-control.tsx';

const CONTROLS = { exchangeRates: RatesControl };

/** The settings of the workspace, to change where the person may. */
export function SettingsForm() {
  const { data, error } = useAnswer<Row>('get_settings');
  const schema = useTool('get_settings')?.outputSchema;
  const may = useMay('update_settings');
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={8} />;
  if (!may) return <Fields record={data} schema={schema} />;
  const save = async (input: Row) => {
    await act('update_settings', { ...input, expectedRevision: data.revision });
    toast('The settings are saved.');
  };
  return <Form key={String(data.revision)} tool="update_settings" record={data} own={CONTROLS} run={save} />;
}
