import { AjvJsonSchemaValidator as Validator } from '@modelcontextprotocol/client/validators/ajv';
import { AjvJsonSchemaValidator as OldValidator } from '@modelcontextprotocol/sdk/validation/ajv';

/**
 * Make the check of a tool's answers when it is first called. As they come, the clients of the SDKs make those of all tools for a list,
 * which takes a second.
 */
class LazyValidator extends Validator {
  override getValidator<T>(schema: Parameters<Validator['getValidator']>[0]) {
    return onFirstUse(() => super.getValidator<T>(schema));
  }
}

class OldLazyValidator extends OldValidator {
  override getValidator<T>(schema: Parameters<OldValidator['getValidator']>[0]) {
    return onFirstUse(() => super.getValidator<T>(schema));
  }
}

function onFirstUse<Result>(make: () => (input: unknown) => Result): (input: unknown) => Result {
  let check: ((input: unknown) => Result) | undefined;
  return (input) => {
    check ??= make();
    return check(input);
  };
}

/** An option of the client of SDK 2. */
export const lazyChecks = () => ({ jsonSchemaValidator: new LazyValidator() });

/** The same of SDK 1. */
export const oldLazyChecks = () => ({ jsonSchemaValidator: new OldLazyValidator() });
