import { Json } from '../components/code.tsx';
import { type ShownCall, start } from './start.tsx';

start(({ output }: ShownCall) => <Json value={output} />);
