import { writeFile } from 'node:fs/promises';
import { openBrowser } from './support/chromium.ts';
import { openDashboard, settled } from './support/dashboard.ts';
import { startDemoServer } from './support/demo.ts';
import { smallPng } from './support/small-png.ts';

/** Takes the pictures of the README anew, of the demo workspace: `npx tsx test/pictures.ts`. */
const SIZE = { width: 1280, height: 760 };

const server = await startDemoServer();
const { page, open } = await openDashboard(await openBrowser(), server, { viewport: SIZE, colorScheme: 'light' });

async function take(name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await settled(page);
  const png = smallPng(await page.screenshot());
  await writeFile(new URL(`../data/pictures/${name}.png`, import.meta.url), png);
  console.log(`data/pictures/${name}.png: ${Math.ceil(png.length / 1024)} kB`);
}

await open('/');
await page.locator('.headline-number').first().waitFor();
await take('home');
await open('/capsules');
await page.getByRole('link', { name: 'Support desk' }).click();
await page.getByRole('tab', { name: 'Tools' }).click();
await page.getByText('tokens for the model').waitFor();
await take('capsule');
process.exit();
