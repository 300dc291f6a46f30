/** What of a file is converted at most. Enforced in the process that converts it. */
export interface ConversionLimits {
  /** Characters of the Markdown. */
  readonly characters: number;
  readonly pages: number;
  /** Bytes of all parts of a DOCX together, unpacked. */
  readonly unpackedBytes: number;
  /** Columns of a CSV. */
  readonly columns: number;
  /** Of a PDF that is longer, or has no text, what there is within the limits is taken. */
  readonly cuts?: boolean;
}

export const CONVERSION_LIMITS: ConversionLimits = {
  characters: 500_000,
  pages: 2000,
  unpackedBytes: 64 * 1024 * 1024,
  columns: 100,
};

/** The largest file in bytes. */
export const MOST_FILE_BYTES = 20 * 1024 * 1024;

/** Why a file does not become a document, as an error of the calling tool. It says what to do. */
export interface FileProblem {
  readonly code: 'invalid_input' | 'too_large' | 'unsupported_media_type';
  readonly message: string;
}

/** Thrown by converters. */
export class UnreadableFile extends Error {
  readonly code: FileProblem['code'];

  constructor(message: string, code: FileProblem['code'] = 'invalid_input') {
    super(message);
    this.code = code;
  }
}

export interface Converted {
  readonly markdown: string;
  /** Of a PDF that was cut: how far it goes. */
  readonly pages?: { readonly shown: number; readonly all: number } | undefined;
  /** As the file itself says it. */
  readonly title?: string | undefined;
}

/** @throws UnreadableFile for text that a document cannot hold; `cut` says how to cut the file */
export function requireFitting(markdown: string, { characters }: ConversionLimits, cut?: string): void {
  const { length } = markdown;
  if (length <= characters) return;
  const how = cut ?? `split it into ${Math.ceil(length / characters)} files or more, such as at its chapters`;
  const message = `The file has more than ${characters} characters of text, which is the most of a document; ${how}.`;
  throw new UnreadableFile(message, 'too_large');
}
