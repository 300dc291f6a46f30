import type { ComponentChildren } from 'preact';
import { boot } from '../app.ts';
import { LinkButton, Time } from '../ui.ts';
import { Passkeys } from './account/passkeys.tsx';

/** What belongs to the person who is signed in. */
export function Page() {
  const { id, email, name, role } = boot.user;
  return (
    <div class="page-body narrow">
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
      <section class="overview" aria-labelledby="programs">
        <header class="section-head">
          <h2 id="programs">Programs that act for you</h2>
        </header>
        <div class="actions">
          <LinkButton text="Keys" to="/keys" icon="key" />
          <LinkButton text="Connected apps" to="/apps" icon="app" />
        </div>
      </section>
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
