import { storeSuite } from '../store.suite.ts';
import { memory } from './memory.ts';

storeSuite('memory', memory);
