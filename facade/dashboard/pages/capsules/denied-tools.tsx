import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import type { PartProps } from '../../components/form/state.ts';
import { ToolsPicker } from '../../components/tools-picker.tsx';

/** Most capsules deny nothing by name, so all tools are shown to pick from only on request. */
export function DeniedTools(props: PartProps) {
  const [opened, setOpened] = useState(false);
  const isEmpty = !Array.isArray(props.value) || props.value.length === 0;
  if (!isEmpty || opened) return <ToolsPicker {...props} />;
  return (
    <div class="field">
      <Button text="Deny some of them" icon="minus" onClick={() => setOpened(true)} />
      <p class="hint">Names or patterns that beat the allowed ones.</p>
    </div>
  );
}
