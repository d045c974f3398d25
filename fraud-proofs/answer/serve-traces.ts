/**
 * Traces and inputs over HTTP, for watchers: GET /traces/<root> and GET /inputs/<root>, in the form of
 * watch/tensor-file.ts. Read-only; what there is follows from the roots of receipts, which are public. Whoever reads
 * computes the root again, so that this server need not be trusted, and its absence is no fault: the chain can be asked.
 */
import { createServer, type Server } from 'node:http';
import { listen } from '../watch/metrics.js';
import type { Hex } from '../../receipts/types.js';

export type ServedKind = 'traces' | 'inputs';

/** Gives the bytes, or null where there is no such file here. */
export type ServedFiles = (kind: ServedKind, root: Hex) => Promise<Uint8Array | null>;

export interface ServeOptions {
  readonly port: number;
  /** @default '127.0.0.1' */
  readonly host?: string;
  /** Answers under way at once; the next are told to come again. @default 8 */
  readonly atOnce?: number;
}

const PATH = /^\/(traces|inputs)\/(0x[0-9a-f]{64})$/;
/** A request here is one short line. */
const LIMITS = { maxHeaderSize: 4_096, requestTimeout: 10_000, headersTimeout: 5_000 };
const AT_ONCE = 8;

/** @throws AssayError PORT_UNAVAILABLE */
export async function serveTraces(files: ServedFiles, options: ServeOptions): Promise<Server> {
  const { port, host = '127.0.0.1', atOnce = AT_ONCE } = options;
  let underWay = 0;
  const server = createServer(LIMITS, (request, response) => {
    const match = request.method === 'GET' ? PATH.exec(request.url ?? '') : null;
    if (match === null) {
      response.writeHead(404).end();
      return;
    }
    if (underWay >= atOnce) {
      response.writeHead(503, { 'retry-after': '1' }).end();
      return;
    }
    underWay++;
    response.once('close', () => underWay--);
    files(match[1] as ServedKind, match[2] as Hex).then(
      (bytes) => {
        if (bytes === null) response.writeHead(404).end();
        else
          response
            .writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes.length })
            .end(bytes);
      },
      () => response.writeHead(500).end(),
    );
  });
  server.maxConnections = 8 * atOnce;
  await listen(server, port, host);
  return server;
}
