import type { Attachment, AttachmentInput, AttachmentType } from '../../resources/attachment.ts';
import type { Readers } from '../../store/port.ts';
import type { ReadPromptFile } from '../agents/exports.ts';
import { isImage } from '../attachments/attached-type.ts';
import { type GivenFile, type StagedFiles, stageAttachments } from '../attachments/stage.ts';
import { bytesOf, type StagedFile } from '../attachments/thread-files.ts';
import type { Principal } from '../core/access/principal.ts';
import { invalidMember } from '../core/errors.ts';
import type { Models } from '../core/models/models.ts';
import type { SteppingContext } from '../core/registry/context.ts';
import { takenAlong } from '../core/registry/taken-along.ts';
import type { ChosenModel } from './choose-model.ts';

type Context = SteppingContext<Readers, 'too_large' | 'unsupported_media_type'>;

const NONE: StagedFiles = { files: [], discard: async () => {} };

/** So many files of earlier messages go with a call, the newest, as in threads. */
export const MOST_EARLIER_FILES = 20;

interface Earlier {
  readonly attachments?: readonly AttachmentInput[] | undefined;
}

/** A message that was said before, with the files that still go with it. */
export type WithLatest<Said> = Omit<Said, 'attachments'> & {
  readonly attachments: readonly AttachmentInput[];
  /** Older ones of it. */
  readonly leftOut: readonly AttachmentInput[];
};

/** The messages, oldest first, with the newest files of them all. */
export function withLatestFiles<Said extends Earlier>(history: readonly Said[] = []): WithLatest<Said>[] {
  let room = MOST_EARLIER_FILES;
  return history
    .toReversed()
    .map((said) => {
      const { attachments = [] } = said;
      const first = Math.max(0, attachments.length - room);
      room -= attachments.length - first;
      return { ...said, attachments: attachments.slice(first), leftOut: attachments.slice(0, first) };
    })
    .toReversed();
}

/** The artifacts that go to the agent, as they are now. Undefined if there are none. */
export function artifactsOf(input: object, store: Readers, caller: Principal): Promise<string | undefined> {
  const { attachments = [], history } = input as Earlier & { readonly history?: readonly Earlier[] }; // of both tools
  const all = [...withLatestFiles(history).flatMap((said) => said.attachments), ...attachments];
  const ids = all.flatMap(({ artifactId }) => artifactId ?? []);
  return takenAlong(
    ids.map((id) => ({ type: 'artifact', id })),
    store,
    caller,
  );
}

/** Checks the files of a message for the model that is to read them, and puts them into the store. @throws ToolError */
export async function stageFor(
  { attachments, history = [] }: StageInput,
  { id, inputs }: Pick<ChosenModel, 'id' | 'inputs'>,
  context: Context,
): Promise<StagedFiles> {
  const given = [
    ...history.flatMap((said, at) => placed(said.attachments, `history[${at}].`, said.leftOut.length)),
    ...placed(attachments, ''),
  ];
  if (given.length === 0 && !context.attached) return NONE;
  const leftOut = history.flatMap((said) => said.leftOut);
  const unread = leftOut.filter((item) => item.artifactId === undefined && item.data === undefined).length;
  const { models } = context.server;
  return stageAttachments(given, context, {
    inputs,
    unread,
    admit(type: AttachmentType, name: string, path: string) {
      if (path.startsWith('history')) return; // a note stands for what was shown to another model
      if (isImage(type) && !inputs.includes('image')) throw invalidMember(path, readsNoImages(id, name, models));
    },
  });
}

interface StageInput extends Earlier {
  readonly history?: readonly WithLatest<Earlier>[] | undefined;
}

function placed(attachments: readonly AttachmentInput[] = [], before: string, first = 0): GivenFile[] {
  return attachments.map((item, at) => ({ item, path: `${before}attachments[${first + at}]` }));
}

function readsNoImages(id: string, name: string, models: Models): string {
  const other = models.known().find((each) => models.inputsOf(each).includes('image'));
  const choose = other === undefined ? 'Choose one that does' : `Choose one that does, such as ${other}`;
  const [provider, ...rest] = id.split('/');
  const say = `{"name": "${rest.join('/')}", "inputs": ["text", "image"]}`;
  return `The model ${id} reads no images, so ${name} cannot go to it. ${choose} (list_models shows \`inputs\`), or, if it does, say so in \`models\` of the provider ${provider} (update_model_provider): ${say}.`;
}

/** Reads files for a prompt: those that were just staged, and those of the thread. */
export function readerOf(
  staged: readonly StagedFile[],
  { store, server }: Pick<Context, 'store' | 'server'>,
  threadId?: string,
): ReadPromptFile {
  const known = new Map(staged.map((file) => [file.attachment.id, file]));
  return async (id) => {
    const file = known.get(id) ?? (await store.documentFiles.get(id));
    if (!file || ('threadId' in file && file.threadId !== threadId)) return undefined;
    const { text, cut } = file;
    const beginning = { ...(text !== undefined && { text }), ...(cut !== undefined && { cut }) };
    return { ...beginning, bytes: () => bytesOf(id, server) };
  };
}

export function attachmentsOf({ files }: Pick<StagedFiles, 'files'>): Attachment[] {
  return files.map(({ attachment }) => attachment);
}

/** Whether the same files were sent. */
export function sameFiles(some: readonly Attachment[] = [], others: readonly Attachment[] = []): boolean {
  return some.length === others.length && some.every(({ sha256 }, at) => sha256 === others[at]?.sha256);
}
