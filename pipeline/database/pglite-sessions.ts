/**
 * Many PostgreSQL sessions over one PGlite.
 *
 * PGlite is a PostgreSQL with a single backend. Here each node-postgres connection gets a stream in this process, and
 * the streams take turns at the backend. Three rules make the turns safe, and the packaged socket server
 * (@electric-sql/pglite-socket 0.2.17) keeps none of them, which is why it is not used:
 *
 * 1. A turn is a whole unit of the protocol: a simple Query, or Parse..Sync. Message by message, the unnamed statement
 *    of one session would be overwritten by another's between its Parse and its Bind.
 * 2. A session that is inside a transaction keeps the turn until it leaves it (the status byte of ReadyForQuery), and a
 *    session that goes away inside one is rolled back.
 * 3. A notification is taken out of the answer in which the backend happened to write it, and goes to every session
 *    that listens.
 *
 * Session settings (SET, set_config) are shared by all sessions: there is one backend. Named prepared statements are
 * refused for the same reason.
 */
import { Duplex } from 'node:stream';
import type { PGlite } from '@electric-sql/pglite';

const STARTUP_PROTOCOL_3 = 196_608;
const QUERY = 0x51; // 'Q'
const PARSE = 0x50; // 'P'
const SYNC = 0x53; // 'S'
const TERMINATE = 0x58; // 'X'
const COMMAND_COMPLETE = 0x43; // 'C'
const NOTIFICATION = 0x41; // 'A'
const READY_FOR_QUERY = 0x5a; // 'Z'
const IDLE = 0x49; // 'I'

interface Unit {
  readonly session: PgliteSession;
  readonly bytes: Uint8Array;
}

/** A message: type byte, then a length that counts itself, then the body. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function errorThenReady(text: string): Buffer {
  const fields = Buffer.from(`SERROR\0VERROR\0C0A000\0M${text}\0\0`, 'utf8');
  return Buffer.concat([message('E', fields), message('Z', Buffer.from('I', 'latin1'))]);
}

export class PgliteSessions {
  private readonly waiting: Unit[] = [];
  private readonly listeners = new Set<PgliteSession>();
  /** The session inside a transaction. */
  private owner: PgliteSession | null = null;
  private running = false;

  constructor(private readonly db: PGlite) {}

  /** A new session, as the stream that node-postgres calls its socket. */
  open(): PgliteSession {
    return new PgliteSession(this);
  }

  submit(session: PgliteSession, bytes: Uint8Array): void {
    this.waiting.push({ session, bytes });
    void this.pump();
  }

  /** The session has ended: nothing of it runs any more, and its open transaction is undone. */
  leave(session: PgliteSession): void {
    this.listeners.delete(session);
    for (let i = this.waiting.length - 1; i >= 0; i--)
      if (this.waiting[i]!.session === session) this.waiting.splice(i, 1);
    void this.pump();
  }

  private async pump(): Promise<void> {
    if (this.running) return;
    this.running = true;
    try {
      for (;;) {
        if (this.owner?.destroyed === true) {
          await this.db.runExclusive(() => this.db.execProtocolRaw(message('Q', Buffer.from('ROLLBACK\0', 'latin1'))));
          this.owner = null;
        }
        const next = this.owner === null ? 0 : this.waiting.findIndex((unit) => unit.session === this.owner);
        const unit = next < 0 ? undefined : this.waiting.splice(next, 1)[0];
        if (unit === undefined) return;
        try {
          this.answer(unit.session, await this.db.runExclusive(() => this.db.execProtocolRaw(unit.bytes)));
        } catch (error) {
          // The backend itself failed (not the statement): this session cannot know what was done.
          unit.session.destroy(error instanceof Error ? error : new Error(String(error)));
        }
      }
    } finally {
      this.running = false;
    }
  }

  private answer(session: PgliteSession, output: Uint8Array): void {
    const bytes = Buffer.from(output.buffer, output.byteOffset, output.byteLength);
    const kept: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + bytes.readInt32BE(at + 1);
      const part = bytes.subarray(at, end);
      if (bytes[at] === NOTIFICATION) for (const listener of this.listeners) listener.push(part);
      else kept.push(part);
      // The tag tells, whatever comments the statement began with. UNLISTEN is left to the end of the session.
      if (bytes[at] === COMMAND_COMPLETE && part.toString('latin1', 5) === 'LISTEN\0') this.listeners.add(session);
      if (bytes[at] === READY_FOR_QUERY) this.owner = bytes[at + 5] === IDLE ? null : session;
      at = end;
    }
    if (!session.destroyed) session.push(Buffer.concat(kept));
  }
}

/** One session: bytes written are frontend messages, bytes read are the backend's. */
export class PgliteSession extends Duplex {
  private pending: Buffer = Buffer.alloc(0);
  private started = false;
  private unit: Buffer[] = [];

  constructor(private readonly sessions: PgliteSessions) {
    super();
  }

  // The part of net.Socket that node-postgres uses.
  connect(): this {
    queueMicrotask(() => this.emit('connect'));
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }

  override _read(): void {
    // Answers are pushed when they come.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    for (;;) {
      const head = this.started ? 1 : 0;
      if (this.pending.length < head + 4) break;
      const length = head + this.pending.readInt32BE(head);
      if (this.pending.length < length) break;
      const bytes = this.pending.subarray(0, length);
      this.pending = this.pending.subarray(length);
      if (this.started) this.receive(bytes);
      else this.start(bytes);
    }
    done();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.push(null);
    done();
    this.destroy();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    done(error);
    // After `destroyed` is visible, so that an open transaction of this session is undone.
    queueMicrotask(() => this.sessions.leave(this));
  }

  private start(bytes: Buffer): void {
    if (bytes.readInt32BE(4) !== STARTUP_PROTOCOL_3) {
      this.destroy(new Error('embedded database: expected a start-up message of protocol 3.0'));
      return;
    }
    this.started = true;
    this.push(
      Buffer.concat([
        message('R', Buffer.alloc(4)), // AuthenticationOk: the caller is this process
        message('K', Buffer.alloc(8)),
        message('Z', Buffer.from('I', 'latin1')),
      ]),
    );
  }

  private receive(bytes: Buffer): void {
    const type = bytes[0];
    if (type === TERMINATE) {
      this.destroy();
      return;
    }
    if (type === PARSE && bytes[5] !== 0) {
      this.push(
        errorThenReady('embedded database: named prepared statements are shared by all sessions and so refused'),
      );
      return;
    }
    this.unit.push(bytes);
    if (type !== QUERY && type !== SYNC) return;
    const unit = this.unit.length === 1 ? this.unit[0]! : Buffer.concat(this.unit);
    this.unit = [];
    this.sessions.submit(this, unit);
  }
}
