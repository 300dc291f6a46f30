import { INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import { capsuleIn, type Principal } from '../../tools/core/access/principal.ts';
import { findGuide, guides } from '../guides/guides.ts';
import { RpcError } from './message.ts';

const SCHEME = 'guide://';
const MARKDOWN = 'text/markdown';

export function isGuideUri(uri: string): boolean {
  return uri.startsWith(SCHEME);
}

/** For everybody but clients of capsules, who see the tools of their capsule and what belongs to these. */
export function guideResources(principal: Principal): object[] {
  if (capsuleIn(principal)) return [];
  return guides.map(({ name, title, summary, markdown }) => ({
    uri: `${SCHEME}${name}`,
    name,
    title,
    description: summary,
    mimeType: MARKDOWN,
    size: Buffer.byteLength(markdown),
  }));
}

/** @throws RpcError */
export function readGuide(principal: Principal, uri: string): Result {
  const guide = capsuleIn(principal) ? undefined : findGuide(uri.slice(SCHEME.length));
  if (guide) return { contents: [{ uri, mimeType: MARKDOWN, text: guide.markdown }] };
  throw new RpcError(INVALID_PARAMS, 'There is no guide at this URI; resources/list shows those there are.', { uri });
}
