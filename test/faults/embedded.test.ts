// alone: a server of its own, which it kills
import { testFaults } from './short-form.ts';

testFaults('lowdb', 1);
