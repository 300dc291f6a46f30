import { useState } from 'preact/hooks';
import { act, useMay, useTool } from '../../app.ts';
import { Form } from '../../components/form/form.tsx';
import { pathOf, type Row } from '../../kind/spec.ts';
import { Button, Dialog, Empty, Fields, LinkButton, toast } from '../../ui.ts';

/** How an agent appears to the outside, and the phone and card that were provided for it. */
export function Identity({ row }: { readonly row: Row }) {
  const schema = useTool('get_agent')?.outputSchema?.properties?.identity;
  const mayEdit = useMay('update_agent');
  const mayProvision = useMay('provision_agent_identity');
  const [provisions, setProvisions] = useState(false);
  const identity = row.identity as Row | undefined; // as the schema of an agent says
  const actions = (
    <div class="actions">
      {mayEdit && <LinkButton text="Edit identity" to={`${pathOf({ path: '/agents' }, row)}/edit`} />}
      {mayProvision && <Button text="Record phone or card" onClick={() => setProvisions(true)} />}
    </div>
  );
  return (
    <div class="overview">
      {identity && Object.keys(identity).length > 0 ? (
        <>
          <Fields record={identity} schema={schema} />
          {actions}
        </>
      ) : (
        <Empty title="No identity yet" action={actions}>
          An address, a signature, a phone number: what people outside see of the agent.
        </Empty>
      )}
      {provisions && (
        <Dialog title="Record phone or card" size="m" onClose={() => setProvisions(false)}>
          <Form
            tool="provision_agent_identity"
            given={{ id: row.id, expectedRevision: row.revision }}
            run={async (input) => {
              await act('provision_agent_identity', input);
              setProvisions(false);
              toast('The identity is recorded.');
            }}
            onCancel={() => setProvisions(false)}
          />
        </Dialog>
      )}
    </div>
  );
}
