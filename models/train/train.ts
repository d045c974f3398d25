/**
 * Trains shipped models and writes them into models/: `npx tsx models/train/train.ts lenet5`, or, from the built
 * package, `node dist/models/train/train.js lenet5 iris`. Without a name it says which there are.
 */
import { writeFileSync } from 'node:fs';
import { asAssayError, AssayError } from '../../common/errors.js';
import { loadIris } from '../data/iris.js';
import { loadMnist } from '../data/mnist.js';
import { modelFile } from '../model-file.js';
import { countCorrect, predict } from './fit.js';
import { RECIPES, type ModelName } from './recipes.js';
import { trainModel } from './train-model.js';

function run(name: string): void {
  if (!Object.hasOwn(RECIPES, name)) {
    throw new AssayError(
      'SHIPPED_MODEL_UNKNOWN',
      `No recipe is named ${name}; there are ${Object.keys(RECIPES).join(', ')}.`,
    );
  }
  const recipe = RECIPES[name as ModelName];
  const started = performance.now();
  const { bytes, network } = trainModel(name, recipe, (epoch, loss, correct, count) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${name} epoch ${epoch}: loss ${loss.toFixed(4)}, calibration ${correct}/${count}, ${seconds} s`);
  });
  const heldOut = recipe.dataset === 'mnist' ? loadMnist('heldOut') : loadIris('heldOut');
  const correct = countCorrect(predict(network, heldOut), heldOut.labels);
  writeFileSync(modelFile(name), bytes);
  const percent = ((100 * correct) / heldOut.count).toFixed(2);
  console.log(
    `${name}: held-out ${correct}/${heldOut.count} (${percent} %), ${bytes.length} bytes, ${modelFile(name)}`,
  );
}

const names = process.argv.slice(2);
try {
  if (names.length === 0) {
    console.log(`Usage: train <name>...\nNames: ${Object.keys(RECIPES).join(', ')}`);
    process.exitCode = 1;
  }
  names.forEach(run);
} catch (error) {
  const failure = asAssayError(error);
  console.error(`${failure.code}: ${failure.message}\n${failure.mend}`);
  process.exitCode = 1;
}
