import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { LoadResult } from '../../cli/load/run-load.ts'
import { OTHER_CORES, toPinned } from '../http/servers/processes.ts'
import { toNodeCommand } from '../rivals/rival.ts'

/** Clients that ask at a fixed rate, whatever becomes of their requests. */
export interface Load {
  /** Resolves with what was measured. */
  readonly stop: () => Promise<LoadResult>
}

/** As many requests are under way at most. */
export const CONNECTIONS = 32

/** Asks `url` over and over, from a process of its own (open-loop.ts). */
export function startLoad(url: string, rate: number): Load {
  const flags = ['--rate', String(rate), '--connections', String(CONNECTIONS)]
  const command = toNodeCommand(
    'http/load/open-loop',
    url,
    ...flags,
    '--duration',
    '1h',
    '-o',
    'json',
  )
  const [program, ...args] = toPinned(command, OTHER_CORES)
  const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.err += text
  })
  const onExit = (): boolean => child.kill('SIGKILL')
  process.once('exit', onExit)
  const closed = once(child, 'close').finally(() => process.off('exit', onExit))
  return {
    async stop() {
      child.kill('SIGINT')
      await closed
      if (output.out === '') throw new Error(`there was no load. ${output.err}`)
      return JSON.parse(output.out) as LoadResult
    },
  }
}

/** Requests that were not answered below 400, by what became of them. Those that were due when the load was stopped are none of them. */
export function listFailures({ statuses, failures }: LoadResult): Record<string, number> {
  const all = { ...statuses, ...failures }
  return Object.fromEntries(
    Object.entries(all).filter(([kind, count]) => count > 0 && !(Number(kind) < 400)),
  )
}
