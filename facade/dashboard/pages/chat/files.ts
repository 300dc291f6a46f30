import { useEffect, useMemo } from 'preact/hooks';
import { number } from '../../app.ts';

const MEGABYTE = 1024 * 1024;
const MOST_FILES = 10;
const MOST_IMAGE_MB = 10;
const MOST_FILE_MB = 20;
const MOST_MB = 40;

/** A file that is to go with a message. */
export interface Picked {
  readonly key: number;
  readonly file: File;
  /** Why it cannot be sent. */
  readonly error?: string | undefined;
}

export const TYPES = 'image/png,image/jpeg,image/webp,image/gif,.pdf,.txt,.csv,.tsv,.md,.markdown,text/*';
export const TAKES = `Images (PNG, JPEG, WebP, GIF), PDF, text, CSV and Markdown, up to ${MOST_FILES} files`;

let lastKey = 0;

export function pick(files: readonly File[]): Picked[] {
  return files.map((file) => {
    lastKey += 1;
    return { key: lastKey, file };
  });
}

/** Each file with what is wrong with it, as far as this page can know: the server looks into it. */
export function checked(picked: readonly Picked[]): Picked[] {
  let bytes = 0;
  return picked.map((each, at) => {
    const { size, type } = each.file;
    bytes += size;
    const most = type.startsWith('image/') ? MOST_IMAGE_MB : MOST_FILE_MB;
    const wrong =
      size === 0
        ? 'It is empty.'
        : size > most * MEGABYTE
          ? `It is larger than ${most} MB.`
          : at >= MOST_FILES
            ? `A message takes ${MOST_FILES} files; send it with the next one.`
            : bytes > MOST_MB * MEGABYTE
              ? `All files of a message have ${MOST_MB} MB at most; send it with the next one.`
              : undefined;
    return { ...each, error: wrong ?? each.error };
  });
}

export function isImage(type: string): boolean {
  return /^image\/(?:png|jpeg|webp|gif)$/.test(type);
}

export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < MEGABYTE ? `${number(bytes / 1024, 0)} kB` : `${number(bytes / MEGABYTE, 1)} MB`;
}

/** An address for the image of the file, as long as it is drawn. Undefined for anything else. */
export function usePreview(file: File): string | undefined {
  const url = useMemo(() => (isImage(file.type) ? URL.createObjectURL(file) : undefined), [file]);
  useEffect(() => () => URL.revokeObjectURL(url ?? ''), [url]);
  return url;
}
