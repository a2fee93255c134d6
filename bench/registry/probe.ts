import { request } from 'node:http'
import { join } from 'node:path'
import { toNodeCommand } from '../rivals/rival.ts'

/** State of a probed program. */
export interface ProbeSample {
  /** Event loop delay since {@link Probe.reset}. */
  readonly loop: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number }
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
  readonly arrayBuffers: number
  /** Time on its wall clock. */
  readonly dateMs: number
}

/** Inspects a Node.js program (probe-process.ts). */
export interface Probe {
  /** Returns the command with the probe loaded. */
  readonly wrap: (command: readonly string[]) => readonly string[]
  readonly sample: () => Promise<ProbeSample>
  /** Takes a sample after garbage collection. */
  readonly collect: () => Promise<ProbeSample>
  readonly reset: () => Promise<ProbeSample>
  /** Shifts the wall clock, but not the monotonic clock. Requires a probe with `clock`. */
  readonly shift: (ms: number) => Promise<ProbeSample>
}

/**
 * @param folder folder for the socket.
 * @param clock true if the wall clock can be shifted, which makes reading it slightly slower.
 */
export function createProbe(folder: string, clock = false): Probe {
  const socketPath = join(folder, 'probe.sock')
  const module = toNodeCommand('registry/processes/probe-process').at(-1)!
  const loader = module.endsWith('.ts') ? '--import tsx ' : ''

  function send(path: string): Promise<ProbeSample> {
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath, path, agent: false }, async (reply) => {
        let text = ''
        for await (const chunk of reply.setEncoding('utf8')) text += chunk
        resolve(JSON.parse(text) as ProbeSample)
      })
      sent.on('error', reject).end()
    })
  }

  return {
    wrap: (command) => [
      'env',
      `NODE_OPTIONS=${loader}--import ${module}`,
      `BENCH_PROBE=${socketPath}`,
      `BENCH_CLOCK=${clock ? 1 : 0}`,
      ...command,
    ],
    sample: () => send('/sample'),
    collect: () => send('/collect'),
    reset: () => send('/reset'),
    shift: (ms) => send(`/shift?value=${ms}`),
  }
}
