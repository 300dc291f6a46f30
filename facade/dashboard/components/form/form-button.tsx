import { useState } from 'preact/hooks';
import { Button, type ButtonProps } from '../button.tsx';
import { Dialog } from '../dialog.tsx';
import { Form, type FormProps } from './form.tsx';

interface FormButtonProps extends Pick<ButtonProps, 'text' | 'icon' | 'look'>, Omit<FormProps, 'onCancel'> {
  /** Of the dialog. */
  readonly title: string;
}

/** A button that opens the form of a tool in a dialog. */
export function FormButton({ text, icon, look, title, run, ...form }: FormButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const runAndClose = async (input: Parameters<typeof run>[0]) => {
    await run(input);
    close();
  };
  return (
    <>
      <Button needs={form.tool} {...{ text, icon, look }} onClick={() => setOpen(true)} />
      {isOpen && (
        <Dialog title={title} size="m" onClose={close}>
          <Form {...form} run={runAndClose} onCancel={close} />
        </Dialog>
      )}
    </>
  );
}
