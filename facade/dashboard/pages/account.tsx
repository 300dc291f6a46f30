import { boot } from '../app.ts';
import { LinkButton, PageBody, Time } from '../ui.ts';
import { Passkeys } from './account/passkeys.tsx';

export function Page() {
  const { id, email, name, role } = boot.user;
  const facts = { Email: email, Name: name, Role: role, 'Signed in until': <Time at={boot.expiresAt} /> };
  return (
    <PageBody title="My account" width="narrow">
      <dl class="account-facts">
        {Object.entries(facts).map(
          ([title, value]) =>
            value !== undefined && (
              <div key={title}>
                <dt>{title}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
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
    </PageBody>
  );
}
