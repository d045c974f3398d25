import { main } from './main.js';

// Worker threads and wasm pools of the engines may keep the loop alive: the command ends when its work is done.
process.exit(await main(process.argv));
