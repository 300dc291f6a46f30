import { SECRET_MASK } from '../../../resources/integration.ts';
import { ToolError } from '../errors.ts';
import type { SecretBox } from './secrets.ts';

interface SealSecretOptions {
  readonly box: SecretBox;
  /** Where it is stored, see `SecretBox`. */
  readonly place: string;
  /** The member of the input, for errors. */
  readonly path: string;
  /** The stored one, sealed. */
  readonly current?: string | undefined;
  /** It would be sent to somebody else than it was given for. */
  readonly moves?: boolean | undefined;
}

/** The secret to store, sealed. One given as the mask stays, for the target that it was given for. @throws ToolError (invalid_input) */
export function sealSecret(given: string, { box, place, path, current, moves }: SealSecretOptions): string {
  if (given !== SECRET_MASK) return box.seal(given, place);
  if (current === undefined)
    throw refusal(path, `There is no stored value for ${SECRET_MASK} to keep; give the value itself.`);
  if (moves) throw refusal(path, 'Was given for another target; give it again.');
  return current;
}

function refusal(path: string, message: string): ToolError {
  return new ToolError('invalid_input', `${path}: ${message}`, { issues: [{ path, message }] });
}
