import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import type { ErrorCode } from '../../../resources/error.ts';
import { FAULT_CODES } from '../../core/outbound/limits.ts';
import { MOST_BYTES } from './connection.ts';
import { cannotAsk } from './elicitation.ts';
import { cleanText, type Scrubber } from './text.ts';

const LONGEST_QUOTE = 2000;
const INVALID_PARAMS = -32_602;

/** Why a call of an integration failed, as an error of this server. */
interface Failure {
  readonly code: Extract<ErrorCode, 'invalid_input' | 'conflict' | 'too_large' | 'unavailable'>;
  readonly message: string;
  /** The connection may be lost. */
  readonly doubt?: true;
}

export function failureOf(error: unknown, prefix: string, scrubber: Scrubber): Failure {
  if (error instanceof ProtocolError && error.code !== FAULT_CODES.broken) return refusalOf(error, prefix, scrubber);
  if (error instanceof SdkError && error.code === SdkErrorCode.UnsupportedResultType) {
    return {
      code: 'conflict',
      message: cannotAsk(prefix).message,
    };
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return {
      code: 'unavailable',
      doubt: true,
      message: `The integration ${prefix} did not answer in time, and may have done the work all the same; look before you try again.`,
    };
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
    return {
      code: 'unavailable',
      message: `The integration ${prefix} answered with something other than a tool result.`,
    };
  }
  return {
    code: 'unavailable',
    doubt: true,
    message: `The connection to the integration ${prefix} broke during the call, which may have been carried out; look before you try again.`,
  };
}

function refusalOf({ code, message }: ProtocolError, prefix: string, scrubber: Scrubber): Failure {
  if (code === FAULT_CODES.too_large) {
    return {
      code: 'too_large',
      message: `The answer of ${prefix} is larger than ${MOST_BYTES} bytes or nests too deep; ask for less at a time.`,
    };
  }
  return {
    code: code === INVALID_PARAMS ? 'invalid_input' : 'conflict',
    message: `The integration ${prefix} answered with an error: ${quote(message, scrubber)}`,
  };
}

/** The text of a tool result that reports an error. */
export function toolError(content: readonly unknown[], prefix: string, scrubber: Scrubber): string {
  const texts = content.map((block) => (block as { text?: unknown }).text).filter((text) => typeof text === 'string'); // content blocks are objects
  return `The tool of ${prefix} answered with an error: ${quote(texts.join('\n') || 'without a text', scrubber)}`;
}

/** Words of the other server, marked as a quotation. */
function quote(text: string, scrubber: Scrubber): string {
  return JSON.stringify(cleanText(scrubber.text(text), LONGEST_QUOTE));
}

/** The text of an error for operators. */
export function errorText(error: unknown, scrubber: Scrubber): string {
  const message = error instanceof Error ? error.message : String(error);
  return scrubber.shown(message, 600) || 'It failed without saying why.';
}
