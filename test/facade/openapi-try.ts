import { createOpenApi } from '../../facade/openapi.ts';
import { catalog } from '../../tools/catalog.ts';
console.log(JSON.stringify(createOpenApi({ version: '1.0.0', catalog } as never, 'https://admin.acme.test'), null, 1));
