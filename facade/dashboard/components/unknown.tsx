import { text } from '../text.ts';
import { LinkButton } from './button.tsx';
import { Empty, Mono } from './small.tsx';

/** The page of an address that none belongs to, or that the person has no right to. */
export function Unknown({ needs }: { readonly needs?: string }) {
  return (
    <div class="page-body">
      <h1 class="only-heard">{needs ? 'No access' : text.notFound}</h1>
      <Empty
        title={needs ? 'You have no access to this page' : text.notFound}
        action={<LinkButton text="Home" to="/" />}
      >
        {needs ? (
          <>
            It needs the right to call <Mono>{needs}</Mono>. Ask an administrator of this workspace.
          </>
        ) : (
          text.notFoundHint
        )}
      </Empty>
    </div>
  );
}
