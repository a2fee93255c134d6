import { request } from 'node:http'
import { join } from 'node:path'
import { toNodeCommand } from '../rivals/rival.ts'

/** What a program of ours says of itself. */
export interface ProbeSample {
  /** How late its event loop was, since {@link Probe.reset}. */
  readonly loop: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number }
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
  readonly arrayBuffers: number
  /** Its wall clock. */
  readonly dateMs: number
}

/** Looks into a program of ours (probe-process.ts). */
export interface Probe {
  /** The command with the probe loaded. */
  readonly wrap: (command: readonly string[]) => readonly string[]
  readonly sample: () => Promise<ProbeSample>
  /** After a collection. */
  readonly collect: () => Promise<ProbeSample>
  readonly reset: () => Promise<ProbeSample>
  /** Sets its wall clock, and nothing else, off by so much. Takes a probe with a clock. */
  readonly shift: (ms: number) => Promise<ProbeSample>
}

/**
 * @param folder where its socket lies.
 * @param clock whether the wall clock can be moved; it is read a little slower then.
 */
export function createProbe(folder: string, clock = false): Probe {
  const socketPath = join(folder, 'probe.sock')
  const module = toNodeCommand('registry/processes/probe-process').at(-1)!
  const loader = module.endsWith('.ts') ? '--import tsx ' : ''

  function get(path: string): Promise<ProbeSample> {
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
    sample: () => get('/sample'),
    collect: () => get('/collect'),
    reset: () => get('/reset'),
    shift: (ms) => get(`/shift?value=${ms}`),
  }
}
