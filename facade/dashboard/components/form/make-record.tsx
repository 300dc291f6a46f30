import { type ComponentType, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { act } from '../../answer-cache.ts';
import { refs } from '../../kinds.ts';
import { useTool } from '../../tools.ts';
import { Dialog, showDialog } from '../dialog.tsx';
import { Icon } from '../icon.tsx';
import { toast } from '../toasts.tsx';
import type { Members } from './state.ts';

/** Kinds that are made by few words, in the middle of something else. */
const QUICK = ['skill', 'project', 'goal', 'task', 'document', 'agent'];
/** What is asked for besides what is required; the rest is filled in on the page of the record. */
const ASKED = ['displayName', 'description', 'instructions', 'content', 'projectId'];

interface MissingFormProps {
  readonly tool: string;
  readonly hidden: readonly string[];
  readonly start: Members;
  readonly autoFocus: boolean;
  readonly action: string;
  readonly run: (input: Members) => Promise<unknown>;
  readonly onCancel: () => void;
}

/** The form by which a missing record is made; every form gives itself, as a file cannot import what imports it. */
export const FormForMissing = createContext<ComponentType<MissingFormProps> | undefined>(undefined);

interface MakeRecordProps {
  /** As in `kinds.ts`. */
  readonly kind: string;
  /** What was looked for and not found: its name, probably. */
  readonly typed: string;
  readonly onBegin: () => void;
  readonly onMade: (id: string) => void;
}

/** Makes the record that is missing where one is picked. Nothing for kinds that need more, and for people who may not. */
export function MakeRecord({ kind, typed, onBegin, onMade }: MakeRecordProps) {
  const ref = refs[kind];
  const name = `create_${ref?.one}`;
  const tool = useTool(QUICK.includes(kind) ? name : undefined);
  const Form = useContext(FormForMissing);
  if (!ref || !tool || !Form) return null;
  const members = tool.inputSchema.properties ?? {};
  const hidden = Object.keys(members).filter(
    (member) => !ASKED.includes(member) && !tool.inputSchema.required?.includes(member) && member !== ref.title,
  );
  const begin = () => {
    onBegin();
    // Not within the form in which it is picked: what is sent there is another thing.
    showDialog((close) => (
      <Dialog title={`New ${ref.words.one}`} size="m" onClose={close}>
        <Form
          tool={name}
          hidden={hidden}
          start={typed === '' ? {} : { [ref.title]: typed }}
          autoFocus
          action={`Create ${ref.words.one}`}
          run={async (input) => {
            const made = await act(name, input);
            close();
            onMade(String(made.id));
            toast(`${String(made[ref.title] ?? made.name)} was created.`);
          }}
          onCancel={close}
        />
      </Dialog>
    ));
  };
  return (
    <button type="button" class="menu-item" onClick={begin}>
      <Icon name="plus" />
      <span class="record-name">{typed === '' ? `New ${ref.words.one}…` : `New ${ref.words.one} “${typed}”…`}</span>
    </button>
  );
}
