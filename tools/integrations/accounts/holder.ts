import { chainOf, type Principal } from '../../core/access/principal.ts';

/**
 * The person whose account a call uses: the one the caller acts for. A capsule uses its owner's account only if it is set to, and none
 * otherwise.
 */
export function holderOf(principal: Principal): string | undefined {
  const chain = [principal, ...chainOf(principal)];
  const capsule = chain.find(({ type }) => type === 'capsule');
  if (capsule) return capsule.integrationAccounts === 'owner' ? capsule.ownerId : undefined;
  const root = chain.at(-1) ?? principal;
  return root.type === 'anonymous' ? undefined : root.ownerId;
}

/**
 * Whether the caller is a person, or a key or an app of one, who may be given a link. Nobody follows one for an agent, a flow or a capsule.
 */
export function mayConnect({ type, actsFor }: Principal): boolean {
  if (type === 'app') return actsFor?.type === 'session' && !actsFor.actsFor;
  return !actsFor && (type === 'session' || type === 'api-key');
}
