import { ApprovalWorld, catalogWith } from '../support/approval-world.ts';
import { die, toolsThatDie } from '../support/dying-tools.ts';
import { registryOn } from '../support/registry.ts';
import { openStoreIn, type StoreKind } from '../support/store.ts';

/** On the store in the folder, has a call of the tool approved, and dies by SIGKILL: before it runs (`decided`), or in the middle of it. */
const [folder = '', kind = 'lowdb', tool = '', when = ''] = process.argv.slice(2);

const store = await openStoreIn(folder, {}, kind as StoreKind); // as the test names it
const world = new ApprovalWorld(store, registryOn(store, { catalog: catalogWith(toolsThatDie(true)) }));
const anna = await world.person('anna');
const bert = await world.person('bert');
const key = await world.key(anna, { askFirst: ['dies_*'] });
const id = await world.asked(key, tool, {});
if (tool === 'dies_after_commit') {
  store.onCommit(({ changes }) => {
    if (changes.some(({ record }) => record.name === 'second')) void die();
  });
}
await world.approve(bert, id);
if (when === 'decided') await die();
await world.calls().look();
