// alone: three servers and a database of its own, which it kills
import { testFaults } from './short-form.ts';

testFaults('postgres', 3);
