/** A redis-server of our own: loopback, nothing kept on disk, never evicting. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { freePort } from './free-port.js';

export interface PrivateRedis {
  readonly url: string;
  /** Ends the server at once, as a crash would; what it held is lost. */
  kill(): Promise<void>;
  /** Starts an empty server on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** True where the machine has the binary. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

async function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'));
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString().startsWith('+PONG'));
    });
    socket.once('error', () => resolve(false));
  });
}

async function start(port: number): Promise<ChildProcess> {
  const child = spawn(
    'redis-server',
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--maxmemory-policy',
      'noeviction',
    ],
    { stdio: 'ignore' },
  );
  for (let i = 0; i < 200; i++) {
    if (await answers(port)) return child;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  child.kill('SIGKILL');
  throw new Error(`redis-server on port ${port} did not answer within 5 s`);
}

export async function startRedis(): Promise<PrivateRedis> {
  const port = await freePort();
  let child = await start(port);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    restart: async () => {
      await kill();
      child = await start(port);
    },
    stop: kill,
  };
}
