import type { ComponentChildren } from 'preact';
import { boot } from '../boot.ts';
import { Link, Time } from '../components/small.tsx';
import { Passkeys } from './account/passkeys.tsx';

/** What belongs to the person who is signed in. */
export function Page() {
  const { id, email, name, role } = boot.user;
  return (
    <div class="page-body">
      <header class="page-head">
        <h1>My account</h1>
      </header>
      <dl class="account-facts">
        <Fact name="E-mail">{email}</Fact>
        {name !== undefined && <Fact name="Name">{name}</Fact>}
        <Fact name="Role">{role}</Fact>
        <Fact name="Signed in until">
          <Time at={boot.expiresAt} />
        </Fact>
      </dl>
      <Passkeys userId={id} />
      <p class="quiet">
        Programs that act for you: <Link to="/keys">keys</Link> and <Link to="/apps">connected apps</Link>.
      </p>
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
