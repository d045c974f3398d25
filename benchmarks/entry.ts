import { bench } from './run.js';

await bench(process.argv);
