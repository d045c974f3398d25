import { Command } from 'commander';
import { answerCommand } from './answer.js';
import { demandCommand } from './demand.js';
import { postCommand } from './post.js';
import { settleCommand } from './settle.js';
import { showCommand } from './show.js';
import { verifyCommand } from './verify.js';

export function receiptCommand(): Command {
  return new Command('receipt')
    .description('Show a receipt, check it against the chain, post it, settle it, get its output.')
    .addCommand(showCommand())
    .addCommand(verifyCommand())
    .addCommand(postCommand())
    .addCommand(settleCommand())
    .addCommand(demandCommand())
    .addCommand(answerCommand());
}
