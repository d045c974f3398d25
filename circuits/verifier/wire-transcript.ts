/** The Poseidon transcript over wires: the messages and challenges of circuits/poseidon/transcript.ts as constraints. */
import type { Messages } from '../../prover/transcript/transcript.js';
import { bytesLimbs, TRANSCRIPT_START } from '../poseidon/transcript.js';
import { constantWire, type Wire, type Wiring } from './wires.js';

export class WireTranscript implements Messages<Wire> {
  private state = constantWire(TRANSCRIPT_START);
  private draw: () => Wire = () => {
    throw new Error('a challenge before any message');
  };

  constructor(private readonly wiring: Wiring) {}

  /** A message that is a constant of the circuit. */
  absorbBytes(_label: string, message: Uint8Array): void {
    this.absorb(2, message.length, bytesLimbs(message).map(constantWire));
  }

  absorbScalars(_label: string, scalars: readonly Wire[]): void {
    this.absorb(1, scalars.length, scalars);
  }

  challenge(): Wire {
    return this.draw();
  }

  challenges(_label: string, count: number): Wire[] {
    return Array.from({ length: count }, () => this.draw());
  }

  private absorb(message: 1 | 2, size: number, elements: readonly Wire[]): void {
    const absorbed = this.wiring.absorb(message, size, this.state, elements);
    this.state = absorbed.state;
    this.draw = absorbed.draw;
  }
}
