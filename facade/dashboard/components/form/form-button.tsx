import type { ButtonProps } from '../button.tsx';
import { Dialog } from '../dialog.tsx';
import { DialogButton } from '../dialog-button.tsx';
import { Form, type FormProps } from './form.tsx';

interface FormButtonProps extends Pick<ButtonProps, 'text' | 'icon' | 'look'>, Omit<FormProps, 'onCancel'> {
  /** Of the dialog. */
  readonly title: string;
}

/** A button that opens the form of a tool in a dialog. */
export function FormButton({ text, icon, look, title, run, ...form }: FormButtonProps) {
  return (
    <DialogButton needs={form.tool} {...{ text, icon, look }}>
      {(close) => (
        <Dialog title={title} size="m" onClose={close}>
          <Form {...form} run={(input) => Promise.resolve(run(input)).then(close)} onCancel={close} />
        </Dialog>
      )}
    </DialogButton>
  );
}
