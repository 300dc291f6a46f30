import { toolsPage } from '../kind/tools-page.tsx';

export const Page = toolsPage('Import', ['import_records']);
